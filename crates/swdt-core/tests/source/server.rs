//! A small HTTP server on loopback that can misbehave.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// A file as it is served.
#[derive(Clone, Default)]
pub(super) struct Page {
    pub(super) body: Vec<u8>,
    pub(super) etag: Option<&'static str>,
    /// Another place to go to.
    pub(super) location: Option<String>,
    /// How many answers break off after how many bytes.
    pub(super) cut: Option<(u32, usize)>,
}

type Pages = Arc<Mutex<BTreeMap<String, Page>>>;

pub(super) struct Server {
    port: u16,
    pages: Pages,
    /// Each request: path, and the range that was asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, pages: Arc::default(), asked: Arc::default() };
        let (pages, asked) = (server.pages.clone(), server.asked.clone());
        // Ends with the test's process; each connection is answered once and closed.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, asked) = (pages.clone(), asked.clone());
                std::thread::spawn(move || answer(&stream, &pages, &asked));
            }
        });
        server
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn put(&self, path: &str, body: &[u8]) {
        self.page(path, Page { body: body.to_vec(), ..Page::default() });
    }

    pub(super) fn page(&self, path: &str, page: Page) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(stream: &TcpStream, pages: &Pages, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let headers: BTreeMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())))
        .collect();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let range = headers.get("range").cloned().unwrap_or_default();
    asked.lock().unwrap().push(format!("{path} {range}").trim_end().to_owned());
    let page = {
        let mut pages = pages.lock().unwrap();
        let Some(page) = pages.get_mut(&path) else {
            let _ = (&*stream)
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return;
        };
        let now = page.clone();
        page.cut = page.cut.and_then(|(times, at)| (times > 1).then(|| (times - 1, at)));
        now
    };
    respond(stream, &page, &range, headers.get("if-range").map(String::as_str));
}

fn respond(mut stream: &TcpStream, page: &Page, range: &str, if_range: Option<&str>) {
    let start =
        range.strip_prefix("bytes=").and_then(|range| range.trim_end_matches('-').parse::<usize>().ok());
    let start = start.filter(|_| if_range.is_none_or(|tag| Some(tag) == page.etag));
    let mut head = match (&page.location, start) {
        (Some(location), _) => format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\n"),
        (None, Some(start)) if start >= page.body.len() => {
            "HTTP/1.1 416 Range Not Satisfiable\r\n".to_owned()
        }
        (None, Some(start)) => format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{}\r\n",
            page.body.len() - 1,
            page.body.len()
        ),
        (None, None) => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    if let Some(etag) = page.etag {
        let _ = write!(head, "ETag: {etag}\r\n");
    }
    let body = page.body.get(start.unwrap_or(0)..).unwrap_or_default();
    let _ = write!(head, "Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let sent = page.cut.map_or(body, |(_, at)| &body[..at.min(body.len())]);
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(sent));
}

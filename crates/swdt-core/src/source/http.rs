//! Downloads: checked, resumed where they broke off, and never twice to a host that cannot be reached.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sha2::{Digest, Sha512};
use ureq::{
    Agent, Body, Proxy,
    http::{Response, Uri},
    tls::{RootCerts, TlsConfig},
};

use super::{
    Settings,
    cache::{Blob, Cache, Key, digest_of, hex},
    part::{Part, Resume, Stopped},
};
use crate::{Error, Result, files::failed, id};

/// A host that does not answer at once is not worth a minute of everybody's time.
const CONNECT: Duration = Duration::from_secs(5);
/// Between two pieces of an answer.
const SILENCE: Duration = Duration::from_mins(1);
/// How often a transfer that broke off goes on.
const ATTEMPTS: u32 = 4;
/// Checksum files are small; a page from somewhere else is not.
const TEXT_LIMIT: u64 = 256 * 1024;

/// The HTTP client of all sources. Cheap to clone.
#[derive(Clone)]
pub(super) struct Http {
    /// For addresses that begin with https, and for all others.
    secure: Agent,
    plain: Agent,
    /// Hosts that could not be reached in this run, and why.
    dead: Arc<Mutex<BTreeMap<String, String>>>,
    watch: Option<Watch>,
}

/// Told how many bytes of a transfer are here, and of how many; an error ends it, and keeps what is here.
pub(super) type Watch = Arc<dyn Fn(u64, Option<u64>) -> Result<()> + Send + Sync>;

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("dead", &self.dead).finish_non_exhaustive()
    }
}

/// A checksum somebody published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// In lower-case hex.
    Sha256(String),
    /// In lower-case hex.
    Sha512(String),
}

impl Checksum {
    /// The checksum in one word of hex.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let word = word.trim().to_ascii_lowercase();
        let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match word.len() {
            64 if is_hex => Some(Self::Sha256(word)),
            128 if is_hex => Some(Self::Sha512(word)),
            _ => None,
        }
    }

    fn of(&self, path: &Path) -> Result<Self> {
        match self {
            Self::Sha256(_) => digest_of(path).map(Self::Sha256),
            Self::Sha512(_) => {
                let mut file = File::open(path).map_err(|error| failed("read", path, &error))?;
                let mut hash = Sha512::new();
                let mut buffer = vec![0; 256 * 1024];
                loop {
                    let count = file.read(&mut buffer).map_err(|error| failed("read", path, &error))?;
                    if count == 0 {
                        return Ok(Self::Sha512(hex(&hash.finalize())));
                    }
                    hash.update(&buffer[..count]);
                }
            }
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Sha256(text) | Self::Sha512(text) => text,
        }
    }
}

impl Http {
    /// A client that goes through the proxies that are named, except to the hosts of `no_proxy`.
    pub(super) fn new(settings: &Settings) -> Result<Self> {
        let agent = |proxy: &Option<String>| -> Result<Agent> {
            let proxy = proxy.as_deref().map(|url| through(url, settings.no_proxy.as_deref())).transpose()?;
            Ok(agent(proxy))
        };
        let (secure, plain) = (agent(&settings.proxy)?, agent(&settings.http_proxy)?);
        Ok(Self { secure, plain, dead: Arc::default(), watch: None })
    }

    /// The same, watched.
    pub(super) fn watched(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Has nothing failed with this host yet?
    pub(super) fn may_answer(&self, url: &str) -> bool {
        host(url)
            .is_ok_and(|host| !self.dead.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&host))
    }

    /// A small text, such as a file of checksums.
    pub(super) fn text(&self, url: &str) -> Result<String> {
        let mut response = self.get(url, None)?;
        good(url, response.status().as_u16())?;
        let text = response.body_mut().with_config().limit(TEXT_LIMIT).read_to_string();
        let text = text.map_err(|error| broken(url, &error.to_string()))?;
        match html_title(&text) {
            Some(title) => Err(a_page(url, &title)),
            None => Ok(text),
        }
    }

    /// A file that must have this checksum, into the store.
    pub(super) fn checked(&self, cache: &Cache, url: &str, expected: &Checksum) -> Result<Blob> {
        let _held = cache.hold_here(&Key::new(&("download", url))?, || ())?;
        if let Checksum::Sha256(sha256) = expected
            && let Some(blob) = cache.blob(sha256)?
        {
            return Ok(blob);
        }
        let path = self.fetch(cache, url)?;
        let found = expected.of(&path)?;
        if found == *expected {
            return cache.adopt(&path);
        }
        let title = html_title(&beginning(&path));
        let _ = fs::remove_file(&path);
        if let Some(title) = title {
            return Err(a_page(url, &title));
        }
        let message =
            format!("{url} has checksum {}, not the {} it should have", found.as_str(), expected.as_str());
        Err(Error::new(id::CHECKSUM_MISMATCH, message)
            .hinted("nothing of it was kept; is there a proxy or mirror in between that changes files?"))
    }

    /// A whole file, unchecked, beside the store. A transfer that broke off goes on where it was. The caller
    /// holds a lock that keeps others from the same file.
    pub(super) fn fetch(&self, cache: &Cache, url: &str) -> Result<PathBuf> {
        let part = Part::new(cache.partial(&Key::new(&("download", url))?)?);
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.go_on(url, &part) {
                Ok(()) => return Ok(part.path),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Again(error)) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| broken(url, "it never ended")))
    }

    /// One attempt, from where the last one stopped.
    fn go_on(&self, url: &str, part: &Part) -> Result<(), Trouble> {
        let at = part.resumable();
        let mut response = self.get(url, at.as_ref())?;
        let status = response.status().as_u16();
        let begun = at.map_or(0, |at| at.have);
        let keep = match status {
            206 if starts_at(&response, begun) => begun,
            // There is nothing after what we have: it is whole, or it is of an older file. The checksum tells.
            416 if begun > 0 => {
                part.whole();
                return Ok(());
            }
            206 | 416 => {
                part.discard();
                return Err(Trouble::Again(broken(url, "the server sent another part than was asked for")));
            }
            status => {
                good(url, status)?;
                0
            }
        };
        let tag = tag(&response);
        let length = header(&response, "content-length").and_then(|text| text.parse::<u64>().ok());
        let mut body = Watched {
            body: response.body_mut().with_config().limit(u64::MAX).reader(),
            have: keep,
            of: length.map(|length| keep + length),
            watch: self.watch.as_ref(),
            ended: None,
        };
        let received = part.append(keep, tag.as_deref(), &mut body);
        if let Some(error) = body.ended {
            return Err(Trouble::Final(error));
        }
        match received {
            Err(Stopped::Disk(error)) => Err(Trouble::Final(failed("write", &part.path, &error))),
            Err(Stopped::Net(error)) => Err(Trouble::Again(broken(url, &error.to_string()))),
            Ok(count) if length.is_some_and(|length| length != count) => {
                Err(Trouble::Again(broken(url, &format!("it ended after {count} bytes"))))
            }
            Ok(_) => {
                part.whole();
                Ok(())
            }
        }
    }

    fn get(&self, url: &str, at: Option<&Resume>) -> Result<Response<Body>> {
        let host = host(url)?;
        if let Some(why) = self.dead.lock().unwrap_or_else(PoisonError::into_inner).get(&host) {
            return Err(unreachable(&host, why));
        }
        let agent = if url.starts_with("https:") { &self.secure } else { &self.plain };
        let mut request = agent.get(url).header("accept-encoding", "identity");
        if let Some(at) = at {
            request = request.header("range", format!("bytes={}-", at.have)).header("if-range", &at.tag);
        }
        request.call().map_err(|error| {
            let why = error.to_string();
            self.dead.lock().unwrap_or_else(PoisonError::into_inner).insert(host.clone(), why.clone());
            unreachable(&host, &why)
        })
    }
}

/// The client behind one proxy, or none.
fn agent(proxy: Option<Proxy>) -> Agent {
    // The trust of the operating system: what people behind TLS inspection need.
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .proxy(proxy)
        .http_status_as_error(false)
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .user_agent(concat!("swdt/", env!("CARGO_PKG_VERSION")))
        .build();
    config.into()
}

/// A body that somebody watches come.
struct Watched<'a, R> {
    body: R,
    have: u64,
    of: Option<u64>,
    watch: Option<&'a Watch>,
    /// Why it was ended.
    ended: Option<Error>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Err(error) = self.watch.map_or(Ok(()), |watch| watch(self.have, self.of)) {
            self.ended = Some(error);
            return Err(io::Error::other("ended"));
        }
        let count = self.body.read(buffer)?;
        self.have += count as u64;
        Ok(count)
    }
}

/// Whether it is worth trying again.
enum Trouble {
    Again(Error),
    Final(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

fn through(url: &str, no_proxy: Option<&str>) -> Result<Proxy> {
    let bad = |_| {
        Error::new(id::ARGUMENT_INVALID, "the proxy's address cannot be understood")
            .hinted("write it as http://host:port, in HTTPS_PROXY")
    };
    let plain = Proxy::new(url).map_err(bad)?;
    let mut builder = Proxy::builder(plain.protocol()).host(plain.host()).port(plain.port());
    if let Some(user) = plain.username() {
        builder = builder.username(user);
    }
    if let Some(password) = plain.password() {
        builder = builder.password(password);
    }
    let exceptions = no_proxy.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    exceptions.fold(builder, ureq::ProxyBuilder::no_proxy).build().map_err(bad)
}

fn host(url: &str) -> Result<String> {
    let host = url.parse::<Uri>().ok().and_then(|uri| uri.authority().map(ToString::to_string));
    host.ok_or_else(|| Error::new(id::VALUE_INVALID, format!("`{url}` is no address of a file")))
}

fn good(url: &str, status: u16) -> Result<()> {
    match status {
        200 => Ok(()),
        404 => Err(Error::new(id::DOWNLOAD_MISSING, format!("{url} does not exist (404)"))
            .hinted("is there such a version for this platform?")),
        407 => {
            Err(Error::new(id::DOWNLOAD_REFUSED, format!("the proxy in front of {url} wants a login (407)"))
                .hinted("write it as http://user:password@host:port in HTTPS_PROXY or HTTP_PROXY"))
        }
        status => Err(Error::new(id::DOWNLOAD_REFUSED, format!("{url} answered {status}"))),
    }
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// What `If-Range` may name: a strong tag, else the date.
fn tag(response: &Response<Body>) -> Option<String> {
    let strong = header(response, "etag").filter(|tag| !tag.starts_with("W/"));
    strong.or_else(|| header(response, "last-modified")).map(str::to_owned)
}

fn starts_at(response: &Response<Body>, at: u64) -> bool {
    header(response, "content-range").is_some_and(|range| range.starts_with(&format!("bytes {at}-")))
}

/// The first few kilobytes of a file, as text.
fn beginning(path: &Path) -> String {
    let mut start = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(8192).read_to_end(&mut start));
    String::from_utf8_lossy(&start).into_owned()
}

/// What an HTML page is called, or how it begins; none when it is no page.
pub(crate) fn html_title(text: &str) -> Option<String> {
    let start = text.trim_start().to_ascii_lowercase();
    if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return None;
    }
    // Lower case has the same length in ASCII, so places in one are places in the other.
    let text = text.trim_start();
    let between = |open: &str, close: &str| {
        let from = start.find(open)? + open.len();
        let to = from + start.get(from..)?.find(close)?;
        text.get(from..to)
    };
    let title = between("<title>", "</title>").or_else(|| text.lines().next()).unwrap_or_default();
    Some(title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect())
}

/// A proxy that wants a login, or a page that says that something is not there.
fn a_page(url: &str, title: &str) -> Error {
    Error::new(
        id::DOWNLOAD_REFUSED,
        format!("{url} gave an HTML page, \u{201c}{title}\u{201d}, and not the file"),
    )
    .hinted("does a proxy ask for a login? open the address in a browser; nothing of it was kept")
}

fn broken(url: &str, why: &str) -> Error {
    Error::new(id::DOWNLOAD_BROKEN_OFF, format!("{url} could not be read to its end: {why}"))
        .hinted("run the command again: the download goes on where it stopped")
}

fn unreachable(host: &str, why: &str) -> Error {
    Error::new(id::DOWNLOAD_UNREACHABLE, format!("{host} cannot be reached: {why}"))
        .hinted("HTTPS_PROXY, HTTP_PROXY and NO_PROXY are honoured; `mirror` names another server")
}

//! Programs that tell over HTTP, on the machine itself, whether they are well.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use super::judge::Verdict;

const PATIENCE: Duration = Duration::from_secs(5);

/// Asks once. Nothing but this machine is ever asked.
pub(super) fn look(url: &str) -> Verdict {
    let parts = url.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
    let Some((place, path)) = parts else { return Verdict::Not(format!("{url} is no plain address")) };
    let address = place.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback());
    let Some(address) = address else { return Verdict::Not(format!("{place} is not this machine")) };
    match ask(address, path) {
        Ok(answer) if answer.split(' ').nth(1) == Some("200") => Verdict::True,
        Ok(answer) => Verdict::Not(format!("{url} answers {:?}", answer.trim())),
        Err(error) => Verdict::Not(format!("{url} does not answer: {error}")),
    }
}

/// The first line of the answer.
fn ask(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::{io::Read, net::TcpListener, thread};

    use super::*;

    fn answering(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Everything that was asked: what is left unread would break the connection off.
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut piece = [0; 64];
                let read = stream.read(&mut piece).unwrap();
                asked.extend_from_slice(&piece[..read]);
            }
            let _ = stream.write_all(answer.as_bytes());
        });
        format!("http://{address}/healthz")
    }

    #[test]
    fn only_two_hundred_is_well() {
        assert!(matches!(look(&answering("HTTP/1.0 200 OK\r\n\r\n")), Verdict::True));
        let sick = look(&answering("HTTP/1.1 503 Service Unavailable\r\n\r\n"));
        assert!(matches!(sick, Verdict::Not(why) if why.contains("503")));
        assert!(
            matches!(look("http://192.0.2.1:80/"), Verdict::Not(why) if why.contains("not this machine"))
        );
    }
}

//! listener.exe PORT: a program of somebody else that holds a port. Part of no machine; tests put it there.

use std::{net::TcpListener, thread, time::Duration};

pub(crate) fn run(words: &[String]) -> i32 {
    let port = words.first().and_then(|word| word.parse::<u16>().ok()).unwrap_or_default();
    let Ok(_held) = TcpListener::bind(("0.0.0.0", port)) else { return 1 };
    thread::sleep(Duration::from_mins(10));
    0
}

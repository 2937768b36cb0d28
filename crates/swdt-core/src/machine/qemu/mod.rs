//! Virtual machines by QEMU: real kernels, real firmware, on any Linux host; no libvirt, and without root if need be.

mod arguments;
mod process;
mod qmp;
mod sockets;
#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "until the provider makes Windows machines")
)]
mod windows;

use std::time::{Duration, Instant};

/// Asks again and again until there is an answer or the time is over.
fn patience<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let answer = ask();
        if answer.is_some() || begun.elapsed() >= limit {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

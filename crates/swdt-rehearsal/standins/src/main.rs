//! Programs of Windows that Wine lacks. One file, known by the name it is called by; see `docs/ground.md`.

#[cfg(windows)]
mod dism;
#[cfg(windows)]
mod hns;
#[cfg(windows)]
mod hnsdiag;
#[cfg(windows)]
mod listener;
#[cfg(windows)]
mod netsh;
#[cfg(windows)]
mod session;
#[cfg(windows)]
mod shutdown;
#[cfg(windows)]
mod sysprep;

#[cfg(windows)]
fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let program = words.first().map(String::as_str).unwrap_or_default();
    let name = program.rsplit(['\\', '/']).next().unwrap_or_default().to_lowercase();
    let code = match name.trim_end_matches(".exe") {
        "dism" => dism::run(&words[1..]),
        "hns" => hns::run(),
        "hnsdiag" => hnsdiag::run(&words[1..]),
        "listener" => listener::run(&words[1..]),
        "netsh" => netsh::run(&words[1..]),
        "shutdown" => shutdown::run(&words[1..]),
        "sshd-session" => session::run(),
        "sysprep" => sysprep::run(&words[1..]),
        _ => 1,
    };
    std::process::exit(code)
}

#[cfg(not(windows))]
fn main() {}

//! The command. All it decides is where bytes come from and go to.

use std::{
    env,
    ffi::OsString,
    io::{self, BufRead, Read, Write},
    path::PathBuf,
    process::{ExitCode, exit},
};

use swdt_node::{Ctx, Events, Result, blobs, detach, os, serve, state::State};

/// Far above any request; a stream without end is none.
const LONGEST_REQUEST: u64 = 64 << 20;

const USAGE: &str = "usage: swdt-node [--root DIR] serve | put SHA256 | kubectl HEX | run | version | install | service NAME | first-boot [finish | seal]\n";

fn main() -> ExitCode {
    let Some((ctx, words)) = arguments() else { return misused() };
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => talk(&ctx),
        ["run"] => run(&ctx),
        ["put", sha256] => return put(&ctx, sha256),
        ["kubectl", request] => return kubectl(&ctx, request),
        #[cfg(windows)]
        ["install"] => return told(swdt_node::install::install(&ctx)),
        #[cfg(windows)]
        ["service", name] => return told(swdt_node::host::run(name)),
        #[cfg(windows)]
        ["first-boot"] => return told(swdt_node::first_boot::place(&ctx)),
        #[cfg(windows)]
        ["first-boot", "finish"] => return told(swdt_node::first_boot::finish(&ctx)),
        #[cfg(windows)]
        ["first-boot", "seal"] => return told(swdt_node::first_boot::seal(&ctx)),
        ["version"] => {
            let _ = writeln!(
                io::stdout(),
                "swdt-node {} wire {}",
                env!("CARGO_PKG_VERSION"),
                swdt_wire::WIRE_VERSION
            );
        }
        _ => return misused(),
    }
    ExitCode::SUCCESS
}

fn arguments() -> Option<(Ctx, Vec<String>)> {
    let mut root = PathBuf::from(os::ROOT);
    let mut words = env::args_os().skip(1).peekable();
    if words.next_if(|word| word == "--root").is_some() {
        root = words.next().map(PathBuf::from).filter(|root| root.is_absolute())?;
    }
    let words = words.map(OsString::into_string).collect::<Result<_, _>>().ok()?;
    Some((Ctx::new(root), words))
}

fn misused() -> ExitCode {
    let _ = io::stderr().write_all(USAGE.as_bytes());
    ExitCode::from(2)
}

/// One request from standard input, events to standard output.
fn talk(ctx: &Ctx) {
    let mut request = Vec::new();
    let _ = io::stdin().lock().take(LONGEST_REQUEST).read_until(b'\n', &mut request);
    // Ends whatever a login script wrote before us without ending its line.
    let _ = io::stdout().write_all(b"\n");
    let events = Events::from(0, |event| {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut stdout = io::stdout().lock();
        if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
            // Nobody listens any more. A run goes on without us.
            exit(0);
        }
    });
    serve::serve(ctx, &request, &events);
}

/// The detached side of [`talk`].
fn run(ctx: &Ctx) {
    let mut request = Vec::new();
    let _ = io::stdin().lock().take(LONGEST_REQUEST).read_until(b'\n', &mut request);
    let Ok(request) = serde_json::from_slice(&request) else { return };
    let say = |verdict: &detach::Verdict| {
        let mut line = serde_json::to_vec(verdict).unwrap_or_default();
        line.push(b'\n');
        let _ = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
        // The pipe's other end may die; nothing of ours may hang on it.
        os::fall_silent();
    };
    let followed = || {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    };
    detach::run(ctx, &request, say, followed);
}

/// Standard input belongs to kubectl, so the request is a word: in hex, because a shell passes it on.
fn kubectl(ctx: &Ctx, request: &str) -> ExitCode {
    let Some(bytes) = serve::unhex(request) else { return misused() };
    match serve::stand_in(ctx, &bytes) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn put(ctx: &Ctx, sha256: &str) -> ExitCode {
    told(blobs::put(&State::of(ctx), sha256, &mut io::stdin().lock()))
}

/// Success, or what went wrong.
fn told(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

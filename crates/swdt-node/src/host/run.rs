//! The running of it.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use swdt_win::{
    process,
    service::{self, Phase},
};
use swdt_wire::ServiceHost;

use super::{Log, WELL, back_off, file, load, started};
use crate::{Ctx, Error, Result, os};

/// How often the program and the wishes of Windows are looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// The exit code of a service whose configuration cannot be used.
const UNUSABLE: u32 = 1;

/// Is the service of that name until Windows stops it.
pub fn run(name: &str) -> Result<()> {
    service::run(name, work).map_err(|error| {
        Error::new(format!("cannot be a service: {error}"))
            .hinted("the service manager starts this; by hand: sc.exe start NAME")
    })
}

fn work(name: &str, told_to_stop: &Receiver<()>, phase: &Phase) -> u32 {
    let ctx = Ctx::new(os::ROOT);
    let opened = load(&ctx, name).and_then(|host| {
        let path = Path::new(&host.log);
        let log = Log::open(path, host.log_mib << 20, host.logs);
        let log = log.map_err(|error| Error::io("write", path, &error))?;
        Ok((host, log))
    });
    let Ok((host, log)) = opened else {
        // There is no log to say why; the marker is what the next look finds.
        let _ = File::create(file(&ctx, name, "failed"));
        return UNUSABLE;
    };
    let log = Arc::new(Mutex::new(log));
    // Programs are asked to stop through a console, so there must be one.
    process::make_console();
    let mut times = 0;
    loop {
        if !await_file(&ctx, &host, told_to_stop) {
            return 0;
        }
        let begun = Instant::now();
        let child = start(&ctx, name, &host, &log);
        let stopped = match child {
            Ok(mut child) => watch(&ctx, name, &mut child, told_to_stop, begun).then_some(child),
            Err(error) => {
                say(&log, &format!("cannot start {}: {error}", host.program));
                None
            }
        };
        if let Some(mut child) = stopped {
            phase.stopping();
            end(&mut child, Duration::from_secs(host.stop_seconds));
            say(&log, "stopped");
            return 0;
        }
        times = if begun.elapsed() > WELL { 1 } else { times + 1 };
        if begun.elapsed() <= WELL {
            let _ = File::create(file(&ctx, name, "failed"));
        }
        let wait = back_off(times);
        say(&log, &format!("ended by itself; started again in {} s", wait.as_secs()));
        if told_to_stop.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return 0;
        }
    }
}

/// Waits for the file that the program needs; false if Windows wants the service to stop before.
fn await_file(ctx: &Ctx, host: &ServiceHost, told_to_stop: &Receiver<()>) -> bool {
    let Some(file) = &host.waits_for else { return true };
    while !ctx.path(file).exists() {
        if told_to_stop.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
            return false;
        }
    }
    true
}

/// Starts the program, with its words going into the log.
fn start(ctx: &Ctx, name: &str, host: &ServiceHost, log: &Arc<Mutex<Log>>) -> io::Result<Child> {
    let mut command = Command::new(&host.program);
    command
        .args(&host.arguments)
        .args(super::further_arguments(ctx, host))
        .envs(&host.environment)
        .current_dir(&host.directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    process::own_group(&mut command);
    say(log, &format!("starting {}", host.program));
    // The time of this file must not be later than the program's own look at its files.
    fs::write(started(ctx, name), "")?;
    let mut child = command.spawn()?;
    // If the host is killed, Windows starts it anew, and two of the program must not run.
    process::tie(&child)?;
    if let Some(stream) = child.stdout.take() {
        keep(stream, log);
    }
    if let Some(stream) = child.stderr.take() {
        keep(stream, log);
    }
    Ok(child)
}

/// Copies lines into the log until there are no more.
fn keep(stream: impl Read + Send + 'static, log: &Arc<Mutex<Log>>) {
    let log = Arc::clone(log);
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader.by_ref().take(64 << 10).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            // A full disk must not stop the program.
            let _ = log.lock().unwrap_or_else(PoisonError::into_inner).write(&line);
            line.clear();
        }
    });
}

/// A line of the host itself.
fn say(log: &Arc<Mutex<Log>>, text: &str) {
    let line = format!("swdt: {text}\r\n");
    let _ = log.lock().unwrap_or_else(PoisonError::into_inner).write(line.as_bytes());
}

/// Waits; true if Windows wants the service to stop, false if the program ended.
fn watch(ctx: &Ctx, name: &str, child: &mut Child, told_to_stop: &Receiver<()>, begun: Instant) -> bool {
    loop {
        if told_to_stop.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
            return true;
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        if begun.elapsed() > WELL {
            let _ = fs::remove_file(file(ctx, name, "failed"));
        }
    }
}

/// Asks the program to stop; ends it when it does not.
fn end(child: &mut Child, patience: Duration) {
    process::interrupt(child.id());
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begun.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(PAUSE);
    }
}

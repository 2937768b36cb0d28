//! Programs of the machine: by argument vector, in a known environment, with their words kept.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    faults::{self, Program},
    os,
};

/// How many lines of a failed program's output an error carries.
const LAST_LINES: usize = 20;

/// The most a program may answer, on either stream.
pub const LONGEST_ANSWER: usize = 64 << 20;

/// How long a program may run: a mirror may be slow, but nobody waits for ever for one that hangs.
fn longest_run() -> Duration {
    Duration::from_hours(1) * os::slowness()
}

/// What a program said.
#[derive(Debug, Clone)]
pub struct Said {
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Said {
    /// Did it exit with 0?
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }
}

/// A program in a known environment ([`os::environment`]).
pub fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    os::environment(&mut command);
    // Preferences of whoever logs in could change what kubectl does.
    command.args(arguments).env("KUBECTL_KUBERC", "false").env_remove("KUBECTL_EXTERNAL_DIFF");
    command
}

/// Runs to the end and brings both streams.
pub fn ask(mut command: Command, name: &str, input: &[u8]) -> Result<Said> {
    let end = Instant::now() + longest_run();
    let mut child = spawn(&mut command, name)?;
    feed(child.stdin.take(), input);
    let streams = [drain(child.stdout.take()), drain(child.stderr.take())];
    let [stdout, stderr] = streams.map(|stream| match stream.recv_timeout(until(end)) {
        Err(RecvTimeoutError::Timeout) => None,
        bytes => Some(bytes.unwrap_or_default()),
    });
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else { return Err(endless(&mut child, name)) };
    let status = wait(&mut child, name)?;
    if stdout.len().max(stderr.len()) > LONGEST_ANSWER {
        return Err(Error::new(format!("{name} answered more than {} MiB", LONGEST_ANSWER >> 20)));
    }
    Ok(Said { code: status.code(), stdout: text(stdout), stderr: text(stderr) })
}

/// Runs to the end and passes on the lines of both streams; gives the exit code. One that is not `good` is an
/// error with the last lines.
pub fn follow(
    mut command: Command,
    argv: &[&str],
    input: &[u8],
    good: &[i32],
    say: &mut dyn FnMut(&str),
) -> Result<i32> {
    let fault = faults::program();
    let patience = if fault == Some(Program::Endless) { Duration::ZERO } else { longest_run() };
    let end = Instant::now() + patience;
    let mut child = spawn(&mut command, argv[0])?;
    feed(child.stdin.take(), input);
    let (sender, lines) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as _),
        child.stderr.take().map(|stream| Box::new(stream) as _),
    ];
    for stream in streams.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            let lines = BufReader::new(stream).split(b'\n').map_while(io::Result::ok);
            lines.map(|line| plain(&String::from_utf8_lossy(&line))).try_for_each(|line| sender.send(line))
        });
    }
    drop(sender);
    let mut last = Vec::new();
    loop {
        match lines.recv_timeout(until(end)) {
            Ok(line) => {
                say(&line);
                last.push(line);
                if last.len() > LAST_LINES {
                    last.remove(0);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                return Err(Error { output: last, ..endless(&mut child, argv[0]) });
            }
        }
    }
    let status = wait(&mut child, argv[0])?;
    match status.code().filter(|code| good.contains(code)) {
        Some(code) if fault != Some(Program::Lost) => Ok(code),
        _ => {
            Err(Error { message: format!("`{}` failed: {status}", argv.join(" ")), output: last, hint: None })
        }
    }
}

fn until(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

/// Ends a program that does not end by itself, and all that it started.
fn endless(child: &mut Child, name: &str) -> Error {
    os::end(child);
    let _ = child.wait();
    let hours = longest_run().as_secs() / 3600;
    Error::new(format!("{name} did not come to its end within {hours} h, and was ended"))
        .hinted("see on the machine what it waits for, and run the same command again")
}

fn spawn(command: &mut Command, name: &str) -> Result<Child> {
    let program = command.get_program().to_owned();
    let cannot = |error| Error {
        message: format!("cannot run {name}: {error}"),
        output: Vec::new(),
        hint: os::file_hint(Path::new(&program), &error),
    };
    os::lead(command);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    os::tie(&child).map_err(cannot)?;
    Ok(child)
}

fn wait(child: &mut Child, name: &str) -> Result<ExitStatus> {
    child.wait().map_err(|error| Error::new(format!("cannot wait for {name}: {error}")))
}

/// A program that does not read all of it, or is gone, has its reasons; its exit code tells.
fn feed(stdin: Option<impl Write + Send + 'static>, input: &[u8]) {
    let input = input.to_vec();
    if let Some(mut stdin) = stdin {
        thread::spawn(move || stdin.write_all(&input));
    }
}

/// One byte more than allowed, so that too much can be told; then the pipe closes, which ends the program.
fn drain(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(LONGEST_ANSWER as u64 + 1).read_to_end(&mut bytes);
        }
        sender.send(bytes)
    });
    receiver
}

/// A line without its end, and without the colours that some programs give to whatever they write to.
pub(crate) fn plain(line: &str) -> String {
    let mut parts = line.trim_end().split("\u{1b}[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        text += &part[end..];
    }
    text
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_goes_in_and_both_streams_come_out() {
        let script = ["-c", "cat; echo oops >&2; exit 3"];
        let long = "x".repeat(1 << 20);
        let said = ask(command(Path::new("sh"), &script), "sh", long.as_bytes()).unwrap();
        assert_eq!((said.code, said.stdout == long, said.stderr.as_str()), (Some(3), true, "oops\n"));
        let argv = ["sh", "-c", "head -c1 >/dev/null; seq 30; exit 4"];
        let mut lines = 0;
        let error =
            follow(command(Path::new("sh"), &argv[1..]), &argv, long.as_bytes(), &[0], &mut |_| lines += 1)
                .unwrap_err();
        assert_eq!((lines, error.output.len(), error.output[19].as_str()), (30, 20, "30"));
        assert!(ask(command(Path::new("/nonexistent"), &[]), "it", b"").is_err());
    }

    #[test]
    fn colours_are_left_out() {
        assert_eq!(plain("\u{1b}[0;37mOS\u{1b}[0m: \u{1b}[0;32mLinux\u{1b}[0m\r"), "OS: Linux");
        assert_eq!((plain("plain "), plain("\u{1b}[12")), ("plain".into(), String::new()));
    }

    /// With a time that is over at once; the program's own child holds the streams as well.
    #[cfg(feature = "faults")]
    #[test]
    fn a_program_that_does_not_end_is_ended_with_what_it_started() {
        use faults::{Action, Fault, arm};
        let action = Action::Endless;
        arm(Some(Fault { at: "*".into(), point: "program".into(), nth: 1, action, file: None }));
        let argv = ["sh", "-c", "sleep 1000 & wait"];
        let ended = follow(command(Path::new("sh"), &argv[1..]), &argv, b"", &[0], &mut |_| ());
        assert!(!faults::armed(), "it was not tried");
        let error = ended.unwrap_err();
        assert!(error.message.contains("did not come to its end") && error.hint.is_some(), "{error}");
    }

    #[test]
    fn too_long_an_answer_is_an_error_and_no_hang() {
        let error = ask(command(Path::new("yes"), &[]), "yes", b"").unwrap_err();
        assert!(error.message.contains("64 MiB"), "{error}");
    }
}

//! Programs of the machine: by argument vector, in a known environment, with their words kept.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
};

use crate::{Error, Result, os};

/// How many lines of a failed program's output an error carries.
const LAST_LINES: usize = 20;

/// The most a program may answer, on either stream.
pub const LONGEST_ANSWER: usize = 64 << 20;

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
    let mut child = spawn(&mut command, name)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = thread::scope(|scope| {
        scope.spawn(|| feed(stdin, input));
        let stderr = scope.spawn(|| drain(stderr));
        (drain(stdout), stderr.join().unwrap_or_default())
    });
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
    let mut child = spawn(&mut command, argv[0])?;
    let stdin = child.stdin.take();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as _),
        child.stderr.take().map(|stream| Box::new(stream) as _),
    ];
    let mut last = Vec::new();
    let (sender, lines) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| feed(stdin, input));
        for stream in streams.into_iter().flatten() {
            let sender = sender.clone();
            scope.spawn(move || {
                for line in BufReader::new(stream).split(b'\n').map_while(io::Result::ok) {
                    let line = plain(&String::from_utf8_lossy(&line));
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for line in lines {
            say(&line);
            last.push(line);
            if last.len() > LAST_LINES {
                last.remove(0);
            }
        }
    });
    let status = wait(&mut child, argv[0])?;
    if let Some(code) = status.code().filter(|code| good.contains(code)) {
        return Ok(code);
    }
    Err(Error { message: format!("`{}` failed: {status}", argv.join(" ")), output: last, hint: None })
}

fn spawn(command: &mut Command, name: &str) -> Result<Child> {
    let program = command.get_program().to_owned();
    let cannot = |error| Error {
        message: format!("cannot run {name}: {error}"),
        output: Vec::new(),
        hint: os::file_hint(Path::new(&program), &error),
    };
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
fn feed(stdin: Option<impl Write>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input);
    }
}

/// One byte more than allowed, so that too much can be told; then the pipe closes, which ends the program.
fn drain(stream: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(LONGEST_ANSWER as u64 + 1).read_to_end(&mut bytes);
    }
    bytes
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

    #[test]
    fn too_long_an_answer_is_an_error_and_no_hang() {
        let error = ask(command(Path::new("yes"), &[]), "yes", b"").unwrap_err();
        assert!(error.message.contains("64 MiB"), "{error}");
    }
}

//! Programs of the host, called by argument vector.

use std::{
    ffi::OsStr,
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use crate::{Error, Result, id};

/// How many lines of output an error keeps.
const LAST_LINES: usize = 20;

/// Runs a program and gives its standard output.
pub(super) fn run<A: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = A>) -> Result<String> {
    output(command(program, args).stdin(Stdio::null()))
}

/// Runs a program that reads its input from a text.
pub(super) fn run_with_input<A: AsRef<OsStr>>(
    program: &str,
    args: impl IntoIterator<Item = A>,
    input: &str,
) -> Result<String> {
    let mut command = command(program, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| cannot_run(&command, &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|error| cannot_run(&command, &error))?;
    }
    let done = child.wait_with_output().map_err(|error| cannot_run(&command, &error))?;
    judge(&command, &done)
}

/// Runs a prepared command and gives its standard output.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let done = command.output().map_err(|error| cannot_run(command, &error))?;
    judge(command, &done)
}

/// Where a program is, looked for where a root shell would; `sudo` and `su` often forget `sbin`.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"]
        .iter()
        .map(|dir| PathBuf::from(dir).join(program))
        .find(|path| path.is_file())
}

/// A command in the plain locale, found also without `sbin` in the path.
pub(super) fn command<A: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(find(program).unwrap_or_else(|| program.into()));
    command.args(args).env("LC_ALL", "C.UTF-8");
    command
}

fn judge(command: &Command, done: &Output) -> Result<String> {
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let text =
        format!("{}\n{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    Err(Error::new(id::TOOL_FAILED, format!("`{}` failed: {}", spoken(command), done.status))
        .with_output(last_lines(&text)))
}

/// The end of a text, without empty lines.
pub(super) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

fn cannot_run(command: &Command, error: &std::io::Error) -> Error {
    Error::new(id::TOOL_FAILED, format!("cannot run `{}`: {error}", spoken(command)))
}

/// The command as a person would say it: the program and its first few words.
fn spoken(command: &Command) -> String {
    let words = command.get_args().take(4).map(|arg| arg.to_string_lossy().into_owned());
    let program = command.get_program().to_string_lossy().into_owned();
    let name = program.rsplit('/').next().unwrap_or_default().to_owned();
    std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
}

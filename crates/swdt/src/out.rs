//! The only doors to the terminal. A closed pipe (`| head`) ends the program quietly.

use std::io::{ErrorKind, IsTerminal, Write};

/// Prints a line on standard output.
pub(crate) fn line(text: &str) {
    quiet_on_closed_pipe(writeln!(anstream::stdout(), "{text}"));
}

/// Prints text as it is on standard output.
pub(crate) fn raw(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    quiet_on_closed_pipe(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

/// Prints text as it is on standard error.
pub(crate) fn raw_error(bytes: &[u8]) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}

/// Prints a line on standard error.
pub(crate) fn error_line(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// May standard error have colours? (A terminal, and no NO_COLOR.)
pub(crate) fn colour_on_stderr() -> bool {
    !matches!(anstream::AutoStream::choice(&std::io::stderr()), anstream::ColorChoice::Never)
        && std::io::stderr().is_terminal()
}

fn quiet_on_closed_pipe(result: std::io::Result<()>) {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(141),
        _ => {}
    }
}

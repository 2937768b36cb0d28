//! The only doors to the terminal. A closed pipe (`| head`) ends the program quietly.

use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use indicatif::{MultiProgress, ProgressDrawTarget};
use swdt_core::id;

use crate::render::keys;

/// The display that moves, once there is one: lines of others go above it, or it would overwrite them.
static LIVE: OnceLock<MultiProgress> = OnceLock::new();

/// From now on this display is on standard error.
pub(crate) fn share_with(live: &MultiProgress) {
    let _ = LIVE.set(live.clone());
}

/// Prints a line on standard output.
pub(crate) fn line(text: &str) {
    expect_written(writeln!(anstream::stdout(), "{text}"));
}

/// Prints text as it is on standard output.
pub(crate) fn raw(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    expect_written(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

/// Prints text as it is on standard error.
pub(crate) fn raw_error(bytes: &[u8]) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}

/// Prints a line on standard error.
pub(crate) fn error_line(text: &str) {
    let print = || {
        let _ = writeln!(anstream::stderr(), "{text}");
    };
    match LIVE.get() {
        Some(live) => live.suspend(print),
        None => print(),
    }
}

/// Takes back the `^C` that a terminal has written. The display keeps its cursor at the right edge, so
/// that the echo moved it to the next row, and the display would clear one row too few.
pub(crate) fn take_back_echo() {
    // Where keys are listened to, nothing is echoed.
    if LIVE.get().is_some() && io::stdin().is_terminal() && !keys::are_taken() {
        raw_error(b"\r\x1b[K\x1b[A");
    }
}

/// Takes the display off the screen, for good.
pub(crate) fn end_live() {
    keys::give_back();
    if let Some(live) = LIVE.get() {
        let _ = live.clear();
        live.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// May standard error have colours? (A terminal, and no NO_COLOR.)
pub(crate) fn colour_on_stderr() -> bool {
    io::stderr().is_terminal() && anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// May standard output have colours?
pub(crate) fn colour_on_stdout() -> bool {
    io::stdout().is_terminal() && anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Columns of the terminal; none where standard output goes elsewhere and lines may be long.
pub(crate) fn width() -> Option<usize> {
    let (columns, _) = io::stdout().is_terminal().then(crossterm::terminal::size)?.ok()?;
    Some(columns.into()).filter(|columns| *columns > 0)
}

/// Columns of the terminal that standard error is; none where it goes elsewhere.
pub(crate) fn error_width() -> Option<usize> {
    io::stderr().is_terminal().then(live_width).flatten()
}

/// Columns of the terminal that the moving display is on.
pub(crate) fn live_width() -> Option<usize> {
    let (columns, _) = crossterm::terminal::size().ok()?;
    Some(columns.into()).filter(|columns| *columns > 0)
}

/// Output that is lost must not look like success.
fn expect_written(result: io::Result<()>) {
    match result {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(141),
        Err(error) => {
            error_line(&format!("error[{}]: cannot write to standard output: {error}", id::TERMINAL_LOST.id));
            std::process::exit(id::TERMINAL_LOST.kind.exit_code().into())
        }
    }
}

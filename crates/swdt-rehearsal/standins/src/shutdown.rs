//! shutdown.exe: `/r` and `/s`, now or in `/t` seconds. The machine itself goes down, and comes up again for `/r`.

use std::fs;

/// Where the machine looks for what Windows wants of it. Wine reaches the file system below it by this prefix.
const POWER: &str = r"\\?\unix\run\swdt\power";

pub(crate) fn run(words: &[String]) -> i32 {
    let at = |option: char| {
        words.iter().position(|word| {
        matches!(word.as_bytes(), [b'/' | b'-', letter] if char::from(*letter).eq_ignore_ascii_case(&option))
    })
    };
    let verb = match (at('r').is_some(), at('s').is_some()) {
        (true, false) => "reboot",
        (false, true) => "poweroff",
        _ => return 1,
    };
    // Windows waits thirty seconds when it is not told.
    let seconds = at('t').and_then(|at| words.get(at + 1)?.parse().ok()).unwrap_or(30_u32);
    match fs::write(POWER, format!("{verb} {seconds}\n")) {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(1),
    }
}

//! Commands of the pages, run as they stand.

use super::{
    Ran, Swdt,
    pages::{LINES, Run, Scene},
    pty::Terminal,
};

/// Runs all lines of a scene, one after the other, and then tells which failed.
pub fn play(scene: Scene, swdt: &Swdt) {
    judge(lines_of(scene).map(|(line, run)| run_line(swdt, line, run)));
}

/// The same where nothing that a line leaves behind shall be there for the next.
pub fn play_each(scene: Scene, swdt: impl Fn() -> Swdt) {
    judge(lines_of(scene).map(|(line, run)| run_line(&swdt(), line, run)));
}

fn lines_of(scene: Scene) -> impl Iterator<Item = (&'static str, Run)> {
    let is_here = move |run: &Run| matches!(run, Run::In(at) | Run::Typed(at, ..) if *at == scene);
    LINES.iter().copied().filter(move |(_, run)| is_here(run))
}

fn judge(ran: impl Iterator<Item = Result<(), String>>) {
    let ran: Vec<_> = ran.collect();
    assert!(!ran.is_empty(), "no line is of this scene");
    let wrong: Vec<_> = ran.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run_line(swdt: &Swdt, line: &str, run: Run) -> Result<(), String> {
    let (code, told) = if let Run::Typed(_, shown, keys) = run {
        let mut screen = Terminal::start(&swdt.shell(line), 120, 40);
        screen.until(shown);
        screen.keys(keys);
        (screen.end(), screen.screen())
    } else {
        // `source` ends well whatever the program does that it reads from.
        let judged = if line.contains("<(") { format!("{line} && wait $!") } else { line.to_owned() };
        let Ran { code, stdout, stderr } = Ran::of(&mut swdt.shell(&judged));
        (code, stdout + &stderr)
    };
    if code == 0 { Ok(()) } else { Err(format!("`{line}` ended with {code}:\n{told}")) }
}

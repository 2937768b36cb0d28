//! What a sweep found out, for people.

use std::{collections::BTreeMap, fmt::Write};

use crate::pass::{Found, Half};

/// Counts by fault, in the order of the lists; then by half and system.
type Rows = BTreeMap<(usize, &'static str), [Count; 4]>;

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    struck: u32,
    failed: u32,
    not_reached: u32,
}

fn count(sweep: &[Found]) -> Rows {
    let mut rows = Rows::new();
    for case in sweep.iter().flat_map(|found| &found.cases) {
        let name = case.fault().name;
        let order = Half::Make.faults().iter().position(|fault| fault.name == name);
        let row = rows.entry((order.unwrap_or(usize::MAX), name)).or_default();
        let count = &mut row[usize::from(case.half == Half::Undo) * 2 + usize::from(case.windows)];
        count.struck += u32::from(case.struck);
        count.not_reached += u32::from(!case.struck);
        count.failed += u32::from(case.failed);
    }
    rows
}

/// All passes of a sweep, as Markdown, with the names of what makes and what undoes.
pub(crate) fn text(sweep: &[Found], seed: usize, [make, undo]: [&str; 2]) -> String {
    let rows = count(sweep);
    let all = |of: fn(&Count) -> u32, columns: &[usize]| -> u32 {
        rows.values().flat_map(|row| columns.iter().map(|column| of(&row[*column]))).sum()
    };
    let struck = |columns: &[usize]| all(|count| count.struck, columns);
    let failed = |columns: &[usize]| all(|count| count.failed, columns);
    let mut text = format!(
        "| | |\n|---|---|\n| cases that struck | {} |\n| converged | {} |\n| restored | {} |\n| failed | {} |\n\
             | not reached | {} |\n| passes | {} |\n| commands run | {} |\n| time | {} min |\n| seed | {seed} |\n\n",
        struck(&[0, 1, 2, 3]),
        struck(&[0, 1]) - failed(&[0, 1]),
        struck(&[2, 3]) - failed(&[2, 3]),
        failed(&[0, 1, 2, 3]),
        all(|count| count.not_reached, &[0, 1, 2, 3]),
        sweep.len(),
        sweep.iter().map(|found| found.runs).sum::<u32>(),
        sweep.iter().map(|found| found.seconds).sum::<u64>() / 60,
    );
    let _ = writeln!(text, "| fault | {make}, Linux | {make}, Windows | {undo}, Linux | {undo}, Windows |");
    text += "|---|---|---|---|---|\n";
    for ((_, name), row) in &rows {
        let _ = writeln!(text, "| {name} | {} |", row.map(cell).join(" | "));
    }
    text
}

fn cell(count: Count) -> String {
    let Count { struck, failed, not_reached } = count;
    let mut text = if struck == 0 { "–".to_owned() } else { struck.to_string() };
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    if not_reached > 0 && struck > 0 {
        let _ = write!(text, " ({not_reached} not reached)");
    }
    text
}

/// Puts a text between the marks of a document.
pub(crate) fn between(document: &str, begin: &str, end: &str, text: &str) -> Option<String> {
    let (head, rest) = document.split_once(begin)?;
    let (_, tail) = rest.split_once(end)?;
    Some(format!("{head}{begin}\n{text}{end}{tail}"))
}

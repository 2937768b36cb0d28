//! Columns for the eye: aligned, without rules and without trailing blanks.

use owo_colors::OwoColorize;

/// Between columns.
const GAP: usize = 2;
/// Columns narrower than this tell nothing and are left out.
const WORTH: usize = 8;

/// Rows of cells under a head. The most telling columns come first.
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(head: [&str; N]) -> Self {
        Self { rows: vec![head.map(ToOwned::to_owned)] }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// The lines. Where the terminal is too narrow, the last columns are cut off.
    pub(crate) fn text(&self, width: Option<usize>) -> String {
        let mut left = width.unwrap_or(usize::MAX);
        let mut widths = Vec::new();
        for column in 0..N {
            let wanted = self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            if wanted > left && left < WORTH {
                break;
            }
            widths.push(wanted.min(left));
            left = left.saturating_sub(wanted + GAP);
        }
        let line = |row: &[String; N]| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{:<width$}", cut(cell, *width)));
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The same for a terminal: a quiet head, and words that tell how something stands in their colours.
    pub(crate) fn coloured(&self, width: Option<usize>) -> String {
        let text = self.text(width);
        let (head, rows) = text.split_once('\n').unwrap_or((&text, ""));
        let rows = rows.lines().map(|row| row.split("  ").map(coloured).collect::<Vec<_>>().join("  "));
        std::iter::once(head.dimmed().to_string()).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

/// A cell, with the blanks around it, in the colour of what it says; most say nothing of how things stand.
fn coloured(cell: &str) -> String {
    let word = cell.trim();
    let painted = match word {
        "ready" | "running" | "passed" => word.green().to_string(),
        "not ready" | "failed" | "absent" => word.red().to_string(),
        "stopped" | "unknown" | "half undone" | "ready, cordoned" => word.yellow().to_string(),
        _ => return cell.to_owned(),
    };
    cell.replacen(word, &painted, 1)
}

fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_their_terminal() {
        let mut table = Table::new(["NODE", "ADDRESS", "SYSTEM"]);
        table.row(["cp1".into(), "192.168.1.10".into(), "Debian GNU/Linux 12 (bookworm)".into()]);
        table.row(["worker1".into(), "-".into(), "-".into()]);
        let expected = "NODE     ADDRESS       SYSTEM\n\
                        cp1      192.168.1.10  Debian GNU/Linux 12 (bookworm)\n\
                        worker1  -             -";
        assert_eq!(table.text(None), expected);
        assert_eq!(table.text(Some(80)), expected);
        let narrow = table.text(Some(40));
        assert_eq!(narrow.lines().nth(1), Some("cp1      192.168.1.10  Debian GNU/Linux…"), "{narrow}");
        assert_eq!(table.text(Some(25)).lines().nth(1), Some("cp1      192.168.1.10"));
    }

    #[test]
    fn colours_change_no_letter() {
        let mut table = Table::new(["NODE", "KUBERNETES", "SYSTEM"]);
        table.row(["cp1".into(), "ready".into(), "Debian  12".into()]);
        table.row(["worker1".into(), "not ready".into(), "-".into()]);
        let coloured = table.coloured(None);
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), table.text(None));
        for word in ["ready".green().to_string(), "not ready".red().to_string()] {
            assert!(coloured.contains(&word), "{coloured:?}");
        }
    }
}

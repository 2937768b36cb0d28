//! The long run of bad bytes. The short one is a test of `swdt-fuzz`.

use std::fs;

use crate::sh::{self, Result};

const DOCS: &str = "docs/reliability.md";
const BEGIN: &str = "<!-- figures of `cargo xtask fuzz` -->";
const END: &str = "<!-- end of figures -->";
/// Each target gets so many inputs unless told otherwise: ten million for all of them.
const INPUTS: &str = "300000";

/// Options are those of `swdt-fuzz run`. Figures of some targets only are not written down.
pub(crate) fn run(words: &[String]) -> Result<()> {
    sh::cargo(&["build", "--package", "swdt-fuzz", "--profile", "fuzz"]).run()?;
    let has = |option: &str| words.iter().any(|word| word == option);
    let target = sh::target();
    let table = target.join("fuzz-table.md");
    let table_name = table.to_string_lossy();
    let mut arguments: Vec<&str> = vec!["run", "--keep", "crates/swdt-fuzz/corpus", "--table", &table_name];
    if !has("--inputs") && !has("--minutes") {
        arguments.extend(["--inputs", INPUTS]);
    }
    arguments.extend(words.iter().map(String::as_str));
    let ran = sh::command(&target.join("fuzz/swdt-fuzz").to_string_lossy()).args(&arguments).run();
    if !has("--target") {
        let figures = fs::read_to_string(&table).map_err(|error| format!("{table_name}: {error}"))?;
        let docs = sh::root().join(DOCS);
        let text = fs::read_to_string(&docs).map_err(|error| format!("{DOCS}: {error}"))?;
        fs::write(&docs, between(&text, &figures)?).map_err(|error| format!("{DOCS}: {error}"))?;
        sh::say(&format!("figures are in {DOCS}"));
    }
    ran.map_err(|_| "something was not survived; its input is in crates/swdt-fuzz/corpus now".to_owned())
}

/// The text with these figures in the place of the old ones.
fn between(text: &str, figures: &str) -> Result<String> {
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{DOCS} has no place for figures"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", figures.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_figures_change() {
        let text = format!("# A\n{BEGIN}\nold\n{END}\nB\n");
        let once = between(&text, "new\n").unwrap();
        assert_eq!(once, format!("# A\n{BEGIN}\n\nnew\n\n{END}\nB\n"));
        assert_eq!(between(&once, "new\n").unwrap(), once);
        assert!(between("# A\n", "new").is_err());
    }
}

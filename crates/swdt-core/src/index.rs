//! Whatever has an id, errors and rules of the doctor, in one index: to be looked up, listed and read as a page.

use std::fmt::Write;

use crate::{
    Error, ErrorKind, Result,
    doctor::{self, Grade, Rule, Scope},
    error::{Entry, id},
    words,
};

const HEAD: &str = "# Errors

Every error of swdt has an id, which stands in brackets behind the word `error` and, with `--format json`, under `id`. It
never changes, so that scripts and people can refer to it. `swdt explain ID` prints in a terminal what is said here; this
page is made from the same list. The kind of an error decides the exit code. With `--format json` an
error is one JSON document on standard error; only `command-line` is always text, for nothing of the line was understood.
";

const RULES: &str = "## Rules of the doctor

A run that stops at what `swdt doctor` would find ends with the id of the rule. [Troubleshooting](../troubleshooting.md)
has all about them.
";

/// Everything that has an id.
pub fn entries() -> impl Iterator<Item = Entry> {
    id::all().copied().chain(doctor::rules().map(Rule::entry))
}

/// The one of that id, or the guess what was meant.
pub fn find(id: &str) -> Result<Entry> {
    entries().find(|entry| entry.id == id).ok_or_else(|| {
        let error = Error::new(id::NAME_UNKNOWN, format!("there is no error and no rule `{id}`"));
        let ids = || entries().map(|entry| entry.id);
        let within = ids().filter(|other| !id.is_empty() && other.contains(id)).take(5);
        let mut near: Vec<String> = within.map(|near| format!("`{near}`")).collect();
        if near.is_empty() {
            near.extend(words::nearest(id, ids()).map(|near| format!("`{near}`")));
        }
        if near.is_empty() {
            error.hinted("`swdt explain` lists them all")
        } else {
            error.hinted(format!("did you mean {}?", near.join(" or ")))
        }
    })
}

/// What sort of thing it is, in words.
pub fn sort(entry: &Entry) -> String {
    let (kind, code) = (entry.kind.words(), entry.kind.exit_code());
    let Some(rule) = rule(entry) else { return format!("{kind}, exit code {code}") };
    let sort = format!("rule of the doctor, {}", rule.grade.words());
    match (rule.grade, rule.can_stop()) {
        (Grade::Problem, _) => format!("{sort}, exit code {code}"),
        (_, true) => format!("{sort}; a problem, exit code {code}, where machines take more than is left"),
        (_, false) => sort,
    }
}

/// How bad it is, where it is a rule, unless the finding says otherwise.
pub fn grade(entry: &Entry) -> Option<Grade> {
    rule(entry).map(|rule| rule.grade)
}

fn rule(entry: &Entry) -> Option<&'static Rule> {
    doctor::rules().find(|rule| rule.id == entry.id)
}

/// All of them, below what sort they are.
pub fn list() -> Vec<(String, Vec<Entry>)> {
    let kinds = kinds().map(|kind| {
        let ours = id::all().filter(|entry| entry.kind == kind);
        (heading(kind), ours.copied().collect())
    });
    let scopes = Scope::ALL.iter().map(|scope| {
        let ours = doctor::rules().filter(|rule| rule.scope() == *scope);
        (format!("Rules about {}", scope.words()), ours.map(Rule::entry).collect())
    });
    kinds.chain(scopes).collect()
}

/// The page of all errors.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for kind in kinds() {
        let ours = || id::all().filter(|entry| entry.kind == kind);
        let _ = write!(page, "\n## {}\n\n", heading(kind));
        for entry in ours() {
            let _ = writeln!(page, "- [{}](#{}): {}", entry.id, entry.id, entry.title);
        }
        for entry in ours() {
            let _ = write!(page, "\n### {}\n\n{}", entry.id, entry.text(&sort(entry)));
        }
    }
    let _ = write!(page, "\n{RULES}\n");
    for rule in doctor::rules() {
        let _ = writeln!(page, "- [{}](../troubleshooting.md#{}): {}", rule.id, rule.id, rule.title);
    }
    page
}

/// In the order of the exit codes.
fn kinds() -> impl Iterator<Item = ErrorKind> {
    let mut kinds = ErrorKind::ALL.to_vec();
    kinds.sort_by_key(|kind| kind.exit_code());
    kinds.into_iter()
}

fn heading(kind: ErrorKind) -> String {
    format!("Exit code {}: {}", kind.exit_code(), kind.words())
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;
    use crate::error::On;

    /// Names that begin with a capital wherever they stand, and what is no word.
    const NAMES: &[&str] = &["Git", "Go", "Kubernetes", "QEMU", "Windows"];

    fn begins_like_a_message(text: &str) -> bool {
        let word: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
        let shouted = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
        !word.starts_with(|c: char| c.is_ascii_uppercase()) || shouted || NAMES.contains(&word.as_str())
    }

    #[test]
    fn ids_are_words_and_belong_to_one_thing() {
        let mut ids = BTreeSet::new();
        for Entry { id, .. } in entries() {
            assert!(ids.insert(id), "{id} is there twice");
            let word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
            assert!(id.split('-').all(word), "{id} must be an anchor of a page, in words");
        }
    }

    #[test]
    fn entries_speak_as_swdt_does() {
        for entry in id::all() {
            let Entry { id, title, cause, fix, .. } = entry;
            let all = [*title, *cause].into_iter().chain(fix.iter().map(|(_, step)| *step));
            for text in all {
                for bad in ["  ", "!", "please", "simply", "successful"] {
                    assert!(!text.contains(bad), "{id}: `{bad}` in `{text}`");
                }
                assert_eq!(text.matches('`').count() % 2, 0, "{id}: `{text}`");
            }
            assert!(cause.ends_with('.'), "{id}: {cause}");
            assert!(fix.iter().all(|(_, step)| !step.ends_with('.')), "{id}: {fix:?}");
            // What is for one system is a command, which begins as it must.
            let words = fix.iter().filter(|(on, _)| *on == On::Anywhere).map(|(_, step)| *step);
            for text in std::iter::once(*title).chain(words) {
                assert!(!text.ends_with('.') && begins_like_a_message(text), "{id}: {text}");
            }
        }
    }

    /// What is compiled into the programs: tests make errors as they like.
    fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
        for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.ends_with("tests") || path.ends_with("tests.rs") {
                continue;
            }
            if path.is_dir() {
                collect(&path, files);
            } else if path.extension().is_some_and(|it| it == "rs") {
                files.push(path);
            }
        }
    }

    /// What nothing makes is no error; and a constant is called like its id.
    #[test]
    fn every_entry_is_made_somewhere() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        for of in ["swdt", "swdt-core", "swdt-rehearsal", "swdt-wizard"] {
            collect(&crates.join(of).join("src"), &mut files);
        }
        let mut made = BTreeSet::new();
        for file in &files {
            let text = fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let name = |rest: &str| {
                rest.split(|c: char| c != '_' && !c.is_ascii_uppercase()).next().map(str::to_owned)
            };
            // Asking whether an error is one makes none.
            let code = code.replace(".is(id::", "");
            made.extend(code.split("id::").skip(1).filter_map(name));
        }
        let unmade: Vec<&str> = id::all()
            .map(|entry| entry.id)
            .filter(|id| !made.contains(&id.to_uppercase().replace('-', "_")))
            .collect();
        assert!(unmade.is_empty(), "nothing makes {unmade:?}");
    }

    #[test]
    fn what_is_meant_is_guessed() {
        let hint = |id: &str| find(id).unwrap_err().hints.join(" ");
        assert_eq!(hint("host-key-unkown"), "did you mean `host-key-unknown`?");
        assert_eq!(hint("kvm"), "did you mean `host-kvm`?");
        assert!(hint("host-key").contains("`host-key-unknown` or `host-key-changed` or "));
        assert_eq!(hint("qqqqqqqq"), "`swdt explain` lists them all");
        assert_eq!(find("disc-truncated").unwrap().kind, ErrorKind::Config);
    }

    #[test]
    fn whatever_ends_a_run_tells_its_exit_code() {
        let told = |id: &str| sort(&find(id).unwrap());
        assert_eq!(told("disc-truncated"), "configuration, exit code 3");
        assert_eq!(told("host-root"), "rule of the doctor, problem, exit code 4");
        let room =
            "rule of the doctor, warning; a problem, exit code 4, where machines take more than is left";
        assert_eq!((told("host-memory"), told("host-disk")), (room.to_owned(), room.to_owned()));
        assert_eq!(told("host-kvm"), "rule of the doctor, warning");
    }
}

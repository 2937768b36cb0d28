//! What a fingerprint does not look at: one file, one reason a line.

/// The reviewed file itself.
const TEXT: &str = include_str!("../../fingerprint-exclusions.txt");
const SYSCTL: &str = "sysctl:";
const BELOW: &str = "/**";

/// Paths and kernel settings that change by themselves.
#[derive(Debug, Clone)]
pub struct Exclusions {
    /// Pattern and reason.
    lines: Vec<(String, String)>,
}

impl Exclusions {
    /// Those of the crate.
    pub fn reviewed() -> Self {
        Self::parse(TEXT)
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let split = |line: &str| {
            let (pattern, reason) = line.split_once('\t').unwrap_or((line, ""));
            (pattern.to_owned(), reason.to_owned())
        };
        Self { lines: lines.map(split).collect() }
    }

    /// Is this path of a machine left out?
    pub fn path(&self, path: &str) -> bool {
        self.lines.iter().any(|(pattern, _)| match pattern.strip_suffix(BELOW) {
            Some(top) => path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/')),
            None => path == pattern,
        })
    }

    /// Is this kernel setting left out?
    pub fn sysctl(&self, key: &str) -> bool {
        self.lines
            .iter()
            .filter_map(|(pattern, _)| pattern.strip_prefix(SYSCTL))
            .any(|pattern| if pattern.ends_with('.') { key.starts_with(pattern) } else { key == pattern })
    }

    /// What is wrong with the file, by its own rules.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (number, (pattern, reason)) in self.lines.iter().enumerate() {
            let mut complain = |what: &str| problems.push(format!("{pattern}: {what}"));
            if reason.trim().len() < 6 {
                complain("a reason after one tab is needed");
            }
            if self.lines[..number].iter().any(|(earlier, _)| earlier == pattern) {
                complain("is there twice");
            }
            if let Some(key) = pattern.strip_prefix(SYSCTL) {
                if !key.trim_end_matches('.').contains('.') {
                    complain("a whole branch of settings is too much");
                }
                continue;
            }
            let plain = pattern.strip_suffix(BELOW).unwrap_or(pattern);
            if !plain.starts_with('/') || plain.ends_with('/') {
                complain("must be an absolute path without a slash at its end");
            }
            if plain.contains(['*', '?', '[']) {
                complain("globs are only allowed as /** at the end");
            }
            if plain != pattern && plain.split('/').skip(1).count() < 3 {
                complain("a glob must be at least three names deep");
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reviewed_file_keeps_its_own_rules() {
        assert_eq!(Exclusions::reviewed().problems(), Vec::<String>::new());
    }

    #[test]
    fn broken_rules_are_found() {
        let text = "/var/**\teverything varies\n/etc/*.conf\ttoo lazy\n/a/b\t\n/x/y/z/**\tfine, three deep\nvar/log\tnot absolute\nsysctl:net.\tall of it\n/x/y/z/**\tsaid twice\n";
        assert_eq!(Exclusions::parse(text).problems().len(), 6, "{:?}", Exclusions::parse(text).problems());
    }

    #[test]
    fn a_glob_means_below_and_a_path_means_itself() {
        let some = Exclusions::parse("/a/b/c/**\treason\n/a/d\treason\nsysctl:fs.quota.\treason\n");
        assert!(some.path("/a/b/c/x") && some.path("/a/d"));
        assert!(!some.path("/a/b/c") && !some.path("/a/d/e") && !some.path("/a/b/cx"));
        assert!(some.sysctl("fs.quota.reads") && !some.sysctl("fs.quota"));
    }
}

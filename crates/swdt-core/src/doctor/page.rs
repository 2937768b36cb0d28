//! The page of all rules, made from the rules.

use std::fmt::Write;

use super::{Grade, Look, RULES, Rule, Scope};

const HEAD: &str = "# Troubleshooting

`swdt doctor` looks at this host, at the machines of a file (`--config FILE`) and at a cluster that is there, and tells
all that it finds: the worst first, each with what was seen, why it is so, and how to mend it. `--fix` does what is safe,
after asking. This page has all its rules. It is made from them, as `swdt explain RULE` is. Of machines that are not made yet
it tells at what `swdt cluster create` would stop, in the same words: too little room is found by a rule, and an image or a
disc that cannot be used is told as [the error](reference/errors.md) that it would be.

A **problem** keeps something from working, a **warning** will, a **note** is good to know. With a problem the command ends
with the exit code of its kind (`swdt help exit-codes`): 4 for a host or a machine that lacks something, 7 for one that does
not let us in, 3 for versions that do not go together and for images, 9 for a cluster; otherwise with 0.
";

/// The whole page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for scope in Scope::ALL {
        let _ = write!(page, "\n## {}\n\n", heading(*scope));
        let ours = || RULES.iter().copied().flatten().filter(|rule| rule.scope() == *scope);
        for rule in ours() {
            let _ = writeln!(page, "- [{}](#{}): {}", rule.id, rule.id, rule.title);
        }
        for rule in ours() {
            let _ = write!(page, "\n### {}\n\n{}", rule.id, text(rule));
        }
    }
    page
}

fn text(rule: &Rule) -> String {
    let words = rule.grade.words();
    match rule.look {
        Look::Room(_) => {
            rule.entry().text(&format!("{words}; a problem where machines take more than is left"))
        }
        _ => rule.entry().text(words),
    }
}

fn heading(scope: Scope) -> &'static str {
    match scope {
        Scope::Host => "This host",
        Scope::Machine => "Machines",
        Scope::Cluster => "Clusters",
    }
}

impl Grade {
    /// The mark in front of it.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Problem => "✗",
            Self::Warning => "!",
            Self::Note => "·",
        }
    }
}

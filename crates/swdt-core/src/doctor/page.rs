//! The page of all rules, made from the rules.

use std::fmt::Write;

use super::{Grade, On, RULES, Rule, Scope, rules};

const HEAD: &str = "# Troubleshooting

`swdt doctor` looks at this host, at the machines of a file (`--config FILE`) and at a cluster that is there, and tells
all that it finds: the worst first, each with what was seen, why it is so, and how to mend it. `--fix` does what is safe,
after asking. This page has all its rules. It is made from them, as `swdt doctor --explain RULE` is.

A **problem** keeps something from working, a **warning** will, a **note** is good to know. With a problem the command ends
with the exit code of its kind (`swdt help exit-codes`): 4 for a host or a machine that lacks something, 7 for one that does
not let us in, 3 for versions that do not go together, 9 for a cluster; otherwise with 0.
";

/// How long lines may be.
const WIDTH: usize = 120;

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

/// The same of one rule, for a terminal.
pub fn explain(id: &str) -> Option<String> {
    rules().find(|rule| rule.id == id).map(|rule| format!("{}\n\n{}", rule.id, text(rule)))
}

fn text(rule: &Rule) -> String {
    let mut text = wrapped("", &format!("{} ({}). {}", upper(rule.title), rule.grade.words(), rule.cause));
    text.push('\n');
    for (on, run) in rule.fix {
        let line = match on {
            On::Anywhere => (*run).to_owned(),
            // What is a command as a whole has no marks of its own.
            on if run.contains('`') => format!("{}: {run}", on.words()),
            on => format!("{}: `{run}`", on.words()),
        };
        text.push_str(&wrapped("- ", &line));
    }
    text
}

/// Lines as long as those of other pages; what follows the first begins below the text.
fn wrapped(head: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut line = head.to_owned();
    for word in text.split(' ') {
        if line.chars().count() + word.chars().count() >= WIDTH {
            let _ = writeln!(lines, "{}", line.trim_end());
            line = " ".repeat(head.len());
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(lines, "{}", line.trim_end());
    lines
}

fn heading(scope: Scope) -> &'static str {
    match scope {
        Scope::Host => "This host",
        Scope::Machine => "Machines",
        Scope::Cluster => "Clusters",
    }
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
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

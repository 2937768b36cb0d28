//! What was mistyped, and what was probably meant. clap guesses words that are nearly right; here are those that are right
//! in another place, or the words of other tools.

use std::path::Path;

use clap::{
    Command, CommandFactory, Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use swdt_core::words;

use crate::args::Cli;

/// What other tools call it, and what it is called here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["up", "init", "new", "apply", "make", "bootstrap"], "cluster create"),
    (&["down", "delete", "rm", "remove", "reset", "purge"], "cluster destroy"),
    (&["ls", "ps", "clusters"], "cluster list"),
    (&["info", "describe"], "cluster status"),
    (&["upgrade"], "cluster update"),
    (&["ssh", "sh", "login"], "node shell"),
    (&["run"], "node exec"),
    (&["wizard", "generate"], "config create"),
    (&["check", "lint"], "config validate"),
    (&["kubeconfig"], "get kubeconfig"),
    (&["build"], "source build"),
];

/// Files are made, or need not be.
const NO_FILE: [&str; 2] = [
    "`swdt config create --output my-cluster.yaml` asks, and writes such a file",
    "`swdt quickstart` needs none",
];

/// The error, with what to type instead where that can be told.
pub(crate) fn helped(mut error: Error) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(" ")),
        _ => None,
    };
    let tips = match error.kind() {
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            text(ContextKind::InvalidSubcommand).map(|word| meant(&word)).unwrap_or_default()
        }
        ErrorKind::UnknownArgument => {
            let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
            text(ContextKind::InvalidArg).map(|word| misplaced(&word, &usage)).unwrap_or_default()
        }
        ErrorKind::MissingRequiredArgument
            if text(ContextKind::InvalidArg).is_some_and(|missing| missing.contains("--config")) =>
        {
            NO_FILE.map(ToOwned::to_owned).to_vec()
        }
        _ => Vec::new(),
    };
    if !tips.is_empty() {
        let tips = tips.into_iter().map(StyledStr::from).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Commands that end with this word, are called so elsewhere, or nearly so.
fn meant(word: &str) -> Vec<String> {
    let all = every_command();
    let elsewhere = ELSEWHERE.iter().filter(|(words, _)| words.contains(&word));
    let mut found: Vec<String> = elsewhere.map(|(_, command)| (*command).to_owned()).collect();
    found.extend(all.iter().filter(|command| command.rsplit(' ').next() == Some(word)).cloned());
    if found.is_empty() {
        let lasts = all.iter().filter_map(|command| command.rsplit(' ').next());
        let near = words::nearest(word, lasts).map(ToOwned::to_owned);
        found = near.map_or_else(Vec::new, |near| all.into_iter().filter(|it| it.ends_with(&near)).collect());
    }
    found.iter().map(|command| format!("did you mean `swdt {command}`?")).collect()
}

/// An argument that is right, but not there.
fn misplaced(word: &str, usage: &str) -> Vec<String> {
    let takes_config = usage.contains("--config");
    match word {
        "--config" | "-c" if usage.contains("<FILE>") && !takes_config => {
            vec!["here the file stands alone, without `--config`".to_owned()]
        }
        "--config" | "-c" => {
            vec!["it stands behind its command: `swdt cluster create --config FILE`".to_owned()]
        }
        file if takes_config && is_yaml(file) => vec![format!("a file is given with `--config {file}`")],
        _ => Vec::new(),
    }
}

/// Is it called as files of clusters are?
pub(crate) fn is_yaml(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// All commands that do something, as they are typed behind `swdt`.
fn every_command() -> Vec<String> {
    fn walk(command: &Command, before: &str, all: &mut Vec<String>) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let words = format!("{before}{}", command.get_name());
            if command.has_subcommands() {
                walk(command, &format!("{words} "), all);
            } else {
                all.push(words);
            }
        }
    }
    let mut all = Vec::new();
    walk(&Cli::command(), "", &mut all);
    all
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn told(words: &str) -> String {
        let error = Cli::try_parse_from(words.split(' ')).unwrap_err();
        helped(error).render().to_string()
    }

    #[test]
    fn what_was_meant_is_guessed() {
        for (typed, tip) in [
            ("swdt create", "tip: did you mean `swdt cluster create`?"),
            ("swdt create", "tip: did you mean `swdt config create`?"),
            ("swdt status", "tip: did you mean `swdt cluster status`?"),
            ("swdt stauts", "tip: did you mean `swdt cluster status`?"),
            ("swdt up", "tip: did you mean `swdt cluster create`?"),
            ("swdt cluster delete", "tip: did you mean `swdt cluster destroy`?"),
            ("swdt cluster create", "tip: `swdt quickstart` needs none"),
            ("swdt cluster create lab.yaml", "tip: a file is given with `--config lab.yaml`"),
            ("swdt --config lab.yaml cluster create", "tip: it stands behind its command"),
            ("swdt config validate --config lab.yaml", "tip: here the file stands alone"),
        ] {
            let told = told(typed);
            assert!(told.contains(tip), "{typed}: {told}");
        }
    }

    #[test]
    fn what_is_called_otherwise_elsewhere_is_there() {
        let all = every_command();
        for (words, command) in ELSEWHERE {
            assert!(all.contains(&(*command).to_owned()), "{command}");
            for word in *words {
                let ours = Cli::command().find_subcommand(word).is_some();
                assert!(!ours, "`{word}` is a command of its own");
            }
        }
    }
}

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

/// The same behind these commands, where another thing is meant by the word.
const BEHIND: &[(&str, &[&str], &str)] = &[
    ("cluster", &["ssh", "sh", "login"], "node shell"),
    ("cluster snapshot", &["rm", "remove"], "cluster snapshot delete"),
    ("cluster snapshot", &["ls"], "cluster snapshot list"),
    ("config", &["new", "init"], "config create"),
    ("node", &["rm", "remove", "delete"], "cluster update --config FILE --prune NODE"),
    ("node", &["ls", "list"], "get nodes"),
    ("source", &["rm", "remove", "delete"], "source prune"),
    ("source", &["ls"], "source list"),
];

/// Commands whose subcommands work on a cluster that is there, which is meant by its name.
const OF_A_CLUSTER: [&str; 6] = ["cluster", "get", "image", "kubectl", "node", "test"];

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
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let tips = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let mut commands = exactly(&word, &command(&usage));
            if !commands.is_empty() {
                // What is known is better than what looks alike.
                error.remove(ContextKind::SuggestedSubcommand);
            } else if error.get(ContextKind::SuggestedSubcommand).is_none() {
                commands = nearly(&word);
            }
            commands.iter().map(|command| format!("did you mean `swdt {command}`?")).collect()
        }
        ErrorKind::UnknownArgument => {
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

/// The command that a usage is of, without `swdt`: `Usage: swdt node [OPTIONS] <COMMAND>` is of `node`.
fn command(usage: &str) -> String {
    let words = usage.split_whitespace().skip_while(|word| *word != "swdt").skip(1);
    words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect::<Vec<_>>().join(" ")
}

/// Commands that are called so elsewhere, or end with this word. `above` is the command that it was typed behind.
fn exactly(word: &str, above: &str) -> Vec<String> {
    let behind = BEHIND.iter().find(|(command, words, _)| *command == above && words.contains(&word));
    if let Some((_, _, command)) = behind {
        return vec![(*command).to_owned()];
    }
    let fits = |command: &str| above.is_empty() || command.split(' ').next() == Some(above);
    let elsewhere = ELSEWHERE.iter().filter(|(words, command)| words.contains(&word) && fits(command));
    let mut found: Vec<String> = elsewhere.map(|(_, command)| (*command).to_owned()).collect();
    for command in every_command() {
        if last(&command) == word && !found.contains(&command) {
            found.push(command);
        }
    }
    found
}

/// Commands that end with a word which looks like this one.
fn nearly(word: &str) -> Vec<String> {
    let all = every_command();
    let near = words::nearest(word, all.iter().map(|command| last(command))).unwrap_or_default();
    all.iter().filter(|command| last(command) == near).cloned().collect()
}

fn last(command: &str) -> &str {
    command.rsplit(' ').next().unwrap_or_default()
}

/// An argument that is right, but not there.
fn misplaced(word: &str, usage: &str) -> Vec<String> {
    match word {
        "--config" | "-c" => without_config(usage).into_iter().collect(),
        file if usage.contains("--config") && is_yaml(file) => {
            vec![format!("a file is given with `--config {file}`")]
        }
        _ => Vec::new(),
    }
}

/// What to type where `--config` is not taken.
fn without_config(usage: &str) -> Option<String> {
    let (usage, command) = (usage.trim_end(), command(usage));
    if usage.contains("<FILE>") {
        return Some("here the file stands alone, without `--config`".to_owned());
    }
    if usage.ends_with("<COMMAND>") || command == "quickstart" {
        return Some("it stands behind its command: `swdt cluster create --config FILE`".to_owned());
    }
    if command == "cluster list" || !OF_A_CLUSTER.contains(&command.split(' ').next()?) {
        return None;
    }
    let named = if usage.ends_with("[NAME]") { "NAME" } else { "--cluster NAME" };
    Some(format!("a cluster that is there is meant by its name: `swdt {command} {named}`"))
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
            ("swdt cluster destroy --config lab.yaml", "by its name: `swdt cluster destroy NAME`"),
            ("swdt cluster status -c lab.yaml", "by its name: `swdt cluster status --cluster NAME`"),
            ("swdt node rm w1", "tip: did you mean `swdt cluster update --config FILE --prune NODE`?"),
            ("swdt node ls", "tip: did you mean `swdt get nodes`?"),
            ("swdt cluster ssh", "tip: did you mean `swdt node shell`?"),
            ("swdt cluster snapshot rm x", "tip: did you mean `swdt cluster snapshot delete`?"),
            ("swdt config new", "tip: did you mean `swdt config create`?"),
            ("swdt plan", "tip: did you mean `swdt cluster plan`?"),
        ] {
            let told = told(typed);
            assert!(told.contains(tip), "{typed}: {told}");
        }
    }

    /// Least of all one that destroys.
    #[test]
    fn what_was_not_meant_is_not_guessed() {
        for (typed, bad) in [
            ("swdt node rm w1", "destroy"),
            ("swdt node remove w1", "destroy"),
            ("swdt node reset w1", "destroy"),
            ("swdt cluster snapshot rm x", "destroy"),
            ("swdt source rm", "destroy"),
            ("swdt config init", "cluster create"),
            ("swdt node ls", "cluster list"),
            ("swdt strat", "quickstart"),
            ("swdt make", "similar"),
            ("swdt cluster ssh", "similar"),
            ("swdt cluster destroy --config lab.yaml", "create"),
            ("swdt catalog --config lab.yaml", "tip:"),
        ] {
            let told = told(typed);
            assert!(!told.contains(bad), "{typed}: {told}");
        }
        assert_eq!(told("swdt kubeconfig").matches("tip:").count(), 1);
    }

    #[test]
    fn what_is_called_otherwise_elsewhere_is_there() {
        let all = every_command();
        for (words, command) in ELSEWHERE {
            assert!(all.contains(&(*command).to_owned()), "{command}");
            for word in *words {
                let told = told(&format!("swdt {word}"));
                assert!(told.contains(&format!("tip: did you mean `swdt {command}`?")), "{word}: {told}");
            }
        }
        for (above, words, command) in BEHIND {
            assert!(all.iter().any(|known| command.starts_with(known)), "{command}");
            for word in *words {
                let told = told(&format!("swdt {above} {word}"));
                assert!(
                    told.contains(&format!("tip: did you mean `swdt {command}`?")),
                    "{above} {word}: {told}"
                );
            }
        }
    }
}

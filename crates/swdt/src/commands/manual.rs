//! `swdt help` and `swdt man`: the help of a command, topics, and manual pages.

use std::{fs, path::Path};

use clap::CommandFactory;
use swdt_core::{Error, Result, id, index, words};

use crate::{args::Cli, out};

/// What a person wants to do, in a screenful. The first line of a text is its title.
const TOPICS: &[(&str, &str)] = &[
    ("first-cluster", include_str!("../topics/first-cluster.txt")),
    ("machines", include_str!("../topics/machines.txt")),
    ("virtual-machines", include_str!("../topics/virtual-machines.txt")),
    ("windows", include_str!("../topics/windows.txt")),
    ("own-builds", include_str!("../topics/own-builds.txt")),
    ("offline", include_str!("../topics/offline.txt")),
    ("trouble", include_str!("../topics/trouble.txt")),
    ("environment", include_str!("../topics/environment.txt")),
    ("exit-codes", include_str!("../topics/exit-codes.txt")),
];

/// Prints a topic, the list of them, or the help of the command that the words name.
pub(super) fn help(words: &[String]) -> Result<()> {
    match words {
        [topics] if topics == "topics" => out::line(&list()),
        [topic] if text(topic).is_some() => out::line(text(topic).unwrap_or_default().trim_end()),
        words => out::line(page(command(words)?).ansi().to_string().trim_end()),
    }
    Ok(())
}

/// As `--help` prints it.
fn page(mut command: clap::Command) -> clap::builder::StyledStr {
    if command.get_long_about().is_some() { command.render_long_help() } else { command.render_help() }
}

fn list() -> String {
    let width = TOPICS.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let title = |text: &'static str| text.lines().next().unwrap_or_default();
    let lines = TOPICS.iter().map(|(name, text)| format!("  {name:width$}  {}", title(text)));
    format!(
        "Topics, each a screenful:\n{}\n\n`swdt help TOPIC` prints one.",
        lines.collect::<Vec<_>>().join("\n")
    )
}

fn text(topic: &str) -> Option<&'static str> {
    TOPICS.iter().find(|(name, _)| *name == topic).map(|(_, text)| *text)
}

fn command(words: &[String]) -> Result<clap::Command> {
    let mut command = Cli::command();
    // So that what every command takes is in the help of each.
    command.build();
    let mut command = &command;
    for word in words {
        command = command.find_subcommand(word).ok_or_else(|| {
            let known = command.get_subcommands().filter(|below| !below.is_hide_set());
            let known: Vec<&str> = known.map(clap::Command::get_name).collect();
            let message = match known.as_slice() {
                [] => format!("`{}` has no commands below it", command.get_name()),
                _ => format!("`{word}` is no command and no topic"),
            };
            let error = Error::new(id::NAME_UNKNOWN, message);
            if index::find(word).is_ok() {
                return error.hinted(format!("`swdt explain {word}` tells about this error or rule"));
            }
            let topics = TOPICS.iter().map(|(name, _)| *name).chain(["topics"]);
            match words::nearest(word, known.into_iter().chain(topics)) {
                Some(near) => error.hinted(format!("did you mean `{near}`?")),
                None => error.hinted("`swdt --help` lists commands, `swdt help topics` topics"),
            }
        })?;
    }
    Ok(command.clone())
}

/// Writes a page for swdt and for each of its commands.
pub(super) fn pages(dir: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::new(id::OUTPUT_NOT_WRITTEN, format!("cannot write manual pages to {}: {error}", dir.display()))
            .hinted("name a directory that you may write to")
    };
    fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(failed)
}

#[cfg(test)]
#[path = "../../tests/common/pages.rs"]
mod pages;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use swdt_core::ErrorKind;

    #[test]
    fn topics_fit_a_terminal() {
        for (topic, text) in TOPICS {
            assert!(text.lines().all(|line| line.len() <= 72), "{topic} is wider than 72");
        }
    }

    /// Most of it is also run (`tests/common/pages.rs`); this finds what nobody can run here.
    #[test]
    fn what_pages_tell_to_type_can_be_typed() {
        let commands: Vec<_> =
            pages::lines().into_iter().filter_map(|line| Some((pages::words(&line.text)?, line))).collect();
        for (words, line) in &commands {
            let (page, text) = (&line.page, &line.text);
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{page}: `{text}`: {error}"));
        }
        assert!(commands.len() > 100, "only {} commands were found", commands.len());
    }

    #[test]
    fn examples_of_helps_can_be_typed() {
        fn examples(command: &clap::Command, found: &mut Vec<String>) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            found.extend(pages::commands(&text));
            command.get_subcommands().for_each(|below| examples(below, found));
        }
        let mut lines = Vec::new();
        examples(&Cli::command(), &mut lines);
        let commands: Vec<_> = lines.iter().filter_map(|line| pages::words(line)).collect();
        for words in &commands {
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("`{}`: {error}", words.join(" ")));
        }
        assert!(commands.len() > 50, "only {} examples were found", commands.len());
    }

    /// Commands in what is said about errors and rules.
    #[test]
    fn what_the_index_tells_to_type_can_be_typed() {
        let mut count = 0;
        for entry in index::entries() {
            for (_, step) in entry.fix {
                // Names are of lower case where somebody looks.
                let step = step.replace("NAME", "name");
                let marked = step.split('`').skip(1).step_by(2);
                for words in marked.flat_map(pages::commands).filter_map(|line| pages::words(&line)) {
                    let line = words.join(" ");
                    Cli::try_parse_from(&words)
                        .unwrap_or_else(|error| panic!("{}: `{line}`: {error}", entry.id));
                    count += 1;
                }
            }
        }
        assert!(count > 60, "only {count} commands were found");
    }

    #[test]
    fn every_exit_code_has_a_line() {
        let text = text("exit-codes").unwrap();
        for kind in ErrorKind::ALL {
            let word = serde_json::to_value(kind).expect("a kind is a word");
            let line = [kind.exit_code().to_string(), word.as_str().expect("a kind is a word").to_owned()];
            let told = text.lines().any(|other| other.split_whitespace().take(2).eq(line.iter()));
            assert!(told, "{line:?} is missing");
        }
    }

    #[test]
    fn what_is_meant_is_guessed() {
        let hint = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            help(&words).unwrap_err().hints.join(" ")
        };
        assert_eq!(hint(&["ofline"]), "did you mean `offline`?");
        assert_eq!(hint(&["cluster", "creat"]), "did you mean `create`?");
        assert!(hint(&["qqqq"]).contains("topics"));
        assert!(hint(&["disk-full"]).contains("`swdt explain disk-full`"));
    }
}

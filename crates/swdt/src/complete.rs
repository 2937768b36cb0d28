//! What a shell offers when Tab is pressed: commands and options as clap knows them, and names that are here now.
//!
//! The script that `swdt completions` prints asks this very program, with the line as it is typed. Whatever goes wrong
//! then is silence: nobody wants to read an error in the middle of a line.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::CommandFactory;
use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::Shells,
};
use swdt_core::{Result, config, index, run, state::Dirs};

use crate::{
    args::{Cli, Global},
    host,
};

/// Set by the script of the shell; to the shell's name.
const VARIABLE: &str = "SWDT_COMPLETE";

type Names = fn(&Words) -> Result<BTreeSet<String>>;

/// Whose values are names that are here now: the command above, the argument, and who knows the names. No command is
/// any command.
const LIVE: &[(&str, &str, Names)] = &[
    ("", "cluster", clusters),
    ("destroy", "name", clusters),
    ("shell", "name", nodes),
    ("exec", "name", nodes),
    ("logs", "name", nodes),
    ("start", "name", nodes),
    ("stop", "name", nodes),
    ("console", "name", nodes),
    ("screenshot", "name", nodes),
    ("replace", "name", nodes),
    ("load", "nodes", nodes),
    ("", "prune", nodes),
    ("", "force_forget", nodes),
    ("restore", "name", snapshots),
    ("delete", "name", snapshots),
    ("explain", "field", fields),
    ("explain", "ids", |_| Ok(index::entries().map(|entry| entry.id.to_owned()).collect())),
];

/// If a shell asks, answers it and ends; otherwise nothing.
pub(crate) fn answer() {
    CompleteEnv::with_factory(|| live(Cli::command())).var(VARIABLE).complete();
}

/// The script that makes a shell ask.
pub(crate) fn script(shell: clap_complete::Shell) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string());
    let known = known.ok_or_else(|| std::io::Error::other(format!("no completions for {shell}")))?;
    known.write_registration(VARIABLE, "swdt", "swdt", &host::program(), &mut script)?;
    Ok(script)
}

/// The same commands, with names that are here now.
fn live(command: clap::Command) -> clap::Command {
    let above = command.get_name().to_owned();
    let command = command.mut_args(|argument| {
        let known = |(command, id, _): &&(&str, &str, Names)| {
            (command.is_empty() || *command == above) && *id == argument.get_id().as_str()
        };
        match LIVE.iter().find(known) {
            Some((.., names)) => argument.add(ArgValueCompleter::new(|typed: &OsStr| offer(*names, typed))),
            None => argument,
        }
    });
    command.mut_subcommands(live)
}

fn offer(names: Names, typed: &OsStr) -> Vec<CompletionCandidate> {
    let names = names(&Words::typed()).unwrap_or_default();
    let typed = typed.to_string_lossy();
    names.into_iter().filter(|name| name.starts_with(typed.as_ref())).map(CompletionCandidate::new).collect()
}

/// The words of the line that say which cluster is meant, and where clusters are.
struct Words {
    global: Global,
    /// The word that is being typed.
    last: String,
}

impl Words {
    fn typed() -> Self {
        // The script calls with `-- swdt …`; what stands behind is the line.
        Self::of(&std::env::args_os().skip_while(|word| word != "--").skip(2).collect::<Vec<_>>())
    }

    fn of(line: &[OsString]) -> Self {
        let value = |option: &str| {
            let with = format!("{option}=");
            line.iter().enumerate().find_map(|(place, word)| {
                let word = word.to_string_lossy();
                match word.strip_prefix(&with) {
                    Some(value) => Some(value.to_owned()),
                    None if word == option => Some(line.get(place + 1)?.to_string_lossy().into_owned()),
                    None => None,
                }
            })
        };
        let global = Global {
            cluster: value("--cluster"),
            data_dir: value("--data-dir").map(PathBuf::from),
            cache_dir: None,
            quiet: false,
            verbose: false,
        };
        let last = line.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        Self { global: global.or_environment(), last }
    }

    fn dirs(&self) -> Result<Dirs> {
        host::dirs(&self.global)
    }

    /// The cluster that is named, or all there are.
    fn meant(&self) -> Result<Vec<String>> {
        let all = self.dirs()?.clusters()?;
        Ok(match &self.global.cluster {
            Some(name) => all.into_iter().filter(|other| other == name).collect(),
            None => all,
        })
    }
}

fn clusters(words: &Words) -> Result<BTreeSet<String>> {
    Ok(words.dirs()?.clusters()?.into_iter().collect())
}

fn nodes(words: &Words) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for cluster in words.meant()? {
        // One that cannot be read keeps nothing from the others.
        let spec = words.dirs()?.cluster(&cluster).load_spec();
        names.extend(spec.into_iter().flat_map(|spec| spec.nodes).map(|node| node.name));
    }
    Ok(names)
}

fn snapshots(words: &Words) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for cluster in words.meant()? {
        let there = run::snapshots(&words.dirs()?, &cluster);
        names.extend(there.into_iter().flat_map(|(list, _)| list).map(|snapshot| snapshot.name.to_string()));
    }
    Ok(names)
}

/// Fields of the configuration file, by their paths: those beside the one that is typed, and those below them.
fn fields(words: &Words) -> Result<BTreeSet<String>> {
    let typed = words.last.as_str();
    let above = typed.rsplit_once('.').map_or("", |(above, _)| above);
    let mut names = BTreeSet::new();
    for beside in below(above)? {
        if beside == typed {
            names.extend(below(&beside)?);
        }
        names.insert(beside);
    }
    Ok(names)
}

fn below(path: &str) -> Result<Vec<String>> {
    let keys = config::explain(path)?.fields.into_iter().map(|below| below.key);
    Ok(keys.map(|key| if path.is_empty() { key } else { format!("{path}.{key}") }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_a_command_that_is_there() {
        fn has(command: &clap::Command, above: &str, id: &str) -> bool {
            let here = above.is_empty() || command.get_name() == above;
            here && command.get_arguments().any(|argument| argument.get_id() == id)
                || command.get_subcommands().any(|below| has(below, above, id))
        }
        for (above, id, _) in LIVE {
            assert!(has(&Cli::command(), above, id), "no command `{above}` takes `{id}`");
        }
    }

    #[test]
    fn the_line_tells_which_cluster_is_meant() {
        let of = |line: &[&str]| Words::of(&line.iter().map(OsString::from).collect::<Vec<_>>()).global;
        assert_eq!(of(&["node", "start", "--cluster", "a", ""]).cluster.as_deref(), Some("a"));
        assert_eq!(of(&["--cluster=b", "node"]).cluster.as_deref(), Some("b"));
        assert_eq!(of(&["--data-dir", "/x"]).data_dir, Some(PathBuf::from("/x")));
    }

    #[test]
    fn fields_are_offered_a_step_at_a_time() {
        let offered = |typed: &str| {
            let line = ["config", "explain", typed].map(OsString::from);
            fields(&Words::of(&line)).unwrap()
        };
        assert!(offered("").contains("network") && !offered("").contains("network.podCIDR"));
        assert!(offered("network").contains("network.podCIDR"), "{:?}", offered("network"));
        assert!(offered("nodes.conn").contains("nodes.connection"));
    }
}

//! `swdt kubectl`: kubectl runs on the control plane, but files, streams and the terminal are of this host.

use std::{
    fs,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use swdt_core::{Error, Result, id, run};

use super::{
    block_on, chosen,
    streams::{self, Input},
};
use crate::{args::Global, host};

/// What cannot work from afar, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cp", "it would copy files of the control plane"),
    ("port-forward", "it would listen on the control plane"),
    ("proxy", "it would listen on the control plane"),
];
/// Flags that name files of this host which kubectl cannot see, besides `-f`.
const LOCAL: &[&str] = &["--from-file", "--from-env-file", "--kustomize", "-k"];
/// Global flags of kubectl whose value may be the next word.
const WITH_VALUE: &[&str] =
    &["-n", "--namespace", "--context", "--cluster", "--user", "-s", "--server", "--as"];

const OWN_KUBECTL: &str =
    "a kubectl on this host can: `swdt get kubeconfig --merge --use` gives it the cluster";

pub(super) fn run(global: &Global, arguments: Vec<String>) -> Result<u8> {
    let asked = Asked::read(arguments)?;
    let input = asked.input(&mut io::stdin())?;
    let terminal = asked.terminal && io::stdin().is_terminal() && io::stdout().is_terminal();
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    block_on(async {
        let kube = run::kube(&host, &spec).await?;
        let term = streams::term();
        let running =
            kube.start(&asked.arguments, terminal.then(|| (term.as_str(), streams::size()))).await?;
        if terminal { streams::converse(running).await } else { streams::pump(running, input).await }
    })
}

/// What is asked of kubectl, as it will be asked there.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    arguments: Vec<String>,
    /// Files of this host, instead of standard input.
    files: Vec<PathBuf>,
    recursive: bool,
    /// kubectl reads standard input.
    reads: bool,
    /// It would like a terminal.
    terminal: bool,
}

impl Asked {
    fn read(arguments: Vec<String>) -> Result<Self> {
        let mut asked = Self::default();
        let verb = verb(&arguments);
        if let Some((verb, why)) = ELSEWHERE.iter().find(|(name, _)| verb.as_deref() == Some(name)) {
            let message = format!("`kubectl {verb}` cannot be used like this: {why}");
            return Err(Error::new(id::KUBECTL_ELSEWHERE, message).hinted(OWN_KUBECTL));
        }
        asked.terminal = verb.as_deref() == Some("edit");
        // There `-f` follows the log.
        let logs = verb.as_deref() == Some("logs");
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                asked.arguments.push(word);
                asked.arguments.extend(words.by_ref());
                break;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None if !logs && word.starts_with("-f") && word.len() > 2 => {
                    ("-f".to_owned(), Some(word[2..].to_owned()))
                }
                None => (word.clone(), None),
            };
            if LOCAL.contains(&flag.as_str()) {
                let message = format!(
                    "`{flag}` names files, and kubectl on the control plane cannot see those of this host"
                );
                return Err(Error::new(id::KUBECTL_ELSEWHERE, message).hinted(OWN_KUBECTL));
            }
            match flag.as_str() {
                "-f" | "--filename" if !logs => {
                    let file = value.or_else(|| words.next());
                    match file.as_deref() {
                        Some("-") => {
                            asked.reads = true;
                            asked.arguments.push("--filename=-".to_owned());
                        }
                        // The control plane may reach it; kubectl says if not.
                        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                            asked.arguments.push(format!("--filename={url}"));
                        }
                        Some(file) => asked.file(Path::new(file))?,
                        None => asked.arguments.push(word),
                    }
                }
                "-R" | "--recursive" => asked.recursive = value.as_deref() != Some("false"),
                _ => {
                    let short = |letters: &str| {
                        word.len() > 1
                            && word.starts_with('-')
                            && !word.starts_with("--")
                            && word[1..].chars().all(|c| letters.contains(c))
                    };
                    asked.terminal |= flag == "--tty" || (short("it") && word.contains('t'));
                    asked.reads |= flag == "--stdin"
                        || (short("it") && word.contains('i'))
                        || word == "-"
                        || word.contains("/dev/stdin");
                    asked.arguments.push(word);
                }
            }
        }
        if asked.reads && !asked.files.is_empty() {
            return Err(Error::new(
                id::ARGUMENTS_CONFLICT,
                "files and standard input cannot be given at once",
            )
            .hinted("use two commands"));
        }
        Ok(asked)
    }

    /// The first file takes the place of standard input; the others join it there.
    fn file(&mut self, path: &Path) -> Result<()> {
        if !path.exists() {
            return Err(Error::new(id::INPUT_UNREADABLE, format!("there is no file {}", path.display()))
                .hinted("files are looked for on this host, not on the control plane"));
        }
        if self.files.is_empty() {
            self.arguments.push("--filename=-".to_owned());
        }
        self.files.push(path.to_owned());
        Ok(())
    }

    fn input(&self, stdin: &mut impl Read) -> Result<Input> {
        if self.files.is_empty() {
            return Ok(if self.reads { Input::Ours } else { Input::None });
        }
        let mut all = Vec::new();
        for path in &self.files {
            for file in manifests(path, self.recursive)? {
                let pipe = file == Path::new("/dev/stdin");
                let mut bytes = Vec::new();
                let read = if pipe {
                    stdin.read_to_end(&mut bytes)
                } else {
                    fs::File::open(&file).and_then(|mut file| file.read_to_end(&mut bytes))
                };
                read.map_err(|error| unreadable(&file, &error))?;
                if !all.is_empty() {
                    all.extend(b"\n---\n");
                }
                all.extend(bytes);
            }
        }
        Ok(Input::Bytes(all))
    }
}

/// The first word that is no flag.
fn verb(arguments: &[String]) -> Option<String> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word.clone());
        }
    }
    None
}

/// A file itself; of a directory what kubectl takes, in order.
fn manifests(path: &Path, recursive: bool) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        entries.push(entry.map_err(|error| unreadable(path, &error))?.path());
    }
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        let extension = entry.extension().and_then(|extension| extension.to_str());
        if entry.is_dir() {
            if recursive {
                found.extend(manifests(&entry, true)?);
            }
        } else if matches!(extension, Some("yaml" | "yml" | "json")) {
            found.push(entry);
        }
    }
    Ok(found)
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(id::INPUT_UNREADABLE, format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Asked> {
        Asked::read(line.split_whitespace().map(ToOwned::to_owned).collect())
    }

    fn bytes(asked: &Asked) -> String {
        match asked.input(&mut io::empty()).unwrap() {
            Input::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            _ => panic!("no bytes: {asked:?}"),
        }
    }

    #[test]
    fn what_is_no_file_passes_unchanged() {
        for line in [
            "get pods -A -o wide",
            "logs -f my-pod",
            "-n x logs -f -c web my-pod",
            "exec my-pod -- sh -f /etc/passwd -t",
            "rollout status deploy/x --timeout=5s",
            "describe node w1",
        ] {
            let asked = read(line).unwrap();
            assert_eq!(asked.arguments.join(" "), line);
            assert!(!asked.reads && !asked.terminal && asked.files.is_empty(), "{asked:?}");
        }
    }

    #[test]
    fn terminals_and_standard_input_are_asked_for() {
        for line in ["exec -it p -- sh", "run -ti --rm x", "exec --stdin --tty p -- sh", "exec -i -t p"] {
            let asked = read(line).unwrap();
            assert!(asked.reads && asked.terminal, "{asked:?}");
        }
        assert!(read("edit deploy/x").unwrap().terminal);
        assert!(!read("exec p -- tty -it").unwrap().terminal);
        for line in ["apply -f -", "apply -f- --server-side", "create --filename=-", "create secret x -i"] {
            assert!(read(line).unwrap().reads, "{line}");
        }
    }

    #[test]
    fn files_of_this_host_become_standard_input() {
        let temp = tempfile::tempdir().unwrap();
        let (one, dir) = (temp.path().join("one.yaml"), temp.path().join("dir"));
        fs::create_dir_all(dir.join("deep")).unwrap();
        for (path, text) in [
            (&one, "1"),
            (&dir.join("b.yml"), "3"),
            (&dir.join("a.json"), "2"),
            (&dir.join("notes"), "no"),
            (&dir.join("deep/c.yaml"), "4"),
        ] {
            fs::write(path, text).unwrap();
        }
        let (one, dir) = (one.display(), dir.display());
        let asked = read(&format!("apply -f {one} --filename={dir} --server-side")).unwrap();
        assert_eq!(asked.arguments, ["apply", "--filename=-", "--server-side"]);
        assert_eq!(bytes(&asked), "1\n---\n2\n---\n3");
        assert_eq!(bytes(&read(&format!("apply -R -f{dir}")).unwrap()), "2\n---\n3\n---\n4");
        assert!(read(&format!("apply -f {one} -f -")).unwrap_err().message.contains("at once"));
        assert!(read("apply -f nowhere.yaml").unwrap_err().message.contains("no file nowhere.yaml"));
        assert_eq!(read("apply -f https://x/y.yaml").unwrap().arguments[1], "--filename=https://x/y.yaml");
    }

    #[test]
    fn what_cannot_work_from_afar_says_so() {
        for line in
            ["cp a p:/a", "-n x port-forward p 80", "apply -k .", "create cm x --from-file=a", "proxy"]
        {
            let error = read(line).unwrap_err();
            assert_eq!(error.id(), "kubectl-elsewhere", "{line}");
            assert!(error.hints[0].contains("get kubeconfig"), "{line}");
        }
    }
}

//! Programs by argument vector, and the places where things lie.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What went wrong, for people.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// Prints a line.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
    let _ = std::io::stdout().flush();
}

/// The root of the clone.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the clone")
}

/// What is dear to build outlives the clone here.
pub(crate) fn cache() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("SWDT_CACHE_DIR")
        .or_else(|| named("XDG_CACHE_HOME").map(|dir| dir.join("swdt")))
        .or_else(|| named("HOME").map(|dir| dir.join(".cache/swdt")))
        .unwrap_or_else(|| root().join("target/cache"))
}

/// Where cargo builds. Shared by all clones: dependencies are the same for all of them.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| cache().join("target"), PathBuf::from)
}

/// A program to run in the root of the clone.
pub(crate) struct Sh(Command);

/// Any program.
pub(crate) fn command(program: &str) -> Sh {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    Sh(command)
}

/// cargo, building into the shared directory.
pub(crate) fn cargo(arguments: &[&str]) -> Sh {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut sh = command(&cargo).args(arguments);
    sh.0.env("CARGO_TARGET_DIR", target()).env("SWDT_CACHE_DIR", cache());
    // For the feature `embed-agents`.
    sh.0.env("SWDT_AGENTS_DIR", target().join("debug"));
    // Gigabytes that a fresh clone could not use.
    if std::env::var_os("CI").is_some() {
        sh.0.env("CARGO_INCREMENTAL", "0");
    }
    // Backtraces would end up in the messages that tests compare.
    sh.0.env("RUST_BACKTRACE", "0");
    sh
}

impl Sh {
    pub(crate) fn args(mut self, arguments: &[&str]) -> Self {
        self.0.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Lets it read what is typed.
    pub(crate) fn with_stdin(mut self) -> Self {
        self.0.stdin(Stdio::inherit());
        self
    }

    /// Runs it, with its output on ours.
    pub(crate) fn run(mut self) -> Result<()> {
        let status = self.0.status().map_err(|error| self.failed(&error.to_string()))?;
        if status.success() { Ok(()) } else { Err(self.failed(&status.to_string())) }
    }

    /// Runs it and gives what it printed; its complaints are dropped.
    pub(crate) fn read(mut self) -> Result<String> {
        let output = self.0.output().map_err(|error| self.failed(&error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(text) } else { Err(self.failed(&output.status.to_string())) }
    }

    /// Runs it, passing on and showing to `watch` every line it prints on either stream, in order; says
    /// whether it succeeded.
    pub(crate) fn follow(mut self, watch: &mut dyn FnMut(&str)) -> Result<bool> {
        let (reader, writer) = std::io::pipe().map_err(|error| self.failed(&error.to_string()))?;
        let second = writer.try_clone().map_err(|error| self.failed(&error.to_string()))?;
        self.0.stdout(writer).stderr(second);
        let mut child = self.0.spawn().map_err(|error| self.failed(&error.to_string()))?;
        // Our own copies of the writing end must go, or the reading never ends.
        self.0.stdout(Stdio::null()).stderr(Stdio::null());
        for line in BufReader::new(reader).lines().map_while(std::result::Result::ok) {
            say(&line);
            watch(&line);
        }
        let status = child.wait().map_err(|error| self.failed(&error.to_string()))?;
        Ok(status.success())
    }

    fn failed(&self, why: &str) -> String {
        format!("{:?}: {why}", self.0)
    }
}

//! A TPM for machines that want one: swtpm, a process of its own that ends with its machine.

use std::path::{Path, PathBuf};

use super::process;
use crate::{
    Result,
    machine::{files, tool},
};

/// The program.
pub(super) const SWTPM: &str = "swtpm";

/// The TPM of one machine.
#[derive(Debug, Clone)]
pub(super) struct Tpm {
    /// What it remembers; kept with the machine.
    pub(super) state: PathBuf,
    /// A link to that: swtpm takes a comma in a path for the end of it, and knows no way to write one.
    pub(super) link: PathBuf,
    /// Where it listens.
    pub(super) socket: PathBuf,
    /// Its process.
    pub(super) pid: PathBuf,
}

impl Tpm {
    /// Starts it. It ends when its machine does.
    pub(super) fn start(&self) -> Result<()> {
        self.stop()?;
        crate::files::make_private_dir(&self.state)?;
        let link = || std::os::unix::fs::symlink(std::path::absolute(&self.state)?, &self.link);
        link().map_err(|error| files::failed("make", &self.link, &error))?;
        tool::run(SWTPM, self.arguments()).map(drop)
    }

    /// Ends it, if its machine did not.
    pub(super) fn stop(&self) -> Result<()> {
        process::kill_found(SWTPM, &self.word())?;
        [&self.socket, &self.pid, &self.link].into_iter().try_for_each(|path| files::remove_file(path))
    }

    /// Does its process run?
    pub(super) fn runs(&self) -> bool {
        process::find(SWTPM, &self.word()).is_some()
    }

    /// What the process is known by.
    fn word(&self) -> PathBuf {
        format!("file={}", self.pid.display()).into()
    }

    fn arguments(&self) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        vec![
            "socket".into(),
            "--tpm2".into(),
            "--tpmstate".into(),
            format!("dir={}", path(&self.link)),
            "--ctrl".into(),
            format!("type=unixio,path={}", path(&self.socket)),
            "--pid".into(),
            path(&self.word()),
            "--terminate".into(),
            "--daemon".into(),
        ]
    }
}

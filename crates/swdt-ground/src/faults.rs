//! Trouble for the node program of a machine, if it is the one that can be told to have some
//! (`swdt-node/src/faults.rs`).

use std::{fs, io, path::PathBuf};

use serde_json::Value;
use swdt_core::Result;
use swdt_wire::{LINUX_STATE_DIR, WINDOWS_STATE_DIR};

use crate::{TestMachine, ground::cannot, on_linux};

impl TestMachine {
    /// Where the node half keeps its own files, in the machine's own file system.
    pub fn state_dir(&self) -> String {
        if self.is_windows() { on_linux(WINDOWS_STATE_DIR) } else { LINUX_STATE_DIR.to_owned() }
    }

    /// Asks for a fault, under a name.
    pub fn arm(&self, name: &str, fault: &Value) -> Result<()> {
        self.put(&format!("{}/{name}.json", self.faults_dir()), 0o600, fault.to_string().as_bytes())
    }

    /// The faults that did not strike yet, by name.
    pub fn armed(&self) -> Result<Vec<String>> {
        self.named("json")
    }

    /// The faults that keep the node program waiting, by name.
    pub fn held(&self) -> Result<Vec<String>> {
        self.named("held")
    }

    /// Lets the node program go on.
    pub fn release(&self, name: &str) -> Result<()> {
        let path = self.faults()?.join(format!("{name}.held"));
        fs::remove_file(&path).map_err(|error| cannot("remove", &path, &error))
    }

    /// Takes back the faults that did not strike.
    pub fn disarm(&self) -> Result<()> {
        let dir = self.faults()?;
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", &dir, &error)),
            _ => Ok(()),
        }
    }

    fn named(&self, ending: &str) -> Result<Vec<String>> {
        let files = fs::read_dir(self.faults()?).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let ending = format!(".{ending}");
        Ok(names.filter_map(|name| name.strip_suffix(&ending).map(ToOwned::to_owned)).collect())
    }

    fn faults(&self) -> Result<PathBuf> {
        self.host_path(&self.faults_dir())
    }

    fn faults_dir(&self) -> String {
        format!("{}-faults", self.state_dir())
    }
}

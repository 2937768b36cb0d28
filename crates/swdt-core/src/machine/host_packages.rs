//! What this host must install before it can make machines.

use super::{maker, tool};
use crate::{
    Error, Result, id,
    spec::{Node, Place},
};

/// Debian packages that this host lacks.
pub struct HostPackages {
    names: Vec<&'static str>,
}

impl HostPackages {
    /// What the providers of these nodes need and this host lacks.
    pub fn missing(nodes: &[Node]) -> Result<Self> {
        let mut names = Vec::new();
        for node in nodes {
            if let Place::Machine(machine) = &node.place {
                names.extend(maker(machine.provider)?.missing_packages());
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(Self { names })
    }

    /// These.
    pub fn of(names: Vec<&'static str>) -> Self {
        Self { names }
    }

    /// Their names.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Installs them.
    pub fn install(&self) -> Result<()> {
        if tool::find("apt-get").is_none() {
            let message = format!("this host has no apt-get to install {}", self.names.join(", "));
            return Err(Error::new(id::PROGRAM_MISSING, message)
                .hinted("install them with the package manager of this host; their names may differ there"));
        }
        let apt = |arguments: &[&str]| {
            let mut command = tool::command("apt-get", arguments);
            // Asks nothing, and starts no services of what it installs.
            command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
            tool::output(command.stdin(std::process::Stdio::null())).map_err(|error| {
                error
                    .meaning(id::PROGRAM_MISSING)
                    .hinted("run swdt as root, and check that this host reaches its package servers")
            })
        };
        apt(&["update", "--quiet"])?;
        let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
        apt(&[install.as_slice(), &self.names].concat())?;
        Ok(())
    }
}

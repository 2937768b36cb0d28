//! Puts the node program on a machine.
//!
//! On Linux the bytes go over standard input into a directory that only root may enter, and are hashed there:
//! nothing that another user could have written is ever run as root. An exec with standard input is
//! as fast as SFTP, needs no subsystem, and a talkative `.bashrc` cannot break it.

use super::{
    super::{ExitStatus, Transport},
    Agent, trouble,
};
use crate::{Error, Result, id, spec::OsFamily};

/// Printed when the program is in place.
const DONE: &str = "swdt-node-installed";
/// So much of what the script says is kept.
const OUTPUT: usize = 64 << 10;

/// `$1` is the hash, `$2` the directory. No single quote and no line break, so that every login shell
/// takes it as one word. An empty line comes first, because noise before it may lack its line end.
const SCRIPT: &str = concat!(
    "set -eu; LC_ALL=C; export LC_ALL; umask 077; mkdir -p \"$2\"; tmp=\"$2/.new.$$\"; ",
    "cleanup() { rm -f \"$tmp\"; }; trap cleanup EXIT; trap \"exit 1\" HUP INT TERM PIPE; ",
    "cat >\"$tmp\"; sum=$(sha256sum <\"$tmp\"); ",
    "if [ \"${sum%% *}\" != \"$1\" ]; then echo \"swdt: wrong checksum ${sum%% *}\" >&2; exit 65; fi; ",
    "chmod 0700 \"$tmp\"; mv -f \"$tmp\" \"$2/$1\"; echo; echo swdt-node-installed",
);

impl Agent {
    pub(super) async fn install(&self, transport: &dyn Transport) -> Result<()> {
        if self.shared.options.os == OsFamily::Windows {
            return self.install_on_windows(transport).await;
        }
        let binary = &self.shared.binary;
        self.shared.options.reporter.doing("installing the node program");
        let elevation = match self.elevation(transport) {
            "" => "env LC_ALL=C ",
            elevation => elevation,
        };
        let dir = &self.shared.options.bin_dir;
        let command = format!("{elevation}/bin/sh -c '{SCRIPT}' swdt {} {dir}", binary.sha256);
        let said = self.exec(transport, &command).await?.collect(&binary.bytes, OUTPUT).await;
        let installed = String::from_utf8_lossy(&said.stdout).lines().any(|line| line.trim() == DONE);
        if installed && said.exit.success() {
            return Ok(());
        }
        let errors = said.last_errors();
        not_lost(&said.exit, transport)?;
        Err(trouble::explain(&errors, transport).unwrap_or_else(|| {
            Error::new(
                id::NODE_PROGRAM_REFUSED,
                format!("the node program cannot be installed on {} ({})", transport.place(), said.exit),
            )
            .with_output(errors)
        }))
    }

    /// Removes what an upload left on Windows that was broken off: a command that was killed, a machine that restarted.
    pub(crate) async fn forget_upload(&self) -> Result<()> {
        if self.shared.options.os != OsFamily::Windows {
            return Ok(());
        }
        let transport = self.connect(self.shared.options.patience).await?;
        transport.leave(&self.shared.binary.upload(), None).await
    }

    /// The program comes by SFTP into the directory where commands start, and puts itself where it belongs: the
    /// shell may be cmd or PowerShell, and this line means the same to both. Nothing else could have written it
    /// there than the user who runs it, and it is known by its hash ever after.
    async fn install_on_windows(&self, transport: &dyn Transport) -> Result<()> {
        let binary = &self.shared.binary;
        self.shared.options.reporter.doing("installing the node program");
        let name = binary.upload();
        transport.leave(&name, Some(&binary.bytes)).await?;
        let said = self.exec(transport, &format!(r".\{name} install")).await?.collect(b"", OUTPUT).await;
        let removed = transport.leave(&name, None).await;
        if said.exit.success() {
            return removed;
        }
        not_lost(&said.exit, transport)?;
        let lines = said.last_errors();
        Err(trouble::explain(&lines, transport).unwrap_or_else(|| {
            let message =
                format!("the node program could not be installed on {} ({})", transport.place(), said.exit);
            let error = Error::new(id::NODE_PROGRAM_REFUSED, message).with_output(lines);
            error.hinted(
                r"does Windows Defender take it away? An exclusion for C:\ProgramData\swdt keeps it there",
            )
        }))
    }
}

/// A machine that restarts just now is no machine that refuses.
fn not_lost(exit: &ExitStatus, transport: &dyn Transport) -> Result<()> {
    let ExitStatus::Lost(why) = exit else { return Ok(()) };
    let message = format!("the connection to {} was lost: {why}", transport.place());
    Err(Error::new(id::CONNECTION_LOST, message))
}

//! What the complaints of shells and of sudo mean, and what to do about them.

use super::super::Transport;
use crate::{Error, error::Entry, id};

/// The meaning of error output that we know; none when it says nothing we know.
pub(super) fn explain(lines: &[String], transport: &dyn Transport) -> Option<Error> {
    let (place, user) = (transport.place(), transport.user());
    let error = |entry: &Entry, message: String| Some(Error::new(entry, message).with_output(lines.to_vec()));
    let says = |words: &[&str]| lines.iter().any(|line| words.iter().any(|word| line.contains(word)));
    let sudoers = || {
        format!(
            "as root there: echo '{user} ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/swdt && chmod 440 /etc/sudoers.d/swdt"
        )
    };

    if says(&["is not recognized"]) {
        return Some(
            error(
                id::SYSTEM_OTHER,
                format!("{place} is a Windows machine, but the cluster's file says Linux"),
            )?
            .hinted("write `os: windows` for this node"),
        );
    }
    if says(&["a password is required", "a terminal is required", "no tty present"]) {
        return Some(
            error(id::SUDO_REFUSED, format!("sudo asks {user} for a password on {place}"))?.hinted(sudoers()),
        );
    }
    if says(&["is not in the sudoers file", "may not run sudo", "is not allowed to execute"]) {
        return Some(
            error(id::SUDO_REFUSED, format!("{user} may not use sudo on {place}"))?.hinted(sudoers()),
        );
    }
    if says(&["you must have a tty"]) {
        return Some(
            error(id::SUDO_REFUSED, format!("sudo on {place} works on terminals only"))?.hinted(format!(
                "as root there: echo 'Defaults:{user} !requiretty' > /etc/sudoers.d/swdt-tty"
            )),
        );
    }
    if lines.iter().any(|line| line.starts_with("env:") && line.contains("sudo")) {
        return Some(
            error(id::SUDO_REFUSED, format!("there is no sudo on {place}, and {user} is not root"))?
                .hinted("install sudo there, or log in as root"),
        );
    }
    if says(&["Read-only file system"]) {
        return Some(
            error(id::NODE_PROGRAM_REFUSED, format!("the file system of {place} cannot be written to"))?
                .hinted("a disk with errors is mounted read-only: see `dmesg` there"),
        );
    }
    if says(&["No space left on device", "Disk quota exceeded"]) {
        return Some(
            error(id::DISK_FULL, format!("the disk of {place} is full"))?.hinted("make room below /var/lib"),
        );
    }
    if says(&["Exec format error", "cannot execute binary file"]) {
        return error(
            id::NODE_PROGRAM_REFUSED,
            format!("the node program is not made for the processor of {place}"),
        );
    }
    if lines.iter().any(|line| line.contains("sha256sum") && line.contains("not found")) {
        return Some(
            error(id::NODE_PROGRAM_REFUSED, format!("{place} has no sha256sum"))?
                .hinted("install coreutils there"),
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::explain;
    use crate::{ErrorKind, remote::Local};

    #[test]
    fn complaints_are_understood() {
        let table = [
            ("sudo: a password is required", "asks admin for a password"),
            ("sudo: a terminal is required to read the password; either use the -S option", "asks admin"),
            ("admin is not in the sudoers file.  This incident will be reported.", "may not use sudo"),
            ("sudo: sorry, you must have a tty to run sudo", "on terminals only"),
            ("env: 'sudo': No such file or directory", "no sudo"),
            ("env: can't execute 'sudo': No such file or directory", "no sudo"),
            ("mkdir: cannot create directory '/var/lib/swdt': Read-only file system", "cannot be written"),
            ("cat: write error: No space left on device", "is full"),
            ("'env' is not recognized as an internal or external command,", "Windows"),
            ("env : The term 'env' is not recognized as the name of a cmdlet, function,", "Windows"),
            ("/bin/sh: 1: /var/lib/swdt/bin/ab: Exec format error", "processor"),
            ("/bin/sh: 1: sha256sum: not found", "sha256sum"),
        ];
        for (line, expected) in table {
            let error = explain(&[line.to_owned()], &Local::new("admin")).expect(line);
            assert!(error.message.contains(expected), "{line}: {error}");
            assert_eq!(error.kind(), ErrorKind::Prerequisite);
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_no_trouble() {
        for line in [
            "sudo: /var/lib/swdt/bin/ab: command not found",
            "bash: line 1: /var/lib/swdt/bin/ab: No such file or directory",
            "/bin/sh: 1: /var/lib/swdt/bin/ab: not found",
            "zsh:1: permission denied: /var/lib/swdt/bin/ab",
        ] {
            assert!(explain(&[line.to_owned()], &Local::new("admin")).is_none(), "{line}");
        }
    }
}

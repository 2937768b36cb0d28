//! sshd-session.exe: gives a command to cmd.exe, as OpenSSH for Windows does. The command comes in the
//! environment, because a command line on its way from Linux is quoted anew.

use std::{env, os::windows::process::CommandExt, process::Command};

pub(crate) fn run() -> i32 {
    // As sshd does: what the session started ends with it, unless it asked to leave.
    let _ = swdt_win::process::enclose();
    let command = env::var("SWDT_COMMAND").unwrap_or_default();
    let mut shell = Command::new(r"C:\windows\system32\cmd.exe");
    shell.env_remove("SWDT_COMMAND");
    if !command.is_empty() {
        shell.raw_arg(format!("/c \"{command}\""));
    }
    shell.status().ok().and_then(|status| status.code()).unwrap_or(255)
}

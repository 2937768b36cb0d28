//! sshd-session.exe: gives a command to cmd.exe, as OpenSSH for Windows does. The command comes in the
//! environment, because a command line on its way from Linux is quoted anew.

use std::{env, os::windows::process::CommandExt, process::Command};

const COMMAND: &str = "SWDT_COMMAND";
const CHILDREN_STAY: &str = "SWDT_CHILDREN_STAY";

pub(crate) fn run() -> i32 {
    // As sshd does, mostly: what the session started ends with it, unless it asked to leave.
    if env::var_os(CHILDREN_STAY).is_none() {
        let _ = swdt_win::process::enclose();
    }
    let command = env::var(COMMAND).unwrap_or_default();
    let mut shell = Command::new(r"C:\windows\system32\cmd.exe");
    shell.env_remove(COMMAND).env_remove(CHILDREN_STAY);
    if !command.is_empty() {
        shell.raw_arg(format!("/c \"{command}\""));
    }
    shell.status().ok().and_then(|status| status.code()).unwrap_or(255)
}

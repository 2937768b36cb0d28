//! The remote half against real programs: OpenSSH's sshd, ssh-agent and ssh on loopback, and a node
//! program played by a shell script. Everything lives in temporary directories and ends with the test.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests say what went wrong by panicking")]

mod agent;
mod connecting;
mod host_keys;
mod passwords;
mod programs;
mod sshd;
mod tables;

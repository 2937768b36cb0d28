//! Keys of the SSH server: which the machine is known by, and who may log in.

use std::path::PathBuf;

use swdt_win::security;
use swdt_wire::{Content, File, FirstBoot, HostKey, Service, Status};

use super::make;
use crate::{Ctx, Error, Result, registry, resources::Behaviour};

const DIR: &str = r"C:\ProgramData\ssh";
const HOST_KEY: &str = r"C:\ProgramData\ssh\ssh_host_ed25519_key";
const HOST_KEY_PUBLIC: &str = r"C:\ProgramData\ssh\ssh_host_ed25519_key.pub";
/// Of members of the group Administrators; their own files do not count.
const MAY_LOG_IN: &str = r"C:\ProgramData\ssh\administrators_authorized_keys";

/// As sshd itself makes it: others may read what is for all.
const DIR_ACCESS: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;AU)";

/// Is there a service sshd?
pub(super) fn there() -> bool {
    registry::has_key(r"SYSTEM\CurrentControlSet\Services\sshd")
}

/// sshd makes keys that it misses, so ours is there before it starts, or it is stopped before.
pub(super) fn keys(ctx: &Ctx, wanted: &FirstBoot) -> Result<()> {
    let files = files(&wanted.host_key, &wanted.authorized_keys);
    let mut right = true;
    for file in &files {
        right &= file.check(ctx)? == Status::Satisfied;
    }
    if right {
        return Ok(());
    }
    stop(ctx)?;
    make_dir(ctx)?;
    // Not by `make`: what sshd made up a moment ago is not worth keeping.
    files.iter().try_for_each(|file| file.apply(ctx, &swdt_wire::Prior::Nothing))
}

/// A base has no keys: each of its clones has its own.
pub(super) fn no_keys(ctx: &Ctx, _: &FirstBoot) -> Result<()> {
    stop(ctx)?;
    for name in ctx.names_in(DIR) {
        if name.starts_with("ssh_host_") || name == "administrators_authorized_keys" {
            ctx.remove_file(&format!(r"{DIR}\{name}"))?;
        }
    }
    Ok(())
}

/// Not running, and not starting by itself either.
fn stop(ctx: &Ctx) -> Result<()> {
    make(ctx, &Service { name: "sshd".into(), enabled: false, running: false, newer_than: Vec::new() })
}

fn make_dir(ctx: &Ctx) -> Result<()> {
    let dir = PathBuf::from(DIR);
    if dir.is_dir() {
        return Ok(());
    }
    ctx.count_write();
    security::create_dir(&dir, DIR_ACCESS).map_err(|error| Error::io("make", &dir, &error))
}

/// What is for administrators and the system alone has the mode that says so; sshd refuses any other.
fn files(host_key: &HostKey, authorized_keys: &[String]) -> [File; 3] {
    let lines: String = authorized_keys.iter().flat_map(|key| [key.trim(), "\n"]).collect();
    let file = |path: &str, mode, content| File { path: path.into(), mode, content };
    [
        file(HOST_KEY, 0o600, Content::Secret(host_key.private.clone())),
        file(HOST_KEY_PUBLIC, 0o644, Content::Text(format!("{}\n", host_key.public.trim()))),
        file(MAY_LOG_IN, 0o600, Content::Text(lines)),
    ]
}

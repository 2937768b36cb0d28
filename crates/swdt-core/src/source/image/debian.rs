//! Programs and libraries of Debian for the images that need them, as one layer.
//!
//! mmdebstrap unpacks the packages with everything they depend on, checks their signatures, and runs nothing of
//! them; so it works for any architecture.

use std::{fs::File, path::Path, process::Stdio};

use tokio::process::Command;

use super::layer::Layer;
use crate::{
    Error, Result,
    files::failed,
    id,
    source::{
        Context, blocking,
        cache::{Blob, Key},
        go::platform_words,
        hide,
    },
    spec::Platform,
};

const SUITE: &str = "bookworm";
const SOURCES: &[&str] = &[
    "deb http://deb.debian.org/debian bookworm main",
    "deb http://deb.debian.org/debian-security bookworm-security main",
];
/// What no program reads at run time, and what mmdebstrap copies from this host.
const UNWANTED: &[&str] = &[
    "boot",
    "dev",
    "etc/apt",
    "etc/dpkg",
    "etc/fstab",
    "etc/hostname",
    "etc/hosts",
    "etc/init.d",
    "etc/kernel",
    "etc/resolv.conf",
    "lib/systemd",
    "proc",
    "sys",
    "usr/share/bash-completion",
    "usr/share/doc",
    "usr/share/info",
    "usr/share/initramfs-tools",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "var",
];
/// The names under which others call `xtables-nft-multi`. Debian makes them when the package is configured.
const IPTABLES: &[&str] = &[
    "iptables",
    "iptables-save",
    "iptables-restore",
    "ip6tables",
    "ip6tables-save",
    "ip6tables-restore",
    "ebtables",
];

/// The layer with these packages, made once.
pub(super) async fn layer(ctx: &Context, packages: &[&str], platform: Platform) -> Result<Blob> {
    let key = Key::new(&("debian", SUITE, SOURCES, packages, UNWANTED, IPTABLES, platform.as_str()))?;
    if let Some((_, blob)) = ctx.cache.recall(&key)? {
        return Ok(blob);
    }
    let what = format!("a layer of Debian {SUITE} with {}", packages.join(", "));
    let _held = ctx.cache.hold(&key, &what, &ctx.reporter).await?;
    if let Some((_, blob)) = ctx.cache.recall(&key)? {
        return Ok(blob);
    }
    ctx.reporter.doing(format!("making {what} (once; about 15 s)"));
    let scratch = ctx.cache.scratch()?;
    let tar = scratch.path().join("debian.tar");
    let (_, arch) = platform_words(platform);
    let mut command = mmdebstrap();
    command.args(["--quiet", "--variant=extract", "--format=tar"]);
    command.arg(format!("--architectures={arch}")).arg(format!("--include={}", packages.join(",")));
    command.arg(SUITE).arg(&tar).args(SOURCES).env("SOURCE_DATE_EPOCH", "0");
    hide(command.as_std_mut(), &ctx.wanted.hidden);
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(|error| {
        Error::new(id::PROGRAM_MISSING, format!("cannot run mmdebstrap: {error}"))
            .hinted("install mmdebstrap")
    })?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).lines().map(str::to_owned).collect::<Vec<_>>();
        let last = said[said.len().saturating_sub(20)..].to_vec();
        return Err(Error::new(
            id::DEBIAN_NOT_FETCHED,
            format!("{what}: mmdebstrap ended with {}", done.status),
        )
        .hinted("is deb.debian.org reachable from this host?")
        .with_output(last));
    }
    let cache = ctx.cache.clone();
    let blob = blocking(move || {
        let wrong = |error: std::io::Error| failed("read", &tar, &error);
        let mut layer = Layer::default();
        layer.take(File::open(&tar).map_err(wrong)?, wanted).map_err(wrong)?;
        finish(&mut layer);
        let path = scratch.path().join("layer.tar");
        let file = File::create(&path).map_err(|error| failed("create", &path, &error))?;
        layer.write(file).map_err(|error| failed("write", &path, &error))?;
        cache.adopt(&path)
    })
    .await?;
    ctx.cache.remember(&key, &blob, &what)?;
    Ok(blob)
}

/// What packages would do when they are configured.
fn finish(layer: &mut Layer) {
    if layer.has("usr/sbin/xtables-nft-multi") {
        for name in IPTABLES {
            layer.link(&format!("usr/sbin/{name}"), "xtables-nft-multi");
        }
    }
    if layer.has("bin/dash") {
        layer.link_if_absent("bin/sh", "dash");
    }
}

fn wanted(path: &str) -> bool {
    !UNWANTED.iter().any(|dir| Path::new(path).starts_with(dir))
}

/// As root it mounts things; in a namespace of its own they go with it, however it ends.
fn mmdebstrap() -> Command {
    #[cfg(unix)]
    if nix::unistd::geteuid().is_root() {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "mmdebstrap"]);
        return command;
    }
    Command::new("mmdebstrap")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_directories_are_left_out() {
        assert!(!wanted("usr/share/doc/nftables/copyright"));
        assert!(!wanted("dev"));
        assert!(wanted("usr/share/docs"));
        assert!(wanted("usr/lib/x86_64-linux-gnu/libnftables.so.1"));
    }
}

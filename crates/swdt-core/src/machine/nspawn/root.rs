//! The shared root: a small Debian, made once, read by every machine as the lower layer of its overlay.
//!
//! `<cache>/nspawn/roots/<key>/` is whole or absent: it is built beside and renamed. The key is a hash of
//! everything the content depends on, so a new recipe is a new root and never changes an old one.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use super::mounts;
use crate::{
    Error, Result, id,
    machine::{
        Context, Recipe,
        files::{self, failed},
        names::short_hash,
        patience::lock_unless,
        tool,
    },
};

const PACKAGES: &str = "systemd,systemd-sysv,dbus,udev,openssh-server,sudo,iproute2,iptables,nftables,conntrack,ethtool,\
                        socat,kmod,procps,ca-certificates,runc,iputils-ping,mount,util-linux";
const FINISH: &str = include_str!("root.sh");

/// Also the machine's own apt sources.
fn sources(suite: &str) -> [String; 3] {
    [
        format!("deb http://deb.debian.org/debian {suite} main"),
        format!("deb http://deb.debian.org/debian {suite}-updates main"),
        format!("deb http://deb.debian.org/debian-security {suite}-security main"),
    ]
}

/// The key of the root that this version of swdt makes.
pub(super) fn key(recipe: Recipe) -> String {
    let suite = recipe.suite;
    let (packages, sources, finish) = (packages(recipe), sources(suite).join("\n"), finish(recipe));
    let content = short_hash(&[suite, &sources, &packages, &finish, std::env::consts::ARCH]);
    format!("{suite}-{content}")
}

/// What mmdebstrap runs at the end.
fn finish(recipe: Recipe) -> String {
    FINISH.to_owned() + recipe.finish
}

/// Every package of the root, as mmdebstrap wants them.
fn packages(recipe: Recipe) -> String {
    [&[PACKAGES], recipe.packages].concat().join(",")
}

/// Where the root of a key is.
pub(super) fn path(ctx: &Context, key: &str) -> PathBuf {
    ctx.cache_dir.join("nspawn/roots").join(key)
}

/// Makes the root of a key, if it is not there.
pub(super) fn ensure(ctx: &Context, recipe: Recipe, key: &str) -> Result<PathBuf> {
    let root = path(ctx, key);
    if root.is_dir() {
        return Ok(root);
    }
    if key != self::key(recipe) {
        let message = format!(
            "the root {key} of this machine is gone from the cache, and another version of swdt made it"
        );
        return Err(Error::new(id::BASE_GONE, message).hinted("destroy the machine and make it again"));
    }
    let roots = ctx.cache_dir.join("nspawn/roots");
    let lock = lock_unless(&ctx.interrupt, &roots.join(format!("{key}.lock")))?;
    if root.is_dir() {
        return Ok(root);
    }
    remove_unfinished(&roots, key)?;
    build(ctx, recipe, &roots, &root, lock)?;
    Ok(root)
}

/// What a killed builder left. The lock is ours and every builder's programs hold it too, so nobody
/// works there any more.
fn remove_unfinished(roots: &Path, key: &str) -> Result<()> {
    let prefix = format!("{key}.tmp-");
    let stale = files::names(roots).into_iter().filter(|name| name.starts_with(&prefix));
    stale.map(|name| roots.join(name)).try_for_each(|path| mounts::remove_tree(&path))
}

fn build(ctx: &Context, recipe: Recipe, roots: &Path, root: &Path, lock: File) -> Result<()> {
    let suite = recipe.suite;
    let minutes = if recipe.finish.is_empty() { "about a minute" } else { "two or three minutes" };
    ctx.reporter.doing(format!("building a Debian {suite} root (once; {minutes})"));
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let temporary = roots.join(format!("{name}.tmp-{}", std::process::id()));
    files::make_dir(&temporary)?;
    let (hook, fresh) = (temporary.join("finish.sh"), temporary.join("root"));
    files::write_whole(&hook, finish(recipe).as_bytes())?;
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))
        .map_err(|error| failed("make executable", &hook, &error))?;

    // Dies with us, in namespaces of its own, so its children and mounts die too; and holds the lock as its
    // standard input, so a successor waits until it is dead.
    let mut command = tool::command("setpriv", ["--pdeathsig", "KILL", "unshare", "--mount", "--pid"]);
    command.args(["--fork", "--kill-child", "--mount-proc", "mmdebstrap", "--variant=minbase"]);
    command
        .arg(format!("--include={}", packages(recipe)))
        .arg(format!("--customize-hook={}", hook.display()));
    command.arg(suite).arg(&fresh).args(sources(suite)).stdin(Stdio::from(lock));
    crate::source::hide(&mut command, &ctx.sources.secret_variables);
    tool::output(&mut command).map_err(|error| {
        error.meaning(id::DEBIAN_NOT_FETCHED).hinted("is deb.debian.org reachable from this host?")
    })?;
    fs::rename(&fresh, root).map_err(|error| failed("rename", &fresh, &error))?;
    mounts::remove_tree(&temporary)
}

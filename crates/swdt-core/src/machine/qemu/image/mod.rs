//! Base images: what disks of machines begin as. Shared by all machines, never written to again.
//!
//! `<cache>/qemu/bases/<key>.qcow2` is whole or absent: it is made beside and renamed. The key is a hash of everything the
//! content depends on.

mod build;
mod cloud;
mod install;

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{
    Error, ErrorKind, Result,
    machine::{
        Context,
        files::{self, failed},
        names::short_hash,
        patience::lock_unless,
        tool,
    },
    source,
    spec::Image,
};

/// A base that is here.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) key: String,
    pub(super) path: PathBuf,
}

/// What `qemu-img info` says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Info {
    format: String,
    virtual_size: u64,
    #[serde(default)]
    backing_filename: Option<String>,
    #[serde(default)]
    format_specific: serde_json::Value,
}

pub(super) fn bases_dir(ctx: &Context) -> PathBuf {
    ctx.cache_dir.join("qemu/bases")
}

/// Where the base of a key is.
pub(super) fn path(ctx: &Context, key: &str) -> PathBuf {
    bases_dir(ctx).join(format!("{key}.qcow2"))
}

/// The base of an image, made if it is not there.
pub(super) fn ensure(ctx: &Context, image: &Image) -> Result<Base> {
    match image {
        Image::Build(release) => {
            let key = build::key(*release);
            make(ctx, &key, |dir, lock| build::build(ctx, *release, dir, lock))
        }
        Image::Install(release) => {
            let key = install::key(*release);
            make(ctx, &key, |dir, lock| install::build(ctx, *release, dir, lock))
        }
        Image::Cloud(release) => {
            let (url, sum) = cloud::published(&ctx.sources, *release)?;
            fetched(ctx, &url, &sum)
        }
        Image::Url { url, checksum } => fetched(ctx, url, checksum),
        Image::File(path) => of_file(ctx, path),
        Image::Windows(_) => Err(Error::new(ErrorKind::Internal, "Windows is installed, and not fetched")),
    }
}

/// The base of a file, in whatever format.
pub(super) fn of_file(ctx: &Context, path: &Path) -> Result<Base> {
    let meta = fs::metadata(path).map_err(|error| {
        Error::new(ErrorKind::Config, format!("cannot read the image {}: {error}", path.display()))
    })?;
    let changed = meta.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let stamp = format!("{} {}", meta.len(), changed.unwrap_or_default().as_nanos());
    let key = format!("file-{}", short_hash(&[&path.to_string_lossy(), &stamp]));
    make(ctx, &key, |dir, _| convert(ctx, path, &dir.join("base.qcow2")))
}

/// The base of an image that a server has.
fn fetched(ctx: &Context, url: &str, checksum: &str) -> Result<Base> {
    let key = format!("url-{}", &checksum[..checksum.len().min(16)]);
    make(ctx, &key, |dir, _| {
        ctx.reporter.doing(format!("fetching {url}"));
        let file = source::fetch_image(&ctx.sources, url, checksum)?;
        convert(ctx, &file, &dir.join("base.qcow2"))
    })
}

/// Makes a base beside the others and puts it in place, unless it is there.
fn make(ctx: &Context, key: &str, work: impl FnOnce(&Path, File) -> Result<()>) -> Result<Base> {
    let path = path(ctx, key);
    let base = Base { key: key.to_owned(), path: path.clone() };
    if path.is_file() {
        return Ok(base);
    }
    let bases = bases_dir(ctx);
    let lock = lock_unless(&ctx.interrupt, &bases.join(format!("{key}.lock")))?;
    if path.is_file() {
        return Ok(base);
    }
    // The lock is ours and every builder's programs hold it too, so nobody works there any more.
    let prefix = format!("{key}.tmp-");
    for stale in files::names(&bases).into_iter().filter(|name| name.starts_with(&prefix)) {
        let stale = bases.join(stale);
        fs::remove_dir_all(&stale).map_err(|error| failed("remove", &stale, &error))?;
    }
    let dir = bases.join(format!("{prefix}{}", std::process::id()));
    files::make_private_dir(&dir)?;
    let fresh = dir.join("base.qcow2");
    let made = work(&dir, lock).and_then(|()| {
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o444))
            .map_err(|error| failed("protect", &fresh, &error))?;
        fs::rename(&fresh, &path).map_err(|error| failed("rename", &fresh, &error))
    });
    let _ = fs::remove_dir_all(&dir);
    made.map(|()| base)
}

/// An image in whatever format becomes a base. One that is not whole in itself is refused: it could name any file of this
/// host.
fn convert(ctx: &Context, from: &Path, to: &Path) -> Result<()> {
    let info = info(from)?;
    let names_another =
        info.backing_filename.is_some() || info.format_specific["data"]["data-file"].is_string();
    if names_another {
        let message = format!("the image {} is only a part: it names another file", from.display());
        return Err(
            Error::new(ErrorKind::Config, message).hinted("`qemu-img convert` makes a whole one of it")
        );
    }
    ctx.reporter.doing("unpacking the image (once)");
    let words = ["convert", "-f", &info.format, "-O", "qcow2"];
    let mut command = tool::command("qemu-img", words);
    tool::output(command.arg(from).arg(to)).map(drop)
}

fn info(path: &Path) -> Result<Info> {
    let mut command = tool::command("qemu-img", ["info", "--output=json"]);
    let text = tool::output(command.arg(path))?;
    serde_json::from_str(&text).map_err(|error| {
        Error::new(ErrorKind::Machine, format!("cannot understand what qemu-img says: {error}"))
    })
}

/// Does the disk have partitions as UEFI knows them? They begin in the second sector.
pub(super) fn has_gpt(base: &Base) -> Result<bool> {
    let head = base.path.with_extension(format!("head-{}", std::process::id()));
    let mut command = tool::command("qemu-img", ["dd", "-f", "qcow2", "-O", "raw", "bs=512", "count=2"]);
    for (key, path) in [("if", &base.path), ("of", &head)] {
        let mut word = OsString::from(format!("{key}="));
        word.push(path);
        command.arg(word);
    }
    let read = tool::output(&mut command)
        .and_then(|_| fs::read(&head).map_err(|error| failed("read", &head, &error)));
    files::remove_file(&head)?;
    Ok(read?.get(512..520) == Some(b"EFI PART"))
}

/// Makes the disk of a machine over a base.
pub(super) fn overlay(base: &Base, disk: &Path, gib: u64) -> Result<()> {
    let least = info(&base.path)?.virtual_size.div_ceil(1 << 30);
    if gib < least {
        let message = format!("a disk of {gib}Gi is too small for the image: {least}Gi are needed");
        return Err(Error::new(ErrorKind::Config, message).hinted(format!("write `disk: {least}Gi` or more")));
    }
    files::remove_file(disk)?;
    let mut command = tool::command("qemu-img", ["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b"]);
    tool::output(command.arg(&base.path).arg(disk).arg(format!("{gib}G"))).map(drop)
}

/// Makes a machine's disk larger; it never gets smaller.
pub(super) fn grow(disk: &Path, gib: u64) -> Result<()> {
    if info(disk)?.virtual_size >= gib << 30 {
        return Ok(());
    }
    let mut command = tool::command("qemu-img", ["resize", "-q", "-f", "qcow2"]);
    tool::output(command.arg(disk).arg(format!("{gib}G"))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_names_another_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, part) = (dir.path().join("whole.raw"), dir.path().join("part.qcow2"));
        fs::write(&whole, vec![0; 1 << 20]).unwrap();
        let mut command = tool::command("qemu-img", ["create", "-q", "-f", "qcow2", "-F", "raw", "-b"]);
        tool::output(command.arg(&whole).arg(&part)).unwrap();
        let ctx = crate::machine::tests::context(dir.path());
        let to = dir.path().join("base.qcow2");
        let error = convert(&ctx, &part, &to).unwrap_err();
        assert!(error.message.contains("names another file"), "{error}");
        convert(&ctx, &whole, &to).unwrap();
        let base = Base { key: "k".into(), path: to };
        let error = overlay(&base, &dir.path().join("disk"), 0).unwrap_err();
        assert!(error.message.contains("too small"), "{error}");
        overlay(&base, &dir.path().join("disk"), 3).unwrap();
        assert!(!has_gpt(&base).unwrap());
        let mut sectors = vec![0; 1 << 20];
        sectors[512..520].copy_from_slice(b"EFI PART");
        fs::write(&whole, sectors).unwrap();
        let parted = Base { key: "p".into(), path: dir.path().join("parted.qcow2") };
        convert(&ctx, &whole, &parted.path).unwrap();
        assert!(has_gpt(&parted).unwrap());
        grow(&dir.path().join("disk"), 2).unwrap();
        assert_eq!(info(&dir.path().join("disk")).unwrap().virtual_size, 3 << 30, "never smaller");
    }
}
    files::make_private(disk)?;

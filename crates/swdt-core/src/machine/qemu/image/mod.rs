//! Base images: what disks of machines begin as. Shared by all machines, never written to again.
//!
//! `<cache>/qemu/bases/<key>.qcow2` is whole or absent: it is made beside and renamed. The key is a hash of everything the
//! content depends on.

mod build;
mod cloud;
mod install;
mod mirror;

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use self::install::Install;
use super::ledger::Entry;
use crate::{
    Error, Result,
    event::Reporter,
    id,
    machine::{
        Context,
        files::{self, failed},
        names::short_hash,
        patience::lock_unless,
        tool,
    },
    source,
    spec::{Firmware, Image, LinuxRelease, VmSpec, Way, WindowsSource},
};

/// What the file beside a base is called that tells it from another of the same name.
const MARK: &str = "mark";

/// How often a download says how far it is, at most.
const STEPS: u64 = 20;
/// And not before it has got so much further: logs keep every line.
const STEP: u64 = 16 << 20;

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

/// The base of an image, made if it is not there. An installer looks at the firmware that it was started with; what others
/// make starts with any.
pub(super) fn ensure(ctx: &Context, image: &Image, firmware: Firmware) -> Result<Base> {
    match (image.by_name(), image) {
        (Some((Way::Cloud, release, mirror)), _) => of_cloud(ctx, release, mirror),
        (Some((Way::Build, release, mirror)), _) => {
            let key = build::key(release, mirror);
            make(ctx, &key, |dir, lock| build::build(ctx, release, mirror, dir, lock))
        }
        (Some((Way::Install, release, mirror)), _) => {
            let install = Install { release, mirror, uefi: firmware != Firmware::Bios };
            make(ctx, &install.key(), |dir, lock| install.build(ctx, dir, lock))
        }
        (None, Image::Url { url, checksum }) => fetched(ctx, url, checksum),
        (None, Image::File(path)) => of_file(ctx, path),
        (None, _) => Err(Error::new(id::INTERNAL, "Windows is installed, and not fetched")),
    }
}

/// Which base the publisher's image was, the last time that somebody could ask.
#[derive(Debug, Serialize, Deserialize)]
struct LastKnown {
    schema: u32,
    key: String,
}

/// The base of what a distribution publishes now. Where nobody can be asked, the last one that is here does.
fn of_cloud(ctx: &Context, release: LinuxRelease, mirror: Option<&str>) -> Result<Base> {
    let note = bases_dir(ctx).join(format!("{}.json", release.as_str()));
    let error = match cloud::published(&ctx.sources, release, mirror) {
        Ok((url, sum)) => {
            let base = fetched(ctx, &url, &sum)?;
            files::write_json(&note, &LastKnown { schema: 1, key: base.key.clone() })?;
            return Ok(base);
        }
        Err(error) if error.is(id::DOWNLOAD_UNREACHABLE) || error.is(id::DOWNLOAD_BROKEN_OFF) => error,
        Err(error) => return Err(error),
    };
    let Some(LastKnown { key, .. }) = files::read_json(&note)? else { return Err(error) };
    let base = Base { path: path(ctx, &key), key };
    if !is_whole(&base.path)? {
        return Err(error);
    }
    ctx.reporter.warn(format!("{}; the image of {} that is here is taken", error.message, release.as_str()));
    Ok(base)
}

/// What can be said against an image on this host before anything is made of it.
pub(super) fn require(ctx: &Context, vm: &VmSpec) -> Result<()> {
    let (path, sealed) = match &vm.image {
        Image::File(path) => (path, false),
        Image::Windows(windows) => match &windows.source {
            WindowsSource::Vhdx { path } => (path, true),
            WindowsSource::Iso { .. } => return Ok(()),
        },
        _ => return Ok(()),
    };
    look(path)?;
    let small = fits(&whole(path)?, vm.disk_gib).err();
    let other = match (table_of(ctx, path)?, vm.firmware) {
        (None, _) => Some(
            Error::new(
                id::DISK_IMAGE_UNUSABLE,
                format!("nothing on the image {} can start: it has no partitions", path.display()),
            )
            .hinted("name the disk of an installed system; a disc of an installer is none"),
        ),
        (Some(table), firmware) if sealed => starts_with(path, table, firmware).err(),
        _ => None,
    };
    Error::all(small.into_iter().chain(other).collect()).map_or(Ok(()), Err)
}

/// How a disk says where its partitions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    /// The old one, which BIOS starts from.
    Mbr,
    /// As UEFI knows them.
    Gpt,
}

/// A sealed Windows starts with the firmware that it was installed with, and no other: its partitions tell which.
fn starts_with(disk: &Path, table: Table, firmware: Firmware) -> Result<()> {
    let (wanted, right) = match (table, firmware) {
        (Table::Gpt, Firmware::Bios) => ("UEFI", "uefi"),
        (Table::Mbr, Firmware::Uefi | Firmware::SecureBoot) => ("BIOS", "bios"),
        _ => return Ok(()),
    };
    let message = format!("what is on {} starts with {wanted} only", disk.display());
    Err(Error::new(id::FIRMWARE_MISMATCH, message).hinted(format!("write `firmware: {right}`")))
}

/// A file that is there.
fn look(path: &Path) -> Result<fs::Metadata> {
    let cannot = |why: String| {
        Error::new(id::DISK_IMAGE_UNUSABLE, format!("cannot read the image {}: {why}", path.display()))
            .hinted("name a disk image that is on this host: raw, qcow2, VHD, VMDK …")
    };
    let meta = fs::metadata(path).map_err(|error| cannot(error.to_string()))?;
    // A pipe would be waited for when it is opened.
    if meta.is_file() { Ok(meta) } else { Err(cannot("it is no file".to_owned())) }
}

/// The base of a file, in whatever format.
pub(super) fn of_file(ctx: &Context, path: &Path) -> Result<Base> {
    let meta = look(path)?;
    let changed = meta.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let stamp = format!("{} {}", meta.len(), changed.unwrap_or_default().as_nanos());
    let key = format!("file-{}", short_hash(&[&path.to_string_lossy(), &stamp]));
    make(ctx, &key, |dir, _| convert(ctx, path, &dir.join("base.qcow2")))
}

/// The base of an image that a server has.
fn fetched(ctx: &Context, url: &str, checksum: &str) -> Result<Base> {
    let key = format!("url-{}", &checksum[..checksum.len().min(16)]);
    make(ctx, &key, |dir, _| {
        let file = fetch(ctx, url, checksum)?;
        convert(ctx, &file, &dir.join("base.qcow2"))
    })
}

/// A file from a server, however large: how far it is is told, and who wants to stop does not wait for its end.
fn fetch(ctx: &Context, url: &str, checksum: &str) -> Result<PathBuf> {
    ctx.reporter.doing(format!("fetching {url}"));
    let (interrupt, reporter, address) = (ctx.interrupt.clone(), ctx.reporter.clone(), url.to_owned());
    let told = AtomicU64::new(0);
    source::fetch_image(&ctx.sources, url, checksum, move |have, of| {
        let of = of.unwrap_or_default();
        let step = have / (of / STEPS).max(STEP);
        if step > told.swap(step, Ordering::Relaxed) && have < of {
            reporter.doing(format!("fetching {address}: {} of {} MiB", have >> 20, of >> 20));
        }
        interrupt.check()
    })
}

/// Makes a base beside the others and puts it in place, unless it is there.
fn make(ctx: &Context, key: &str, work: impl FnOnce(&Path, File) -> Result<()>) -> Result<Base> {
    let path = path(ctx, key);
    let base = Base { key: key.to_owned(), path: path.clone() };
    if is_whole(&path)? {
        return Ok(base);
    }
    let bases = bases_dir(ctx);
    let lock = lock_unless(&ctx.interrupt, &bases.join(format!("{key}.lock")))?;
    // Ours until the base is in place and the rest is cleared away, though its builder is through with it.
    let _held = lock.try_clone().map_err(|error| failed("hold", &bases, &error))?;
    if is_whole(&path)? {
        return Ok(base);
    }
    remove_damaged(&path, &ctx.reporter)?;
    // The lock is ours and every builder's programs hold it too, so nobody works there any more.
    let prefix = format!("{key}.tmp-");
    for stale in files::names(&bases).into_iter().filter(|name| name.starts_with(&prefix)) {
        let stale = bases.join(stale);
        fs::remove_dir_all(&stale).map_err(|error| failed("remove", &stale, &error))?;
    }
    let dir = bases.join(format!("{prefix}{}", std::process::id()));
    files::make_private_dir(&dir)?;
    let fresh = dir.join("base.qcow2");
    let made = work(&dir, lock).and_then(|()| put_in_place(&fresh, &path));
    let _ = fs::remove_dir_all(&dir);
    made.map(|()| base)
}

/// A finished disk becomes a base: on the disk before it has its name, and for its owner alone, as what it was made of may
/// be. It gets a mark of its own, since no two that are made alike have the same blocks.
pub(super) fn put_in_place(fresh: &Path, base: &Path) -> Result<()> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mark = short_hash(&[&now.as_nanos().to_string(), &std::process::id().to_string()]);
    files::write_whole(&base.with_extension(MARK), mark.as_bytes())?;
    fs::set_permissions(fresh, fs::Permissions::from_mode(0o400))
        .map_err(|error| failed("protect", fresh, &error))?;
    File::open(fresh).and_then(|file| file.sync_all()).map_err(|error| failed("write", fresh, &error))?;
    fs::rename(fresh, base).map_err(|error| failed("rename", fresh, &error))
}

/// The mark of a base; one of an earlier version has none.
pub(super) fn mark(base: &Path) -> Option<String> {
    fs::read_to_string(base.with_extension(MARK)).ok()
}

/// Refuses a disk whose base is not what it was made on.
pub(super) fn stands(ctx: &Context, entry: &Entry) -> Result<()> {
    let base = path(ctx, &entry.base);
    let how = if !base.exists() {
        "is gone from the cache"
    } else if !is_whole(&base)? {
        "is damaged"
    } else if entry.mark.is_some() && entry.mark != mark(&base) {
        "was made anew since"
    } else {
        return Ok(());
    };
    let message = format!("the image {} below the machine's disk {how}", base.display());
    Err(Error::new(id::BASE_GONE, message).hinted("destroy the machine and make it again"))
}

/// Is the base here, with all of its bytes? A disk that was full, or a copy that broke off, leaves one that is cut short.
pub(super) fn is_whole(base: &Path) -> Result<bool> {
    if !base.is_file() {
        return Ok(false);
    }
    let mut command = tool::command("qemu-img", ["check", "-q", "-f", "qcow2"]);
    let checked = command.arg(base).stdin(Stdio::null()).output();
    let checked =
        checked.map_err(|error| Error::new(id::PROGRAM_MISSING, format!("cannot run qemu-img: {error}")))?;
    match checked.status.code() {
        // 3: there is more than is needed.
        Some(0 | 3) => Ok(true),
        // A base that cannot be read now may be whole all the same.
        Some(_) => {
            let read = File::open(base).and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
            read.map(|_| false).map_err(|error| failed("read", base, &error))
        }
        // By Ctrl-C, most likely. That says nothing about the base.
        None => Err(Error::new(id::TOOL_FAILED, format!("the check of {} was ended", base.display()))),
    }
}

/// Removes a base that is not whole, if there is one, and says what that means.
pub(super) fn remove_damaged(base: &Path, reporter: &Reporter) -> Result<()> {
    if base.exists() {
        let path = base.display();
        reporter.warn(format!(
            "{path} is damaged and is made anew; machines that were made from it must be destroyed and made again"
        ));
    }
    files::remove_file(base)
}

/// An image that is whole in itself. Another one is refused: it could name any file of this host.
fn whole(from: &Path) -> Result<Info> {
    let info = info(from).map_err(|error| {
        error
            .meaning(id::DISK_IMAGE_UNUSABLE)
            .saying(format!("the image {} cannot be understood", from.display()))
    })?;
    let specific = &info.format_specific["data"];
    // A VMDK may be a short text that says which files the disk is in.
    let extents = specific["extents"].as_array().into_iter().flatten();
    let own = from.to_string_lossy();
    let elsewhere = extents.filter_map(|extent| extent["filename"].as_str()).any(|file| file != own);
    if info.backing_filename.is_some() || specific["data-file"].is_string() || elsewhere {
        let message = format!("the image {} is only a part: it names another file", from.display());
        return Err(
            Error::new(id::DISK_IMAGE_UNUSABLE, message).hinted("`qemu-img convert` makes a whole one of it")
        );
    }
    Ok(info)
}

/// An image in whatever format becomes a base.
fn convert(ctx: &Context, from: &Path, to: &Path) -> Result<()> {
    let info = whole(from)?;
    ctx.reporter.doing("unpacking the image (once)");
    let words = ["convert", "-f", &info.format, "-O", "qcow2"];
    let mut command = tool::command("qemu-img", words);
    tool::output(command.arg(from).arg(to)).map(drop)
}

fn info(path: &Path) -> Result<Info> {
    let mut command = tool::command("qemu-img", ["info", "--output=json"]);
    let text = tool::output(command.arg(path))?;
    serde_json::from_str(&text).map_err(|error| {
        Error::new(id::MACHINE_RECORD_UNREADABLE, format!("cannot understand what qemu-img says: {error}"))
    })
}

/// How the disk says where its partitions are: at the end of its first sector, and at the beginning of the second. None
/// where nothing is said: no firmware starts from such a disk.
fn table_of(ctx: &Context, disk: &Path) -> Result<Option<Table>> {
    let bases = bases_dir(ctx);
    files::make_dir(&bases)?;
    let head = bases.join(format!("{}.head-{}", short_hash(&[&disk.to_string_lossy()]), std::process::id()));
    let format = info(disk)?.format;
    let mut command = tool::command("qemu-img", ["dd", "-f", &format, "-O", "raw", "bs=512", "count=2"]);
    for (key, path) in [("if", disk), ("of", &head)] {
        let mut word = OsString::from(format!("{key}="));
        word.push(path);
        command.arg(word);
    }
    let read = tool::output(&mut command)
        .and_then(|_| fs::read(&head).map_err(|error| failed("read", &head, &error)));
    files::remove_file(&head)?;
    let head = read?;
    if head.get(512..520) == Some(b"EFI PART") {
        return Ok(Some(Table::Gpt));
    }
    Ok((head.get(510..512) == Some(&[0x55, 0xaa])).then_some(Table::Mbr))
}

/// Refuses a base that a disk of this size does not hold.
pub(super) fn base_fits(base: &Base, gib: u64) -> Result<()> {
    fits(&info(&base.path)?, gib)
}

fn fits(info: &Info, gib: u64) -> Result<()> {
    let least = info.virtual_size.div_ceil(1 << 30);
    if gib >= least {
        return Ok(());
    }
    let message = format!("a disk of {gib}Gi is too small for the image: {least}Gi are needed");
    Err(Error::new(id::MACHINE_TOO_SMALL, message).hinted(format!("write `disk: {least}Gi` or more")))
}

/// Makes the disk of a machine over a base.
pub(super) fn overlay(base: &Base, disk: &Path, gib: u64) -> Result<()> {
    files::remove_file(disk)?;
    files::make_private(disk)?;
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
mod tests;

//! A disk made from Debian's own packages, for hosts that reach a mirror of Debian and nothing else.
//!
//! mmdebstrap makes the root; `disk.sh`, run by it, makes file systems and boot loaders as files; here they are put
//! together. No loop device and no mount of the host is needed, and without root mmdebstrap uses a user namespace.
//!
//! ```text
//! sector 0      GRUB's first sector, with the table of partitions
//! sector 1…     GRUB for BIOS
//! 1 MiB         the EFI system partition: Debian's signed shim and GRUB
//! behind it     the root, ext4; last, so that it can grow
//! ```

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
    process::Stdio,
};

use super::mirror::Mirror;
use crate::{
    Error, Result, id,
    machine::{Context, files::failed, names::short_hash, tool},
    spec::LinuxRelease,
};

const SCRIPT: &str = include_str!("disk.sh");
const PACKAGES: &str = "linux-image-cloud-amd64,initramfs-tools,systemd,systemd-sysv,systemd-resolved,dbus,udev,openssh-server,\
                        sudo,iproute2,iptables,nftables,conntrack,ethtool,socat,kmod,procps,ca-certificates,iputils-ping,\
                        mount,util-linux,cloud-init,cloud-guest-utils,fdisk,e2fsprogs,grub-common,grub-pc-bin,\
                        grub-efi-amd64-signed,shim-signed,mtools";
const SECTOR: u64 = 512;
const MIB: u64 = 1 << 20;
/// What the table of partitions calls them.
const EFI: u8 = 0xef;
const LINUX: u8 = 0x83;

pub(super) fn suite(release: LinuxRelease) -> Result<&'static str> {
    match release {
        LinuxRelease::Debian12 => Ok("bookworm"),
        LinuxRelease::Debian13 => Ok("trixie"),
        other => Err(Error::new(
            id::DISK_IMAGE_UNUSABLE,
            format!("a disk of {} cannot be built; only Debian's can", other.as_str()),
        )),
    }
}

/// The key of the base that this version of swdt builds.
pub(super) fn key(release: LinuxRelease, mirror: Option<&str>) -> String {
    let content = [release.as_str(), PACKAGES, SCRIPT].into_iter().chain(mirror);
    format!("{}-{}", release.as_str(), short_hash(&content.collect::<Vec<_>>()))
}

/// Builds the base in a directory of its own.
pub(super) fn build(
    ctx: &Context,
    release: LinuxRelease,
    url: Option<&str>,
    dir: &Path,
    lock: File,
) -> Result<()> {
    let mirror = Mirror::new(url);
    let suite = suite(release)?;
    ctx.reporter
        .doing(format!("building a disk of Debian {suite} from its packages (once; about three minutes)"));
    // Dies with us, and holds the lock as its standard input, so that a successor waits until it is dead.
    let mut command = tool::command("setpriv", ["--pdeathsig", "KILL"]);
    let user = nix::unistd::geteuid();
    // Whom mmdebstrap becomes in its namespace may not enter our directory. Not /tmp, which may be memory.
    let scratch = Path::new("/var/tmp").join(format!("swdt-{user}-{}", key(release, url)));
    if user.is_root() {
        command.args(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        // Where a successor clears it away.
        command.env("TMPDIR", dir);
    } else {
        clear(&scratch)?;
        fs::DirBuilder::new()
            .mode(0o711)
            .create(&scratch)
            .map_err(|error| failed("make", &scratch, &error))?;
        command.env("TMPDIR", &scratch);
    }
    command.args(["mmdebstrap", "--variant=minbase", "--format=null"]);
    // The script by its text, for the same reason.
    command.arg(format!("--include={PACKAGES}")).arg(format!("--customize-hook={SCRIPT}"));
    for part in PARTS {
        command.arg(format!("--customize-hook=download /parts/{part} {part}"));
    }
    command.arg(suite).arg("/dev/null").args(mirror.sources(suite));
    command.current_dir(dir).stdin(Stdio::from(lock));
    crate::source::hide(&mut command, &ctx.sources.secret_variables);
    let made = tool::output(&mut command).map_err(|error| {
        let hint = format!("is {} reachable from this host?", mirror.url());
        error.meaning(id::DEBIAN_NOT_FETCHED).hinted(hint)
    });
    let cleared = if user.is_root() { Ok(()) } else { clear(&scratch) };
    made?;
    cleared?;
    let disk = dir.join("disk.raw");
    assemble(dir, &disk).map_err(|error| failed("write", &disk, &error))?;
    let mut command = tool::command("qemu-img", ["convert", "-f", "raw", "-O", "qcow2"]);
    tool::output(command.arg(&disk).arg(dir.join("base.qcow2"))).map(drop)
}

/// Clears away what mmdebstrap left without root, if it was killed: files of ours, and of whom it became, which he removes
/// himself. Everybody may make things where it is: what is not a directory of our own may lead anywhere, and is left alone.
fn clear(scratch: &Path) -> Result<()> {
    let own = |meta: fs::Metadata| meta.is_dir() && meta.uid() == nix::unistd::geteuid().as_raw();
    if !fs::symlink_metadata(scratch).is_ok_and(own) {
        return Ok(());
    }
    let left = fs::read_dir(scratch).map_err(|error| failed("read", scratch, &error))?;
    for path in left.flatten().map(|entry| entry.path()) {
        if fs::remove_dir_all(&path).is_err() {
            let mut helper = tool::command("mmdebstrap", ["--unshare-helper", "rm", "-rf"]);
            let _ = tool::output(helper.arg(&path).current_dir("/"));
            let _ = fs::remove_dir(&path);
        }
    }
    fs::remove_dir(scratch).map_err(|error| failed("remove", scratch, &error))
}

/// What `disk.sh` makes.
const PARTS: [&str; 4] = ["boot.img", "core.img", "esp.img", "root.img"];

/// Puts the parts where firmware looks for them.
fn assemble(dir: &Path, disk: &Path) -> std::io::Result<()> {
    let read = |name: &str| fs::read(dir.join(name));
    let [boot, core, esp, root] = PARTS;
    let (mut boot, core, esp) = (read(boot)?, read(core)?, read(esp)?);
    let root = File::open(dir.join(root))?;
    let esp_at = MIB;
    let root_at = (esp_at + esp.len() as u64).next_multiple_of(MIB);
    let root_size = root.metadata()?.len();
    if boot.len() as u64 != SECTOR || SECTOR + core.len() as u64 > esp_at {
        return Err(std::io::Error::other("GRUB is not as large as it should be"));
    }
    boot[446..510].copy_from_slice(&table(&[(EFI, esp_at, esp.len() as u64), (LINUX, root_at, root_size)]));
    boot[510..].copy_from_slice(&[0x55, 0xaa]);
    let mut file = File::create(disk)?;
    file.write_all(&boot)?;
    file.write_all(&core)?;
    file.seek(SeekFrom::Start(esp_at))?;
    file.write_all(&esp)?;
    file.seek(SeekFrom::Start(root_at))?;
    copy_sparsely(root, &mut file)?;
    file.set_len(root_at + root_size)
}

/// The table of partitions of the old kind, which BIOS and UEFI both read. Cylinders mean nothing any more: all at the end.
fn table(partitions: &[(u8, u64, u64)]) -> [u8; 64] {
    const NO_CYLINDER: [u8; 3] = [0xfe, 0xff, 0xff];
    let mut table = [0; 64];
    for (entry, (kind, at, size)) in table.chunks_exact_mut(16).zip(partitions) {
        let sectors = |bytes: u64| u32::try_from(bytes / SECTOR).unwrap_or(u32::MAX).to_le_bytes();
        entry[0] = if *kind == LINUX { 0x80 } else { 0 };
        entry[1..4].copy_from_slice(&NO_CYLINDER);
        entry[4] = *kind;
        entry[5..8].copy_from_slice(&NO_CYLINDER);
        entry[8..12].copy_from_slice(&sectors(*at));
        entry[12..16].copy_from_slice(&sectors(*size));
    }
    table
}

/// Leaves out what is zero.
fn copy_sparsely(mut from: File, to: &mut File) -> std::io::Result<()> {
    let mut block = vec![0; 64 * 1024];
    loop {
        let mut size = 0;
        while size < block.len() {
            match from.read(&mut block[size..])? {
                0 => break,
                count => size += count,
            }
        }
        if size == 0 {
            return Ok(());
        }
        if block[..size].iter().all(|byte| *byte == 0) {
            to.seek(SeekFrom::Current(i64::try_from(size).unwrap_or_default()))?;
        } else {
            to.write_all(&block[..size])?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_our_own_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let (scratch, others) = (dir.path().join("scratch"), dir.path().join("others"));
        for place in [&scratch, &others] {
            fs::create_dir_all(place.join("mmdebstrap.1/etc")).unwrap();
            fs::write(place.join("mmdebstrap.1/etc/passwd"), "").unwrap();
        }
        clear(&scratch).unwrap();
        assert!(!scratch.exists());
        clear(&scratch).unwrap();
        std::os::unix::fs::symlink(&others, &scratch).unwrap();
        clear(&scratch).unwrap();
        assert!(others.join("mmdebstrap.1/etc/passwd").exists(), "a link was followed");
        fs::remove_file(&scratch).unwrap();
        // Somebody else's; only root can make one.
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&others, Some(65_534), None).unwrap();
            clear(&others).unwrap();
            assert!(others.join("mmdebstrap.1/etc/passwd").exists(), "somebody else's");
        }
    }

    #[test]
    fn parts_are_where_firmware_looks() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
        put("boot.img", &[0x11; 512]);
        put("core.img", &[0x22; 5000]);
        put("esp.img", &vec![0x33; 3 << 19]);
        let mut root = vec![0; 3 << 20];
        root[2 << 20] = 0x44;
        put("root.img", &root);
        let disk = dir.path().join("disk");
        assemble(dir.path(), &disk).unwrap();
        let bytes = fs::read(&disk).unwrap();
        assert_eq!((bytes[0], bytes[512], bytes[1 << 20], bytes[5 << 20]), (0x11, 0x22, 0x33, 0x44));
        assert_eq!(bytes.len(), 6 << 20);
        assert_eq!(bytes[446 + 4], EFI);
        assert_eq!(bytes[446 + 16 + 8..446 + 16 + 16], [0, 0x18, 0, 0, 0, 0x18, 0, 0], "3 MiB at 3 MiB");
        put("core.img", &vec![0; 1 << 20]);
        assert!(assemble(dir.path(), &disk).is_err(), "a boot loader that would reach into a partition");
    }
}

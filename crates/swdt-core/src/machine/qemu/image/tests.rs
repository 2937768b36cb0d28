use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256, Sha512};

use self::server::{Page, Server};
use super::*;
use crate::{
    event::EventKind,
    interrupt::Interrupt,
    machine::tests::context,
    spec::{WindowsImage, Wiring},
};

/// A small HTTP server on loopback that can misbehave.
#[path = "../../../../tests/source/server.rs"]
mod server;

#[test]
fn an_image_that_names_another_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, part) = (dir.path().join("whole.raw"), dir.path().join("part.qcow2"));
    fs::write(&whole, vec![0; 1 << 20]).unwrap();
    let mut command = tool::command("qemu-img", ["create", "-q", "-f", "qcow2", "-F", "raw", "-b"]);
    tool::output(command.arg(&whole).arg(&part)).unwrap();
    let ctx = context(dir.path());
    let to = dir.path().join("base.qcow2");
    let vmdk = |kind: &str| {
        let path = dir.path().join(format!("{kind}.vmdk"));
        let mut command = tool::command("qemu-img", ["create", "-q", "-f", "vmdk", "-o"]);
        tool::output(command.arg(format!("subformat={kind}")).arg(&path).arg("1M")).unwrap();
        path
    };
    for part in [part, vmdk("monolithicFlat"), vmdk("twoGbMaxExtentSparse")] {
        let error = convert(&ctx, &part, &to).unwrap_err();
        assert!(error.message.contains("names another file"), "{error}");
    }
    for whole in [vmdk("monolithicSparse"), vmdk("streamOptimized"), whole] {
        convert(&ctx, &whole, &to).unwrap();
    }
    let base = Base { key: "k".into(), path: to };
    let error = base_fits(&base, 0).unwrap_err();
    assert!(error.message.contains("too small"), "{error}");
    overlay(&base, &dir.path().join("disk"), 3).unwrap();
    grow(&dir.path().join("disk"), 2).unwrap();
    assert_eq!(info(&dir.path().join("disk")).unwrap().virtual_size, 3 << 30, "never smaller");
}

/// The end of the first sector of a disk that starts.
const MARKED: &[u8] = &[0x55, 0xaa];

/// The bytes of a small disk, and a file in the format of clouds that holds it.
fn disk(dir: &Path) -> (Vec<u8>, Vec<u8>) {
    disk_of(dir, 1)
}

fn disk_of(dir: &Path, mib: u32) -> (Vec<u8>, Vec<u8>) {
    let bytes: Vec<u8> =
        (0..mib << 18).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let (raw, image) = (dir.join("disk.raw"), dir.join("disk.img"));
    fs::write(&raw, &bytes).unwrap();
    let mut command = tool::command("qemu-img", ["convert", "-f", "raw", "-O", "qcow2"]);
    tool::output(command.arg(&raw).arg(&image)).unwrap();
    (bytes, fs::read(image).unwrap())
}

/// What a machine would find on a base.
fn content(base: &Base) -> Vec<u8> {
    let raw = base.path.with_extension("raw");
    let mut command = tool::command("qemu-img", ["convert", "-f", "qcow2", "-O", "raw"]);
    tool::output(command.arg(&base.path).arg(&raw)).unwrap();
    let bytes = fs::read(&raw).unwrap();
    fs::remove_file(raw).unwrap();
    bytes
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// The list of a publisher, in the publisher's own way to write it, and where list and image are.
fn listed(release: LinuxRelease, image: &[u8]) -> (&'static str, &'static str, String) {
    let (sha256, sha512) = (hex(&Sha256::digest(image)), hex(&Sha512::digest(image)));
    match release {
        LinuxRelease::Debian12 => (
            "/bookworm/latest/SHA512SUMS",
            "/bookworm/latest/debian-12-genericcloud-amd64.qcow2",
            format!(
                "{}  debian-12-generic-amd64.qcow2\n{sha512}  debian-12-genericcloud-amd64.qcow2\n",
                "0".repeat(128)
            ),
        ),
        LinuxRelease::Ubuntu2404 => (
            "/noble/release/SHA256SUMS",
            "/noble/release/ubuntu-24.04-server-cloudimg-amd64.img",
            format!("{} *unpacked/x\n{sha256} *ubuntu-24.04-server-cloudimg-amd64.img\n", "0".repeat(64)),
        ),
        LinuxRelease::Fedora44 => (
            "/44/Cloud/x86_64/images/Fedora-Cloud-44-1.7-x86_64-CHECKSUM",
            "/44/Cloud/x86_64/images/Fedora-Cloud-Base-Generic-44-1.7.x86_64.qcow2",
            format!(
                "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n\
                 # Fedora-Cloud-Base-Generic-44-1.7.x86_64.qcow2: {} bytes\n\
                 SHA256 (Fedora-Cloud-Base-Generic-44-1.7.x86_64.qcow2) = {sha256}\n\
                 -----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n",
                image.len()
            ),
        ),
        other => panic!("{other:?}"),
    }
}

/// Tells what went wrong, and what is left of it among the bases.
fn refused(ctx: &Context, image: &Image) -> String {
    let error = ensure(ctx, image, Firmware::Bios).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Download, "{error}");
    let left = files::names(&bases_dir(ctx));
    assert!(left.iter().all(|name| files::has_extension(name, "lock")), "{left:?}");
    error.to_string()
}

#[test]
fn what_publishers_list_is_fetched_checked_and_becomes_a_base() {
    for release in [LinuxRelease::Debian12, LinuxRelease::Ubuntu2404, LinuxRelease::Fedora44] {
        let (dir, server) = (tempfile::tempdir().unwrap(), Server::start());
        let (ctx, (bytes, file)) = (context(dir.path()), disk(dir.path()));
        let (sums, place, list) = listed(release, &file);
        let image = Image::Mirror { way: Way::Cloud, release, url: server.url("/") };
        // Nothing is there; then a list that does not name the image, or is a page for people; then the list alone.
        assert!(refused(&ctx, &image).contains(&format!("{sums} does not exist (404)")));
        server.put(sums, b"00  another.img\n");
        assert!(refused(&ctx, &image).contains("says nothing about"));
        server.put(sums, b"<!doctype html><title>Mirror</title>");
        assert!(refused(&ctx, &image).contains("an HTML page, \u{201c}Mirror\u{201d}"));
        server.put(sums, list.as_bytes());
        assert!(refused(&ctx, &image).contains(&format!("{place} does not exist (404)")));
        // Another file than the listed one, and one that breaks off every time.
        server.put(place, &[&file[..], b"x"].concat());
        assert!(refused(&ctx, &image).contains("has checksum"));
        server.page(place, Page { body: file.clone(), cut: Some((u32::MAX, 1000)), ..Page::default() });
        assert!(refused(&ctx, &image).contains("could not be read to its end"));
        // Fedora's server sends everybody to another one.
        server.put("/elsewhere", &file);
        server.page(place, Page { location: Some(server.url("/elsewhere")), ..Page::default() });
        let base = ensure(&ctx, &image, Firmware::Bios).unwrap();
        assert_eq!(content(&base), bytes, "{release:?}");

        // What is here is not fetched again; and it does where nobody answers any more.
        let asked = server.asked().len();
        assert_eq!(ensure(&ctx, &image, Firmware::Bios).unwrap().key, base.key);
        assert_eq!(server.asked()[asked..], [sums.to_owned()]);
        // A server that answers with nonsense is no reason to take what is here.
        server.put(sums, b"00  another.img\n");
        assert!(ensure(&ctx, &image, Firmware::Bios).unwrap_err().message.contains("says nothing about"));
        let nobody = Image::Mirror { way: Way::Cloud, release, url: "http://127.0.0.1:1".into() };
        assert_eq!(ensure(&ctx, &nobody, Firmware::Bios).unwrap().key, base.key);
        fs::remove_file(&base.path).unwrap();
        let error = ensure(&ctx, &nobody, Firmware::Bios).unwrap_err();
        assert!(error.message.contains("127.0.0.1:1 cannot be reached"), "{error}");
        assert!(error.hints.iter().any(|hint| hint.contains("mirror: …")), "{:?}", error.hints);
    }
}

#[test]
fn a_disk_does_not_stand_on_a_base_that_was_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = context(dir.path());
    let from = dir.path().join("disk.raw");
    fs::write(&from, vec![0; 1 << 20]).unwrap();
    let image = Image::File(from);
    let base = ensure(&ctx, &image, Firmware::Bios).unwrap();
    let mode = fs::metadata(&base.path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o400, "what it was made of may be private");
    let mut entry = Entry::new(base.key.clone(), mark(&base.path), Firmware::Bios, Wiring::Segment);
    stands(&ctx, &entry).unwrap();
    fs::remove_file(&base.path).unwrap();
    assert!(stands(&ctx, &entry).unwrap_err().message.contains("is gone"));
    let again = ensure(&ctx, &image, Firmware::Bios).unwrap();
    assert_eq!(again.key, base.key);
    assert!(stands(&ctx, &entry).unwrap_err().message.contains("was made anew"));
    // An entry of an earlier version has no mark, and stands as it did.
    entry.mark = None;
    stands(&ctx, &entry).unwrap();
}

#[test]
fn a_download_goes_on_where_it_broke_off_and_must_be_what_was_named() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start());
    let (ctx, (bytes, file)) = (context(dir.path()), disk(dir.path()));
    let image = Image::Url { url: server.url("/node.img"), checksum: hex(&Sha256::digest(&file)) };
    assert!(refused(&ctx, &image).contains("does not exist (404)"));
    server.put("/node.img", b"something else");
    assert!(refused(&ctx, &image).contains("has checksum"));
    server.page(
        "/node.img",
        Page { body: file, etag: Some("\"1\""), cut: Some((1, 70_000)), ..Page::default() },
    );
    assert_eq!(content(&ensure(&ctx, &image, Firmware::Bios).unwrap()), bytes);
    let asked = server.asked();
    assert_eq!(asked[asked.len() - 2..], ["/node.img", "/node.img bytes=70000-"]);
}

/// Whoever sees how far it is and wants to stop does not wait for the rest, and does not lose what is here.
#[test]
fn a_download_tells_how_far_it_is_and_can_be_stopped() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start());
    let (mut ctx, (bytes, file)) = (context(dir.path()), disk_of(dir.path(), 20));
    let image = Image::Url { url: server.url("/node.img"), checksum: hex(&Sha256::digest(&file)) };
    server.page("/node.img", Page { body: file, etag: Some("\"1\""), ..Page::default() });
    let (interrupt, heard) = (ctx.interrupt.clone(), Arc::new(Mutex::new(Vec::new())));
    let words = heard.clone();
    ctx.reporter = Reporter::new(move |_, kind| {
        if let EventKind::Doing { what } = kind {
            if what.ends_with(" of 20 MiB") {
                interrupt.set();
            }
            words.lock().unwrap().push(what);
        }
    });
    assert_eq!(ensure(&ctx, &image, Firmware::Bios).unwrap_err().id(), "interrupted");
    let told = heard.lock().unwrap().clone();
    assert_eq!(told, [format!("fetching {}", server.url("/node.img")), told[0].clone() + ": 16 of 20 MiB"]);
    ctx.interrupt = Interrupt::default();
    assert_eq!(content(&ensure(&ctx, &image, Firmware::Bios).unwrap()), bytes);
    let [first, rest] = &server.asked()[..] else { panic!("asked {:?}", server.asked()) };
    assert!(first == "/node.img" && rest.starts_with("/node.img bytes="), "{first}, {rest}");
}

/// A base that lost bytes is never given to a machine: it is made anew.
#[test]
fn a_damaged_base_is_made_anew() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start());
    let (ctx, (bytes, file)) = (context(dir.path()), disk(dir.path()));
    server.put("/node.img", &file);
    let of_server = Image::Url { url: server.url("/node.img"), checksum: hex(&Sha256::digest(&file)) };
    let of_file = Image::File(dir.path().join("disk.raw"));
    for image in [of_server, of_file] {
        let base = ensure(&ctx, &image, Firmware::Bios).unwrap();
        let size = base.path.metadata().unwrap().len();
        for left in [size - 70_000, size / 2, 100, 0] {
            fs::set_permissions(&base.path, fs::Permissions::from_mode(0o600)).unwrap();
            File::options().write(true).open(&base.path).unwrap().set_len(left).unwrap();
            assert!(!is_whole(&base.path).unwrap(), "{left} of {size} bytes");
            assert_eq!(content(&ensure(&ctx, &image, Firmware::Bios).unwrap()), bytes);
        }
    }
    assert_eq!(server.asked(), ["/node.img"], "the download is still here");
}

/// Whatever can be known of an image on this host is told before anything is made, all of it at once.
#[test]
fn an_image_on_this_host_is_looked_at_first() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = context(dir.path());
    let told = |image: Image, disk_gib, firmware| {
        let vm = VmSpec { image, disk_gib, firmware, wiring: None };
        let error = require(&ctx, &vm).err();
        error.map_or(Vec::new(), |error| {
            [error.message].into_iter().chain(error.others.into_iter().map(|it| it.message)).collect()
        })
    };
    let large = dir.path().join("large.qcow2");
    let file = || Image::File(large.clone());
    assert!(told(file(), 20, Firmware::Bios)[0].contains("cannot read the image"));
    tool::output(tool::command("qemu-img", ["create", "-q", "-f", "qcow2"]).arg(&large).arg("21G")).unwrap();
    let both = told(file(), 20, Firmware::Bios);
    assert!(both[0].contains("21Gi are needed") && both[1].contains("nothing on the image"), "{both:?}");
    fs::write(&large, b"QFI\xfb and then no more").unwrap();
    assert!(told(file(), 20, Firmware::Bios)[0].contains("cannot be understood"));
    let (pipe, directory) = (dir.path().join("pipe"), dir.path().to_owned());
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in [pipe, directory] {
        assert!(told(Image::File(path), 20, Firmware::Bios)[0].contains("it is no file"));
    }
    // A disk that a system is on.
    let mut sectors = vec![0; 1 << 20];
    sectors[510..512].copy_from_slice(MARKED);
    fs::write(&large, sectors).unwrap();
    assert!(told(file(), 20, Firmware::Uefi).is_empty());

    // Disks of a sealed Windows, with partitions for BIOS and for UEFI.
    let sealed = |name: &str, table: &[u8]| {
        let (raw, path) = (dir.path().join("raw"), dir.path().join(name));
        let mut sectors = vec![0; 4 << 20];
        let end = 510 + table.len();
        sectors[510..end].copy_from_slice(table);
        fs::write(&raw, sectors).unwrap();
        let mut command = tool::command("qemu-img", ["convert", "-f", "raw", "-O", "vhdx"]);
        tool::output(command.arg(&raw).arg(&path)).unwrap();
        let source = WindowsSource::Vhdx { path };
        let image = WindowsImage { source, product_key_file: None, virtio: None, openssh: None };
        Image::Windows(Box::new(image))
    };
    assert!(told(sealed("blank.vhdx", b""), 60, Firmware::Uefi)[0].contains("nothing on the image"));
    let (old, new) = (sealed("old.vhdx", MARKED), sealed("new.vhdx", b"\x55\xaaEFI PART"));
    assert!(told(old.clone(), 60, Firmware::Bios).is_empty());
    assert!(told(new.clone(), 60, Firmware::SecureBoot).is_empty());
    let both = told(old, 0, Firmware::Uefi);
    assert!(both[0].contains("1Gi are needed") && both[1].contains("starts with BIOS only"), "{both:?}");
    assert!(told(new, 60, Firmware::Bios)[0].contains("starts with UEFI only"));
    assert!(files::names(&bases_dir(&ctx)).is_empty(), "something is left");
}

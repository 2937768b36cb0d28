//! The user's media is looked at before anything is made, and the seeds of two machines have nothing in common that matters.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::{
    fs::{self, File},
    net::Ipv4Addr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use swdt_core::{
    Error,
    machine::windows::{
        media::{self, Media},
        seed::{Becomes, Locale, Seed},
    },
    spec::{OpenSsh, WindowsImage, WindowsSource},
};
use swdt_media::{
    answer::{ComputerName, From, Network},
    iso::Iso,
};
use swdt_wire::FirstBoot;

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A disc as Microsoft makes them, with one system on it.
fn disc(dir: &Path, name: &str, installation: &str, build: u32) -> PathBuf {
    let (tree, system) = (dir.join(format!("{build}-{installation}")), dir.join("system"));
    fs::create_dir_all(tree.join("sources")).unwrap();
    fs::create_dir_all(&system).unwrap();
    let wim = tree.join("sources/install.wim");
    run(
        "wimlib-imagex",
        &[
            "capture",
            system.to_str().unwrap(),
            wim.to_str().unwrap(),
            name,
            "--image-property=WINDOWS/EDITIONID=ServerStandardEval",
            &format!("--image-property=WINDOWS/INSTALLATIONTYPE={installation}"),
            "--image-property=WINDOWS/ARCH=9",
            &format!("--image-property=WINDOWS/VERSION/BUILD={build}"),
        ],
    );
    // So large that half of it is still known for what it is.
    fs::write(tree.join("sources/boot.wim"), vec![0; 4 << 20]).unwrap();
    let iso = tree.with_extension("iso");
    run("genisoimage", &["-quiet", "-udf", "-o", iso.to_str().unwrap(), tree.to_str().unwrap()]);
    iso
}

fn image(path: &Path, edition: Option<&str>) -> WindowsImage {
    let source = WindowsSource::Iso { path: path.to_owned(), edition: edition.map(str::to_owned) };
    WindowsImage { source, product_key_file: None, virtio: None, openssh: None }
}

/// All that is wrong, with what to do about it.
fn told(error: &Error) -> String {
    let one = |error: &Error| format!("{error}\n{}\n", error.hints.join("\n"));
    error.others.iter().map(one).fold(one(error), |text, next| text + &next)
}

#[test]
fn what_cannot_be_installed_is_refused_with_what_was_found() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |image: &WindowsImage| told(&media::look(image, false).unwrap_err());

    let new = disc(dir.path(), "Windows Server 2025 SERVERSTANDARDCORE", "Server Core", 26100);
    let looked = media::look(&image(&new, None), false).unwrap();
    assert!(
        matches!(&looked.media, Media::Disc { edition, .. } if edition.index == 1 && edition.core),
        "{looked:?}"
    );

    let why = refused(&image(&new, Some("Datacenter")));
    assert!(why.contains("\"Datacenter\"") && why.contains("SERVERSTANDARDCORE"), "{why}");
    let why = refused(&image(&dir.path().join("nowhere.iso"), None));
    assert!(why.contains("nowhere.iso") && why.contains("https://aka.ms/WinServ2025iso-enus"), "{why}");
    let client = disc(dir.path(), "Windows 11 Pro", "Client", 26100);
    let why = refused(&image(&client, None));
    assert!(why.contains("Windows 11 Pro (build 26100)"), "{why}");
    let cut = dir.path().join("cut.iso");
    let bytes = fs::read(&new).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let why = refused(&image(&cut, None));
    assert!(why.contains("not complete") || why.contains("ends before it should"), "{why}");

    // Before 2025 OpenSSH must come along, and be what it should be; all that is wrong is told at once.
    let old = disc(dir.path(), "Windows Server 2022 SERVERSTANDARDCORE", "Server Core", 20348);
    let why = refused(&image(&old, None));
    assert!(why.contains("image.openssh: the disc brings no SSH") && why.contains("OpenSSH-Win64"), "{why}");
    let package = dir.path().join("openssh.msi");
    fs::write(&package, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more").unwrap();
    let openssh = OpenSsh { path: package.clone(), sha256: "0".repeat(64) };
    let key = dir.path().join("key");
    fs::write(&key, "no key\n").unwrap();
    let all = WindowsImage {
        product_key_file: Some(key.clone()),
        virtio: Some(dir.path().join("no-virtio.iso")),
        openssh: Some(openssh),
        ..image(&old, None)
    };
    let why = told(&media::look(&all, true).unwrap_err());
    for words in
        ["by UEFI", "five groups", "no-virtio.iso", "download https://fedorapeople", "has the SHA-256"]
    {
        assert!(why.contains(words), "{words}: {why}");
    }
    // Also when none of its editions is meant.
    let nothing = WindowsImage { virtio: Some(new.clone()), ..image(&old, Some("Essentials")) };
    let why = refused(&nothing);
    for words in ["\"Essentials\"", "image.virtio: ", "image.openssh: "] {
        assert!(why.contains(words), "{words}: {why}");
    }
    fs::write(&package, "a web page").unwrap();
    assert!(refused(&all).contains("no installer package"));

    // A key of any kind is wrong for an evaluation; it is never told.
    fs::write(&key, "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE\r\nand more\n").unwrap();
    let keyed = WindowsImage { product_key_file: Some(key), ..image(&new, None) };
    let why = refused(&keyed);
    assert!(why.contains("takes no product key") && !why.contains("AAAAA"), "{why}");
    let gone = WindowsImage { product_key_file: Some("/nowhere/key".into()), ..image(&new, None) };
    assert!(refused(&gone).contains("image.productKeyFile: /nowhere/key cannot be read"));

    // A disk is one that Windows would know.
    let sealed = dir.path().join("sealed.vhdx");
    let disk = |path: &Path| {
        let source = WindowsSource::Vhdx { path: path.to_owned() };
        WindowsImage { source, ..image(&new, None) }
    };
    fs::write(&sealed, "a web page").unwrap();
    assert!(refused(&disk(&sealed)).contains("is no VHDX and no dynamic VHD"));
    for (format, name) in [("vhdx", "sealed.vhdx"), ("vpc", "sealed.vhd")] {
        let sealed = dir.path().join(name);
        run("qemu-img", &["create", "-q", "-f", format, sealed.to_str().unwrap(), "64M"]);
        assert_eq!(media::look(&disk(&sealed), true).unwrap().media, Media::Disk { vhdx: sealed });
    }
}

/// Two machines from one base: their seeds differ in name, host key and password.
#[test]
fn two_clones_have_their_own_seeds() {
    let dir = tempfile::tempdir().unwrap();
    let seed = |name: &str, last: u8| -> (String, FirstBoot) {
        let (key, iso) = (dir.path().join(format!("{name}.key")), dir.path().join(format!("{name}.iso")));
        let wanted = Seed {
            from: From::SealedDisk,
            name: ComputerName::new(name).unwrap(),
            locale: Locale::of("en-US"),
            product_key: None,
            desktop: false,
            becomes: Becomes::Node {
                authorized_key: "ssh-ed25519 AAAA swdt",
                host_key: &key,
                network: Network {
                    mac: format!("52:54:00:00:00:{last:02X}"),
                    address: format!("10.0.2.{last}/24").parse().unwrap(),
                    gateway: Ipv4Addr::new(10, 0, 2, 2),
                    dns: Vec::new(),
                },
            },
            program: b"MZ",
            openssh: None,
            drivers: Vec::new(),
        };
        wanted.write(&iso).unwrap();
        assert_eq!(iso.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let mut disc = Iso::open(File::open(&iso).unwrap()).unwrap();
        let answers = String::from_utf8(disc.read("Autounattend.xml").unwrap().unwrap()).unwrap();
        assert_eq!(disc.read("Unattend.xml").unwrap().unwrap(), answers.as_bytes(), "both names");
        let first_boot =
            serde_json::from_slice(&disc.read("swdt/first-boot.json").unwrap().unwrap()).unwrap();
        (answers, first_boot)
    };
    let ((one, first), (other, second)) = (seed("win1", 20), seed("win2", 21));
    let password =
        |answers: &str| answers.lines().find(|line| line.contains("<Value>")).unwrap().trim().to_owned();
    assert_ne!(password(&one), password(&other));
    assert!(one.contains("<ComputerName>win1<") && other.contains("<ComputerName>win2<"));
    assert_ne!(first.host_key, second.host_key);
    assert_eq!(first.network.unwrap().mac, "52:54:00:00:00:14");
    // Written once more, the machine keeps its key, and the password is another one.
    let (again, third) = seed("win1", 20);
    assert_eq!(third.host_key, first.host_key);
    assert_ne!(password(&again), password(&one));
}

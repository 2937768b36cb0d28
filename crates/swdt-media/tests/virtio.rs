//! Discs with Joliet names that other people's tools wrote, the virtio-win disc above all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::{
    fs::{self, File},
    io::Cursor,
    path::{Path, PathBuf},
    process::Command,
};

use swdt_media::{
    iso::{Content, Disc, Iso},
    virtio,
    windows::Release,
};

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// As the virtio-win disc is laid out; its own maker uses Joliet and Rock Ridge.
fn virtio_disc(dir: &Path) -> PathBuf {
    let tree = dir.join("tree");
    for driver in ["viostor", "NetKVM", "Balloon", "qxldod"] {
        for release in ["2k19", "2k22", "w11"] {
            let folder = tree.join(driver).join(release).join("amd64");
            fs::create_dir_all(&folder).unwrap();
            for ending in ["inf", "cat", "sys", "pdb"] {
                let name = format!("{}.{ending}", driver.to_lowercase());
                fs::write(folder.join(name), format!("{driver} {release} {ending}").repeat(700)).unwrap();
            }
        }
    }
    // More than one sector of records.
    fs::create_dir_all(tree.join("data")).unwrap();
    for number in 0..120 {
        fs::write(tree.join(format!("data/a file with a long name {number:03}.txt")), [b'x'; 9]).unwrap();
    }
    let iso = dir.join("virtio-win.iso");
    let (iso_text, tree_text) = (iso.to_str().unwrap(), tree.to_str().unwrap());
    run("xorriso", &["-as", "mkisofs", "-quiet", "-J", "-R", "-V", "virtio-win", "-o", iso_text, tree_text]);
    iso
}

#[test]
fn drivers_of_one_release_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let iso = virtio_disc(dir.path());
    let files = virtio::drivers(File::open(&iso).unwrap(), Release::Server2022).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names.len(), 9, "{names:?}");
    assert!(names.contains(&"NetKVM/netkvm.inf") && names.contains(&"viostor/viostor.sys"), "{names:?}");
    for file in &files {
        let (driver, name) = file.path.split_once('/').unwrap();
        let on_host = dir.path().join("tree").join(driver).join("2k22/amd64").join(name);
        assert!(file.bytes == fs::read(&on_host).unwrap(), "{}", file.path);
    }
    let old = virtio::drivers(File::open(&iso).unwrap(), Release::Server2025).unwrap_err();
    assert!(old.to_string().contains("viostor and NetKVM for Windows Server 2025"), "{old}");
    let mut disc = Iso::open(File::open(&iso).unwrap()).unwrap();
    assert_eq!(disc.list("data").unwrap().unwrap().len(), 120);
    assert_eq!(disc.list("nothing/here").unwrap(), None);
    assert_eq!(disc.read("viostor").unwrap(), None);
}

#[test]
fn plain_names_are_read_where_there_are_no_others_and_ours_too() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("readme.txt"), "hello").unwrap();
    let iso = dir.path().join("plain.iso");
    run(
        "genisoimage",
        &["-quiet", "-o", iso.to_str().unwrap(), dir.path().join("readme.txt").to_str().unwrap()],
    );
    let mut disc = Iso::open(File::open(&iso).unwrap()).unwrap();
    assert_eq!(disc.read("README.TXT").unwrap().unwrap(), b"hello");

    let mut ours = Disc::new("seed");
    ours.add("swdt/A long name that stays.json", Content::Bytes(b"{}".to_vec()));
    let mut bytes = Vec::new();
    ours.write(&mut bytes).unwrap();
    let mut disc = Iso::open(Cursor::new(&bytes)).unwrap();
    assert_eq!(disc.read("swdt/A long name that stays.json").unwrap().unwrap(), b"{}");
}

/// Cut or changed anywhere: an error or an answer, and an end.
#[test]
fn a_broken_disc_is_refused_and_never_believed() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(virtio_disc(dir.path())).unwrap();
    let cut = virtio::drivers(Cursor::new(&bytes[..bytes.len() / 2]), Release::Server2022).unwrap_err();
    assert!(cut.to_string().contains("not complete"), "{cut}");
    let mut refused = 0;
    for at in (16 * 2048..200 * 2048).step_by(397) {
        let mut changed = bytes.clone();
        changed[at] ^= 0xff;
        refused += u32::from(virtio::drivers(Cursor::new(&changed), Release::Server2022).is_err());
    }
    assert!(refused > 0, "nothing that was changed mattered");
    assert!(virtio::drivers(Cursor::new(b"a web page"), Release::Server2022).is_err());
}

//! Discs against other people's tools: what we write is read by them, what they write is read by us.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Cursor, Read},
    path::Path,
    process::Command,
};

use swdt_media::{
    iso::{Content, Disc},
    udf::Udf,
    windows::{self, Release},
};

fn run(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Files of every awkward kind.
fn awkward() -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::from([
        ("Autounattend.xml".to_owned(), b"<unattend/>".to_vec()),
        ("empty".to_owned(), Vec::new()),
        ("exactly-one-sector.bin".to_owned(), vec![7; 2048]),
        ("$OEM$/$1/h\u{e9}llo w\u{f6}rld.txt".to_owned(), b"hello".to_vec()),
        ("a-name-that-is-rather-long-for-a-disc-of-1988.config".to_owned(), vec![1; 5000]),
        ("swdt/deep/deeper/deepest/program.exe".to_owned(), vec![42; 300_000]),
    ]);
    // More than a sector of records, and names that are alike in eight letters.
    files.extend((0..200).map(|number| (format!("many/file-number-{number:03}.txt"), vec![b'x'; number])));
    files
}

#[test]
fn other_tools_read_what_we_write() {
    let dir = tempfile::tempdir().unwrap();
    let iso = dir.path().join("seed.iso");
    let mut disc = Disc::new("cidata");
    for (path, bytes) in awkward() {
        // One of them comes from a file.
        if path.ends_with("program.exe") {
            fs::write(dir.path().join("program"), &bytes).unwrap();
            disc.add(&path, Content::File(dir.path().join("program")));
        } else {
            disc.add(&path, Content::Bytes(bytes));
        }
    }
    disc.write(File::create(&iso).unwrap()).unwrap();
    assert!(run("isoinfo", &["-d", "-i", text(&iso)]).contains("Volume id: cidata"));
    assert!(run("blkid", &["-p", "-o", "value", "-s", "LABEL", text(&iso)]).contains("cidata"));

    // By Joliet, as Windows and Linux read it.
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    run(
        "xorriso",
        &["-osirrox", "on", "-read_fs", "norock", "-indev", text(&iso), "-extract", "/", text(&out)],
    );
    for (path, bytes) in awkward() {
        assert_eq!(
            fs::read(out.join(&path)).unwrap_or_else(|error| panic!("{path}: {error}")),
            bytes,
            "{path}"
        );
    }
    // By the plain names of 1988: as many files, each name once.
    let plain = run("isoinfo", &["-f", "-i", text(&iso)]);
    let names: Vec<&str> = plain.lines().filter(|line| line.ends_with(";1")).collect();
    assert_eq!(names.len(), awkward().len(), "{plain}");

    // The same tree gives the same bytes.
    let (mut one, mut other) = (Vec::new(), Vec::new());
    disc.write(&mut one).unwrap();
    disc.write(&mut other).unwrap();
    assert!(one == other && one == fs::read(&iso).unwrap());
}

#[test]
fn names_that_no_disc_can_hold_are_refused() {
    for bad in ["a//b", "../up", "what?", "a\nb", &"x".repeat(65)] {
        let mut disc = Disc::new("seed");
        disc.add(bad, Content::Bytes(Vec::new()));
        assert!(disc.write(Vec::new()).is_err(), "{bad:?}");
    }
    let mut disc = Disc::new("seed");
    disc.add("a", Content::Bytes(Vec::new()));
    disc.add("A", Content::Bytes(Vec::new()));
    assert!(disc.write(Vec::new()).unwrap_err().to_string().contains("twice"));
    assert!(Disc::new("a label that is too long").write(Vec::new()).is_err());
}

/// A disc as Microsoft makes them: UDF, with a WIM of real editions.
fn windows_disc(dir: &Path, editions: &[(&str, &str, &str)], build: u32) -> std::path::PathBuf {
    let (tree, empty) = (dir.join("tree"), dir.join("empty"));
    for name in ["sources", "efi/boot"] {
        fs::create_dir_all(tree.join(name)).unwrap();
    }
    fs::create_dir_all(&empty).unwrap();
    fs::write(empty.join("a file"), b"of the system").unwrap();
    fs::write(tree.join("efi/boot/bootx64.efi"), b"MZ").unwrap();
    fs::write(tree.join("sources/ei.cfg"), b"[Channel]\r\neval\r\n").unwrap();
    let wim = tree.join("sources/install.wim");
    for (number, (name, edition, installation)) in editions.iter().enumerate() {
        let command = if number == 0 { "capture" } else { "append" };
        let display = format!("{name} & more");
        run(
            "wimlib-imagex",
            &[
                command,
                text(&empty),
                text(&wim),
                name,
                &format!("--image-property=DISPLAYNAME={display}"),
                &format!("--image-property=WINDOWS/EDITIONID={edition}"),
                &format!("--image-property=WINDOWS/INSTALLATIONTYPE={installation}"),
                "--image-property=WINDOWS/ARCH=9",
                "--image-property=WINDOWS/LANGUAGES/DEFAULT=de-DE",
                &format!("--image-property=WINDOWS/VERSION/BUILD={build}"),
            ],
        );
    }
    let iso = dir.join("windows.iso");
    run(
        "genisoimage",
        &["-quiet", "-udf", "-iso-level", "3", "-allow-limited-size", "-o", text(&iso), text(&tree)],
    );
    iso
}

const SERVER_2022: [(&str, &str, &str); 4] = [
    ("Windows Server 2022 SERVERSTANDARDCORE", "ServerStandardEval", "Server Core"),
    ("Windows Server 2022 SERVERSTANDARD", "ServerStandardEval", "Server"),
    ("Windows Server 2022 SERVERDATACENTERCORE", "ServerDatacenterEval", "Server Core"),
    ("Windows Server 2022 SERVERDATACENTER", "ServerDatacenterEval", "Server"),
];

#[test]
fn a_server_disc_shows_its_editions() {
    let dir = tempfile::tempdir().unwrap();
    let iso = windows_disc(dir.path(), &SERVER_2022, 20348);
    let disc = windows::look(File::open(&iso).unwrap()).unwrap();
    assert!(disc.uefi);
    assert_eq!(disc.editions.len(), 4);
    let first = &disc.editions[0];
    assert_eq!(
        (first.index, first.release, first.core, first.evaluation),
        (1, Release::Server2022, true, true)
    );
    assert_eq!(
        (first.language.as_str(), first.display_name.as_str()),
        ("de-DE", "Windows Server 2022 SERVERSTANDARDCORE & more")
    );

    let chosen = |name: Option<&str>| {
        disc.choose(name).map(|edition| edition.index).map_err(|error| error.to_string())
    };
    assert_eq!(chosen(None), Ok(1));
    assert_eq!(chosen(Some("datacenter")), Ok(3));
    assert_eq!(chosen(Some("Datacenter-Desktop")), Ok(4));
    assert_eq!(chosen(Some("Windows Server 2022 SERVERSTANDARD")), Ok(2));
    assert_eq!(chosen(Some("2")), Ok(2));
    let why = chosen(Some("Essentials")).unwrap_err();
    assert!(
        why.contains("\"Essentials\"") && why.contains("4 Windows Server 2022 SERVERDATACENTER"),
        "{why}"
    );

    // Independent eyes see the same bytes.
    let ours = {
        let mut udf = Udf::open(File::open(&iso).unwrap()).unwrap();
        let mut bytes = Vec::new();
        udf.file("SOURCES/Install.WIM").unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert!(ours == fs::read(dir.path().join("tree/sources/install.wim")).unwrap());
}

#[test]
fn what_is_no_server_disc_is_refused_with_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |iso: &Path| windows::look(File::open(iso).unwrap()).unwrap_err();

    let client = [("Windows 11 Pro", "Professional", "Client"), ("Windows 11 Home", "Core", "Client")];
    let why = refused(&windows_disc(dir.path(), &client, 26100)).to_string();
    assert!(why.contains("Windows 11 Pro & more (build 26100); Windows 11 Home"), "{why}");

    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("README"), "no Windows").unwrap();
    let iso = dir.path().join("other.iso");
    run("genisoimage", &["-quiet", "-udf", "-o", text(&iso), text(other.path())]);
    assert!(refused(&iso).to_string().contains("no sources/install.wim"));
    run("genisoimage", &["-quiet", "-o", text(&iso), text(other.path())]);
    assert!(refused(&iso).to_string().contains("no UDF disc"));
    fs::write(&iso, "a web page that asks for registration").unwrap();
    assert!(refused(&iso).to_string().contains("no UDF disc"));
}

/// Cut anywhere, or with a byte changed anywhere: an error or the same answer, and an end.
#[test]
fn a_broken_disc_is_refused_and_never_believed() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(windows_disc(dir.path(), &SERVER_2022[..1], 20348)).unwrap();
    // genisoimage puts 150 empty sectors behind everything.
    for length in (0..bytes.len() - 152 * 2048).step_by(2048 * 7) {
        let cut = windows::look(Cursor::new(&bytes[..length])).unwrap_err();
        assert!(cut.hint().is_some(), "{length}: {cut}");
    }
    let whole = windows::look(Cursor::new(&bytes)).unwrap();
    let mut refused = 0;
    for at in (16 * 2048..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 0xff;
        match windows::look(Cursor::new(&changed)) {
            Ok(disc) => assert_eq!(disc.editions.len(), whole.editions.len(), "byte {at}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0, "nothing that was changed mattered");
}

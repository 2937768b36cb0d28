//! Discs against other people's tools: what we write is read by them, what they write is read by us.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Cursor, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
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

/// What is on a disc of Microsoft: a WIM of real editions, and what firmware starts.
fn windows_tree(dir: &Path, editions: &[(&str, &str, &str)], build: u32) -> PathBuf {
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
    tree
}

/// As Microsoft makes discs: UDF, with files of any size.
const UDF: [&str; 5] = ["-quiet", "-udf", "-iso-level", "3", "-allow-limited-size"];

/// A disc as Microsoft makes them.
fn windows_disc(dir: &Path, editions: &[(&str, &str, &str)], build: u32) -> PathBuf {
    let (tree, iso) = (windows_tree(dir, editions, build), dir.join("windows.iso"));
    run("genisoimage", &[&UDF[..], &["-o", text(&iso), text(&tree)]].concat());
    iso
}

/// The same disc of a tree. What is zero takes no room, and hardly any time.
fn sparse_disc(tree: &Path, iso: &Path) {
    let mut making = Command::new("genisoimage").args(UDF).arg(tree).stdout(Stdio::piped()).spawn().unwrap();
    let (mut from, mut to) = (making.stdout.take().unwrap(), File::create(iso).unwrap());
    let (mut bytes, zeros, mut length) = (vec![0; 1 << 16], vec![0; 1 << 16], 0);
    loop {
        let count = from.read(&mut bytes).unwrap();
        if count == 0 {
            break;
        }
        if bytes[..count] != zeros[..count] {
            to.seek(SeekFrom::Start(length)).unwrap();
            to.write_all(&bytes[..count]).unwrap();
        }
        length += count as u64;
    }
    to.set_len(length).unwrap();
    assert!(making.wait().unwrap().success());
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

/// An install.wim has gigabytes, and a piece of a file less than one: it lies in several. Its list of systems is at its
/// end; here it lies across the boundary of the second piece and the third.
#[test]
fn a_file_of_several_pieces_is_read_as_one() {
    const PIECE: u64 = (1 << 30) - 2048;
    let end = 2 * PIECE + (100 << 20) + 7;
    let dir = tempfile::tempdir().unwrap();
    let tree = windows_tree(dir.path(), &SERVER_2022, 20348);
    let mut wim = File::options().read(true).write(true).open(tree.join("sources/install.wim")).unwrap();
    let put = |wim: &mut File, at: u64, bytes: &[u8]| {
        wim.seek(SeekFrom::Start(at)).unwrap();
        wim.write_all(bytes).unwrap();
    };
    let mut place = [[0; 8]; 2];
    wim.seek(SeekFrom::Start(72)).unwrap();
    for number in &mut place {
        wim.read_exact(number).unwrap();
    }
    let [size, from] = place.map(u64::from_le_bytes);
    let mut list = vec![0; usize::try_from(size & 0xff_ffff).unwrap()];
    wim.seek(SeekFrom::Start(from)).unwrap();
    wim.read_exact(&mut list).unwrap();
    let to = 2 * PIECE - 100;
    put(&mut wim, from, &vec![0; list.len()]);
    put(&mut wim, to, &list);
    put(&mut wim, 80, &to.to_le_bytes());
    // Across the first boundary, on either side of it, and at the end stands where it is.
    let marks = [PIECE - 24, PIECE - 8, PIECE + 8, (1 << 30) - 8, end - 16];
    for at in marks {
        put(&mut wim, at, format!("{at:016x}").as_bytes());
    }

    let iso = dir.path().join("windows.iso");
    sparse_disc(&tree, &iso);
    assert_eq!(windows::look(File::open(&iso).unwrap()).unwrap().editions.len(), 4);
    let mut udf = Udf::open(File::open(&iso).unwrap()).unwrap();
    let mut file = udf.file("sources/install.wim").unwrap().unwrap();
    assert_eq!(file.size(), end);
    for at in marks {
        let mut mark = [0; 16];
        file.seek(SeekFrom::Start(at)).unwrap();
        file.read_exact(&mut mark).unwrap();
        assert_eq!(String::from_utf8_lossy(&mark), format!("{at:016x}"));
    }
    let mut rest = Vec::new();
    file.seek(SeekFrom::End(-20)).unwrap();
    file.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, [&[0; 4], format!("{:016x}", end - 16).as_bytes()].concat());
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

//! The laws, over generated machines and resources, in scratch roots.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use proptest::prelude::*;
use swdt_node::{
    Ctx, blobs, disk,
    laws::{Case, Held, fingerprint, revert},
    state::State,
};
use swdt_wire::{
    Archive, ArchiveFormat, Blob, Content, Dir, EnvPath, File, Hostname, KernelModule, Kind, Line, Resource,
    Secret, Swap, Sysctl, Traces,
};

/// What may be at a path before us.
#[derive(Debug, Clone)]
enum There {
    Nothing,
    NoParents,
    File(String, u32),
    Link(&'static str),
    EmptyDir(u32),
    FullDir,
}

impl There {
    fn put(&self, ctx: &Ctx, at: &str) {
        let path = ctx.path(at);
        if matches!(self, Self::NoParents) {
            return;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        match self {
            Self::Nothing | Self::NoParents => {}
            Self::File(text, bits) => {
                fs::write(&path, text).unwrap();
                mode(&path, *bits);
            }
            Self::Link(to) => {
                fs::write(path.parent().unwrap().join("neighbour"), "of the link\n").unwrap();
                symlink(to, &path).unwrap();
            }
            Self::EmptyDir(bits) => {
                fs::create_dir(&path).unwrap();
                mode(&path, *bits);
            }
            Self::FullDir => {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("mine"), "keep").unwrap();
            }
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof!["a", "b", "line of ours", "", " x", "\\PC{0,8}"], 0..4)
        .prop_flat_map(|lines| {
            let text = lines.join("\n");
            prop_oneof![Just(text.clone()), Just(text + "\n")]
        })
}

fn mode() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0o644), Just(0o600), Just(0o755), Just(0o640), Just(0o4755)]
}

fn there() -> impl Strategy<Value = There> {
    prop_oneof![
        Just(There::Nothing),
        Just(There::NoParents),
        (text(), mode()).prop_map(|(text, mode)| There::File(text, mode)),
        prop_oneof![Just("neighbour"), Just("nowhere")].prop_map(There::Link),
        mode().prop_map(There::EmptyDir),
        Just(There::FullDir),
    ]
}

fn file_or_nothing() -> impl Strategy<Value = There> {
    prop_oneof![
        Just(There::Nothing),
        Just(There::NoParents),
        (text(), mode()).prop_map(|(text, mode)| There::File(text, mode)),
    ]
}

/// A blob that every scene holds.
const BLOB: &[u8] = b"bytes of a blob";

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        text().prop_map(Content::Text),
        text().prop_map(|text| Content::Secret(Secret::new(text))),
        Just(Content::Blob(blob(BLOB))),
    ]
}

fn blob(bytes: &[u8]) -> Blob {
    Blob { sha256: disk::sha256_hex(bytes), size: bytes.len() as u64 }
}

fn store(ctx: &Ctx, bytes: &[u8]) {
    blobs::put(&State::of(ctx), &disk::sha256_hex(bytes), &mut &*bytes).unwrap();
}

fn tar(files: &[(String, Vec<u8>, u32)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let header = |kind, size: usize, mode| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size as u64);
        header.set_mode(mode);
        header
    };
    for (name, bytes, mode) in files {
        let mut header = header(tar::EntryType::Regular, bytes.len(), *mode);
        tar.append_data(&mut header, format!("top/{name}"), &bytes[..]).unwrap();
    }
    let mut dir = header(tar::EntryType::Directory, 0, 0o700);
    tar.append_data(&mut dir, "top/sub/empty/", &b""[..]).unwrap();
    let mut link = header(tar::EntryType::Symlink, 0, 0o777);
    tar.append_link(&mut link, "top/sub/link", "../a").unwrap();
    let mut hard = header(tar::EntryType::Link, 0, 0o644);
    tar.append_link(&mut hard, "top/sub/hard", format!("top/{}", files[0].0)).unwrap();
    tar.into_inner().unwrap()
}

fn one(kind: Kind) -> Vec<Resource> {
    vec![Resource::new("test/it", kind)]
}

fn hold(scene: &dyn Fn(&Ctx), earlier: &[Resource], resources: &[Resource]) -> Result<Held, TestCaseError> {
    let base = tempfile::tempdir_in(scratch()).unwrap();
    Case { base: base.path(), scene, earlier, resources }.hold().map_err(TestCaseError::fail)
}

/// Memory where there is some: the laws sync thousands of files.
fn scratch() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new("/tmp") }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files(there in there(), content in content(), earlier in proptest::option::of(content()), bits in mode()) {
        let at = "/etc/some/dir/file";
        let file = |content| one(Kind::File(File { path: at.into(), content, mode: bits }));
        let scene = |ctx: &Ctx| { store(ctx, BLOB); there.put(ctx, at) };
        let held = hold(&scene, &earlier.map(file).unwrap_or_default(), &file(content))?;
        let dir = matches!(there, There::EmptyDir(_) | There::FullDir);
        prop_assert_eq!(held == Held::Refused, dir);
    }

    #[test]
    fn dirs(there in there(), bits in mode()) {
        let at = "/opt/some/dir";
        let held = hold(&|ctx| there.put(ctx, at), &[], &one(Kind::Dir(Dir { path: at.into(), mode: bits })))?;
        let other = matches!(there, There::File(..) | There::Link(_));
        prop_assert_eq!(held == Held::Refused, other);
    }

    #[test]
    fn lines(there in there(), line in prop_oneof!["line of ours", "a", "x y z"], second: bool) {
        let at = "/etc/some/hosts";
        let mut lines = one(Kind::Line(Line { path: at.into(), line }));
        if second {
            lines.push(Resource::new("test/second", Kind::Line(Line { path: at.into(), line: "second".into() })));
        }
        let held = hold(&|ctx| there.put(ctx, at), &[], &lines)?;
        let dir = matches!(there, There::EmptyDir(_) | There::FullDir);
        prop_assert_eq!(held == Held::Refused, dir);
    }

    #[test]
    fn archives(
        first in there(),
        second in file_or_nothing(),
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
        bits in mode(),
        upgrade: bool,
        only: bool,
    ) {
        let packed = |bytes: &[u8]| tar(&[("a".into(), bytes.to_vec(), bits), ("sub/b".into(), bytes.to_vec(), 0o777)]);
        let archive = |tar: &[u8]| one(Kind::Archive(Archive {
            blob: blob(tar),
            format: ArchiveFormat::Tar,
            into: "/opt/tool".into(),
            strip: 1,
            only: if only { vec!["a".into(), "sub/b".into()] } else { Vec::new() },
        }));
        let (old, new) = (packed(b"old"), packed(&bytes));
        let scene = |ctx: &Ctx| {
            store(ctx, &old);
            store(ctx, &new);
            first.put(ctx, "/opt/tool/a");
            second.put(ctx, "/opt/tool/sub/b");
        };
        let earlier = if upgrade { archive(&old) } else { Vec::new() };
        let held = hold(&scene, &earlier, &archive(&new))?;
        let dir = matches!(first, There::EmptyDir(_) | There::FullDir);
        prop_assert_eq!(held == Held::Refused, dir);
    }

    #[test]
    fn sysctls(there in file_or_nothing(), live in prop_oneof!["0\n", "1\n", "1\t2  3\n"], value in prop_oneof!["1", "1 2 3"]) {
        let key = "net.ipv4.ip_forward";
        let scene = |ctx: &Ctx| {
            There::File(live.clone(), 0o644).put(ctx, "/proc/sys/net/ipv4/ip_forward");
            there.put(ctx, "/etc/sysctl.d/90-swdt-net.ipv4.ip_forward.conf");
        };
        let held = hold(&scene, &[], &one(Kind::Sysctl(Sysctl { key: key.into(), value })))?;
        prop_assert_eq!(held, Held::Made);
    }

    #[test]
    fn hostnames(there in file_or_nothing(), name in "[a-z][a-z0-9]{0,8}") {
        let held = hold(&|ctx| there.put(ctx, "/etc/hostname"), &[], &one(Kind::Hostname(Hostname { name })))?;
        prop_assert_eq!(held, Held::Made);
    }

    #[test]
    fn modules(there in file_or_nothing()) {
        let scene = |ctx: &Ctx| there.put(ctx, "/etc/modules-load.d/swdt-overlay.conf");
        let held = hold(&scene, &[], &one(Kind::KernelModule(KernelModule { name: "overlay".into() })))?;
        prop_assert_eq!(held, Held::Made);
    }

    #[test]
    fn paths(there in file_or_nothing()) {
        let scene = |ctx: &Ctx| there.put(ctx, "/etc/profile.d/swdt-path-opt~bin.sh");
        let held = hold(&scene, &[], &one(Kind::EnvPath(EnvPath { dir: "/opt/bin".into() })))?;
        prop_assert_eq!(held, Held::Made);
    }

    #[test]
    fn swaps(
        entries in proptest::collection::vec(
            prop_oneof!["UUID=1 / ext4 rw 0 1", "/swap none swap sw 0 0", "# none", "LABEL=s\tnone\tswap\tsw", ""], 0..4),
        end: bool,
        zram in file_or_nothing(),
        unit in file_or_nothing(),
        generated: bool,
    ) {
        let scene = |ctx: &Ctx| {
            let text = entries.join("\n") + if end { "\n" } else { "" };
            There::File(text, 0o644).put(ctx, "/etc/fstab");
            zram.put(ctx, "/etc/systemd/zram-generator.conf");
            unit.put(ctx, "/etc/systemd/system/data.swap");
            if generated {
                There::File("[Swap]\n".into(), 0o644).put(ctx, "/run/systemd/generator.late/dev-vdb.swap");
            }
        };
        prop_assert_eq!(hold(&scene, &[], &one(Kind::Swap(Swap {})))?, Held::Made);
    }

    #[test]
    fn traces(there in there(), live in proptest::option::of(prop_oneof!["0\n", "1\t2\n"]), known_before: bool) {
        let (at, proc) = ("/var/lib/tool", "/proc/sys/net/tool");
        let all = Traces {
            of: "tool".into(),
            dirs: vec!["/var/lib/tool".into(), "/var/lib/tool/deep".into()],
            sysctls: vec!["net.tool".into()],
        };
        let some = Traces { dirs: all.dirs[..1].to_vec(), sysctls: Vec::new(), ..all.clone() };
        let scene = |ctx: &Ctx| {
            there.put(ctx, at);
            if let Some(live) = &live {
                There::File(live.clone(), 0o644).put(ctx, proc);
            }
        };
        let (earlier, all) = (if known_before { one(Kind::Traces(some)) } else { Vec::new() }, one(Kind::Traces(all)));
        let held = hold(&scene, &earlier, &all)?;
        let other = matches!(there, There::File(..) | There::Link(_));
        prop_assert_eq!(held == Held::Refused, other);
        if held == Held::Refused {
            return Ok(());
        }

        // And with a program that leaves something.
        let root = tempfile::tempdir_in(scratch()).unwrap();
        let ctx = Ctx::new(root.path());
        fs::create_dir_all(ctx.path("/var/lib")).unwrap();
        scene(&ctx);
        let before = fingerprint(root.path());
        swdt_node::laws::apply(root.path(), &earlier);
        prop_assert_eq!(swdt_node::laws::apply(root.path(), &all).failure, None);
        There::FullDir.put(&ctx, "/var/lib/tool/deep");
        There::File("left".into(), 0o600).put(&ctx, "/var/lib/tool/left");
        fs::set_permissions(ctx.path(at), fs::Permissions::from_mode(0o700)).unwrap();
        if live.is_some() {
            fs::write(ctx.path(proc), "7\n").unwrap();
        }
        prop_assert_eq!(revert(root.path(), false).1, Vec::<String>::new());
        prop_assert_eq!(fingerprint(root.path()), before);
    }

    #[test]
    fn many_together(there in file_or_nothing(), bits in mode(), wanted in proptest::sample::subsequence((0..6).collect::<Vec<usize>>(), 1..6)) {
        let tar = tar(&[("a".into(), b"tool".to_vec(), 0o755)]);
        let archive = Archive { blob: blob(&tar), format: ArchiveFormat::Tar, into: "/opt/x".into(), strip: 1, only: Vec::new() };
        let line = |line: &str| Kind::Line(Line { path: "/opt/x/hosts".into(), line: line.into() });
        let all = [
            Kind::Dir(Dir { path: "/opt/x".into(), mode: 0o750 }),
            Kind::File(File { path: "/opt/x/y/f".into(), content: Content::Text("f".into()), mode: bits }),
            Kind::Archive(archive),
            line("one"),
            line("two"),
            Kind::File(File { path: "/opt/x/y/z/g".into(), content: Content::Blob(blob(BLOB)), mode: 0o600 }),
        ];
        let resources: Vec<Resource> =
            wanted.iter().map(|which| Resource::new(format!("test/{which}"), all[*which].clone())).collect();
        let scene = |ctx: &Ctx| {
            store(ctx, BLOB);
            store(ctx, &tar);
            there.put(ctx, "/opt/x/hosts");
        };
        prop_assert_eq!(hold(&scene, &[], &resources)?, Held::Made);
    }
}

#[test]
fn archives_that_reach_outside_are_refused() {
    let raw = |name: &'static [u8], kind, to: &'static [u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.as_mut_bytes()[157..157 + to.len()].copy_from_slice(to);
        header.set_cksum();
        header
    };
    let link = tar::EntryType::Symlink;
    let file = tar::EntryType::Regular;
    for headers in [
        vec![raw(b"../evil", file, b"")],
        vec![raw(b"/etc/evil", file, b"")],
        vec![raw(b"a/../../evil", file, b"")],
        vec![raw(b"l", link, b"/etc")],
        vec![raw(b"l", link, b"../etc")],
        vec![raw(b"d/l", link, b"../../etc")],
        vec![raw(b"l", link, b"d"), raw(b"l/f", file, b"")],
        vec![raw(b"h", tar::EntryType::Link, b"../etc/passwd")],
        vec![raw(b"dev", tar::EntryType::Char, b"")],
        vec![raw(b"f", file, b""), raw(b"f", file, b"")],
        vec![],
    ] {
        let mut tar = tar::Builder::new(Vec::new());
        for header in &headers {
            tar.append(header, &b""[..]).unwrap();
        }
        let tar = tar.into_inner().unwrap();
        let archive = Archive {
            blob: blob(&tar),
            format: ArchiveFormat::Tar,
            into: "/opt".into(),
            strip: 0,
            only: Vec::new(),
        };
        let held = hold(&|ctx| store(ctx, &tar), &[], &one(Kind::Archive(archive))).unwrap();
        assert_eq!(held, Held::Refused);
    }
}

/// A root in which somebody changed our file, and the first revert has kept it.
fn kept() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    fs::write(root.path().join("etc/f"), "before").unwrap();
    let ours = |text: &str| {
        let content = Content::Text(text.into());
        one(Kind::File(File { path: "/etc/f".into(), content, mode: 0o644 }))
    };
    assert_eq!(swdt_node::laws::apply(root.path(), &ours("ours")).failure, None);
    fs::write(root.path().join("etc/f"), "theirs").unwrap();
    let before = fingerprint(root.path());
    let (summary, kept) = revert(root.path(), false);
    assert_eq!(
        (summary.failure, summary.kept, kept.as_slice()),
        (None, 1, &["/etc/f was changed after swdt wrote it".to_owned()][..])
    );
    assert_eq!(fingerprint(root.path()), before);
    root
}

fn content_of(root: &tempfile::TempDir) -> String {
    fs::read_to_string(root.path().join("etc/f")).unwrap()
}

#[test]
fn what_somebody_changed_is_kept_told_and_can_still_be_forced() {
    let root = kept();
    let (summary, kept) = revert(root.path(), true);
    assert_eq!((summary.kept, kept.len(), content_of(&root).as_str()), (0, 0, "before"));
}

#[test]
fn what_is_kept_twice_is_kept_for_good() {
    let root = kept();
    let (summary, kept) = revert(root.path(), false);
    assert_eq!((summary.kept, kept.len()), (0, 1), "told again");
    revert(root.path(), true);
    assert_eq!(content_of(&root), "theirs");
}

#[test]
fn what_was_kept_is_what_the_next_cluster_finds() {
    let root = kept();
    let content = Content::Text("anew".into());
    let anew = one(Kind::File(File { path: "/etc/f".into(), content, mode: 0o644 }));
    assert_eq!(swdt_node::laws::apply(root.path(), &anew).failure, None);
    assert_eq!(content_of(&root), "anew");
    assert_eq!(revert(root.path(), true).0.kept, 0);
    assert_eq!(content_of(&root), "theirs");
}

//! Whatever on the host reads bytes that others wrote, for a fuzzer.
//!
//! A target reads the bytes as swdt does. It must not panic, and some check that reading and writing
//! agree. It answers with a few words on what became of them: inputs with a new answer are worth changing further.

use std::{
    fmt::Write,
    fs,
    io::{Cursor, Read},
    path::Path,
    sync::LazyLock,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use swdt_media::{
    iso::{Content, Disc},
    virtio::drivers,
    windows::{self, Release},
};
use swdt_wire::Secret;

use crate::{
    Error, config,
    event::Reporter,
    image::{Archive, Reference},
    journal,
    kube::{Kubeconfig, NodeStatus, ca, kubeconfig::merge, misplaced, token},
    machine::{
        network,
        nspawn::cgroup,
        qemu::{qmp, windows::serial},
        resolver,
    },
    remote::{
        agent::{conversation::Conversation, lines::Lines},
        ssh::{identity, known_hosts, route, ssh_config},
    },
    run::{e2e, fetch},
    smoke::judge,
    source::{bundle, go, http, lock::Lock, release, toolchain, wrapper},
    spec::Spec,
    state::Dirs,
};

/// A name, and what reads the bytes. The directory is its own and empty.
pub type Target = (&'static str, fn(&[u8], &Path) -> String);

/// All of them.
pub const TARGETS: &[Target] = &[
    ("config", config),
    ("state", |bytes, dir| in_cluster(bytes, dir, "state.json")),
    ("spec", |bytes, dir| in_cluster(bytes, dir, "spec.json")),
    ("lock", |bytes, dir| in_cluster(bytes, dir, "lock.json")),
    ("artifacts", |bytes, dir| in_cluster(bytes, dir, "artifacts.json")),
    ("journal", journal),
    ("node-stream", node_stream),
    ("known-hosts", known_hosts),
    ("ssh-config", ssh_config),
    ("private-key", private_key),
    ("kubectl-answer", kubectl_answer),
    ("kubeconfig", kubeconfig),
    ("kubeconfig-of-admin", kubeconfig_of_admin),
    ("certificate", certificate),
    ("image", image),
    ("image-parts", image_parts),
    ("go-toolchain", go_toolchain),
    ("downloads", downloads),
    ("host-network", host_network),
    ("qmp", |bytes, dir| told(qmp::hear(bytes, dir))),
    ("disc", disc),
    ("virtio", virtio),
    ("serial", serial::hear),
    ("wim", wim),
    ("e2e-report", |bytes, _| told(e2e::parse(&text(bytes)).map(|tried| count(tried.len())))),
];

/// A disc as Windows comes on, made by genisoimage and wimlib; and its sectors that are not empty.
static DISC: LazyLock<(Vec<u8>, Vec<usize>)> = LazyLock::new(|| {
    let packed = include_bytes!("../../swdt-fuzz/discs/windows.iso.gz");
    let mut disc = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut disc).expect("our own disc");
    with_sectors(disc)
});
/// A disc with drivers, of our own making.
static DRIVERS: LazyLock<(Vec<u8>, Vec<usize>)> = LazyLock::new(|| {
    let mut disc = Disc::new("virtio-win");
    for file in ["viostor/2k22/amd64/viostor.inf", "NetKVM/2k22/amd64/netkvm.sys", "Balloon/2k22/amd64/b.cat"]
    {
        disc.add(file, Content::Bytes(file.as_bytes().to_vec()));
    }
    let mut bytes = Vec::new();
    disc.write(&mut bytes).expect("our own disc");
    with_sectors(bytes)
});
const SECTOR: usize = 2048;

fn with_sectors(disc: Vec<u8>) -> (Vec<u8>, Vec<usize>) {
    let used = |sector: &usize| disc[sector * SECTOR..][..SECTOR].iter().any(|byte| *byte != 0);
    let sectors = (0..disc.len() / SECTOR).filter(used).collect();
    (disc, sectors)
}

/// A cluster with Linux and Windows, as the files speak of it.
static SPEC: LazyLock<Spec> = LazyLock::new(|| {
    let text = include_bytes!("../../../examples/linux-and-windows.yaml");
    config::load("cluster.yaml", text, Some(Path::new("/home/ada")), Path::new("/")).expect("an example")
});

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Few words, so that a number more is nothing new.
fn count(number: usize) -> String {
    ["none", "one", "two", "some"][number.min(3)].to_owned()
}

fn told(result: Result<String, Error>) -> String {
    result.unwrap_or_else(|error| error.to_string())
}

fn put(dir: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("a directory of our own");
    fs::write(&path, bytes).expect("a file of our own");
    path
}

fn config(bytes: &[u8], _: &Path) -> String {
    match config::load("cluster.yaml", bytes, Some(Path::new("/home/ada")), Path::new("/work")) {
        Ok(spec) => {
            let written = serde_json::to_vec(&spec).expect("a spec can be written");
            let again: Spec = serde_json::from_slice(&written).expect("what was written can be read");
            assert_eq!(again, spec, "it changed by being written");
            format!("good {}", count(spec.nodes.len()))
        }
        Err(problems) => {
            let plain: String = problems.pieces().into_iter().map(|piece| piece.text).collect();
            assert!(!plain.is_empty() && problems.len() > 0, "a refusal says why");
            assert_eq!(plain, problems.render());
            problems.iter().map(|problem| problem.message.as_str()).take(3).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Every command reads all files of a cluster; one of them is bad.
fn in_cluster(bytes: &[u8], dir: &Path, name: &str) -> String {
    let dirs = Dirs { data: dir.to_owned(), cache: dir.to_owned() };
    let cluster = dirs.cluster(&SPEC.name);
    let path = put(cluster.root(), name, bytes);
    let said = match name {
        "state.json" => told(cluster.load("c").map(|state| {
            cluster.save(&state).expect("room for a file");
            assert_eq!(cluster.load("c").expect("what we wrote"), state);
            count(state.nodes.len())
        })),
        "spec.json" => told(cluster.load_spec().map(|spec| count(spec.nodes.len()))),
        "lock.json" => told(Lock::load(cluster.root()).map(|lock| count(lock.pins().len()))),
        _ => {
            let used = fetch::used_artifacts(&dirs).map(|used| count(used.len()));
            let found = fetch::artifacts(&dirs, &SPEC).map(|found| found.is_some().to_string());
            told(used.and_then(|used| Ok(format!("{used} {}", found?))))
        }
    };
    if name != "state.json" {
        assert_eq!(fs::read(path).expect("it is there"), bytes, "reading changes nothing");
    }
    said
}

fn journal(bytes: &[u8], dir: &Path) -> String {
    let path = put(dir, "events.jsonl", bytes);
    told(journal::read(&path).map(|events| {
        for event in &events {
            serde_json::to_vec(event).expect("what was read can be written");
        }
        count(events.len())
    }))
}

/// Output of a node program in pieces, as a connection brings it.
fn node_stream(bytes: &[u8], _: &Path) -> String {
    let mut conversation = Conversation::new("r1", Reporter::silent());
    let (mut lines, mut hello, mut heard) = (Lines::default(), false, 0);
    for piece in bytes.chunks(bytes.len() / 3 + 1) {
        let Ok(complete) = lines.push(piece) else { return "endless".into() };
        for line in complete {
            match conversation.hear(&line, &mut hello, "the machine", false) {
                Ok(event) => heard += usize::from(event.is_some()),
                Err(error) => return error.to_string(),
            }
        }
    }
    format!("{hello} {}", count(heard))
}

fn known_hosts(bytes: &[u8], _: &Path) -> String {
    let found = known_hosts::lookup(&text(bytes), Path::new("known_hosts"), "[node.example]:2222");
    let plain = known_hosts::lookup(&text(bytes), Path::new("known_hosts"), "192.168.1.10");
    let revoked = found.entries.iter().filter(|entry| entry.revoked).count();
    format!(
        "{} {} {} {}",
        count(found.entries.len()),
        count(revoked),
        count(plain.entries.len()),
        found.warnings.join("; ")
    )
}

fn ssh_config(bytes: &[u8], _: &Path) -> String {
    let text = text(bytes);
    let config = ssh_config::parse(&text);
    let jumps = config.proxy_jump.as_deref().unwrap_or(&text).split(',').map(route::Address::parse);
    let jumps: Vec<String> =
        jumps.map(|jump| told(jump.map(|jump| format!("{:?}", jump.port.is_some())))).collect();
    format!("{:?} {:?} {}", config.port.is_some(), jumps, count(config.known_hosts.len()))
}

fn private_key(bytes: &[u8], dir: &Path) -> String {
    let path = put(dir, "id", bytes);
    told(identity::read(&path, None, true).map(|key| key.is_some().to_string()))
}

fn kubectl_answer(bytes: &[u8], _: &Path) -> String {
    let tokens = token::made_by_kubeadm(&text(bytes)).len();
    let Ok(answer) = serde_json::from_slice::<Value>(bytes) else { return "no JSON".into() };
    let items = answer["items"].as_array().cloned().unwrap_or_default();
    let misplaced = misplaced::judge(&items);
    let warnings: Vec<String> = misplaced.iter().map(misplaced::Misplaced::warning).collect();
    let described = SPEC.nodes.last().expect("nodes");
    let judged: Vec<bool> = items
        .iter()
        .chain([&answer])
        .map(|node| {
            let all = [
                judge::registration(node, &SPEC, described),
                judge::labels(node, described),
                judge::taints(node, described),
                judge::lease(node),
            ];
            let status = NodeStatus::read(node);
            all.iter().filter(|one| one.is_ok()).count() > 1 || status.ready || judge::keeps_away(node)
        })
        .collect();
    let certificates = judge::certificates(&items).is_ok();
    format!("{} {} {judged:?} {certificates}", count(tokens), count(warnings.len()))
}

/// Somebody's own kubeconfig, into which ours goes.
fn kubeconfig(bytes: &[u8], _: &Path) -> String {
    let view = json!({ "clusters": [{ "cluster": {} }], "users": [{ "user": { "token": "t" } }] });
    let ours = Kubeconfig::new("x", &Secret::new(view.to_string()), "https://10.0.0.1:6443", None);
    let ours = ours.expect("a kubeconfig");
    match merge::merged(&text(bytes), &ours, bytes.len().is_multiple_of(2)) {
        Ok(merged) => {
            let again = merge::merged(&merged, &ours, false);
            assert_eq!(again.as_ref(), Ok(&merged), "a second time changes nothing");
            "merged".into()
        }
        Err(why) => why,
    }
}

fn kubeconfig_of_admin(bytes: &[u8], _: &Path) -> String {
    let made = Kubeconfig::new("x", &Secret::new(text(bytes)), "https://10.0.0.1:6443", Some("x"));
    told(made.map(|made| {
        let written = made.yaml();
        merge::merged(written.expose(), &made, true).expect("what we wrote ourselves");
        "good".into()
    }))
}

/// DER as it is, and the same in the wrappings of a kubeconfig.
fn certificate(bytes: &[u8], _: &Path) -> String {
    let direct = ca::public_key(bytes).is_some();
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(bytes));
    let wrapped = ca::hash(&STANDARD.encode(pem));
    assert_eq!(wrapped.is_some(), direct);
    format!("{direct} {}", ca::hash(&text(bytes)).is_some())
}

fn image(bytes: &[u8], dir: &Path) -> String {
    let path = put(dir, "image.tar", bytes);
    let _ = fetch::manifest_digest(&path);
    let _ = Reference::parse(&text(&bytes[..bytes.len().min(300)]));
    let opened = Archive::open(&path, dir, None);
    told(opened.and_then(|archive| Ok(count(archive.pick("linux/amd64")?.len()))))
}

/// A disc with changes: three bytes say where, two what. The whole would be too long to be changed well.
fn spoilt((disc, sectors): &(Vec<u8>, Vec<usize>), bytes: &[u8]) -> Cursor<Vec<u8>> {
    let mut disc = disc.clone();
    for change in bytes.chunks_exact(5).take(64) {
        let at = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize % (sectors.len() * SECTOR);
        let at = sectors[at / SECTOR] * SECTOR + at % SECTOR;
        disc[at] = change[3];
        if let Some(next) = disc.get_mut(at + 1) {
            *next = change[4];
        }
    }
    Cursor::new(disc)
}

fn disc(bytes: &[u8], _: &Path) -> String {
    match windows::look(spoilt(&DISC, bytes)) {
        Ok(disc) => format!("{:?}", disc.editions),
        Err(error) => error.to_string(),
    }
}

fn virtio(bytes: &[u8], _: &Path) -> String {
    match drivers(spoilt(&DRIVERS, bytes), Release::Server2022) {
        Ok(files) => format!("{:?}", files.iter().map(|file| &file.path).collect::<Vec<_>>()),
        Err(error) => error.to_string(),
    }
}

fn wim(bytes: &[u8], _: &Path) -> String {
    match swdt_media::wim::images(&mut Cursor::new(bytes)) {
        Ok(images) => count(images.len()),
        Err(error) => error.to_string(),
    }
}

/// An OCI archive from its parts, with digests that are right: the words `@0`, `@1` … in a part stand for the
/// digests of the parts before it. The last is the index.
fn image_parts(bytes: &[u8], dir: &Path) -> String {
    let words = text(bytes);
    let (mut tar, mut digests) = (tar::Builder::new(Vec::new()), Vec::<String>::new());
    let parts: Vec<&str> = words.split("\n%%\n").take(8).collect();
    for (number, part) in parts.iter().enumerate() {
        let mut part = (*part).to_owned();
        for (number, digest) in digests.iter().enumerate() {
            part = part.replace(&format!("@{number}"), digest);
        }
        let mut digest = String::new();
        for byte in Sha256::digest(&part) {
            let _ = write!(digest, "{byte:02x}");
        }
        let name = if number + 1 == parts.len() {
            "index.json".to_owned()
        } else {
            format!("blobs/sha256/{digest}")
        };
        digests.push(digest);
        let mut header = tar::Header::new_ustar();
        header.set_size(part.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, part.as_bytes()).expect("memory");
    }
    image(&tar.into_inner().expect("memory"), dir)
}

fn go_toolchain(bytes: &[u8], dir: &Path) -> String {
    let path = put(dir, "go.zip", bytes);
    let said = told(toolchain::unpack(&path, "go/", &dir.join("go")).map(|_| "unpacked".into()));
    let beside: Vec<_> =
        fs::read_dir(dir).expect("our own").flatten().map(|entry| entry.file_name()).collect();
    assert!(beside.iter().all(|name| name == "go.zip" || name == "go"), "nothing leaves it: {beside:?}");
    said
}

/// Small texts from elsewhere: lists of checksums, pages, versions, what Go says of a module, a bundle's index.
fn downloads(bytes: &[u8], _: &Path) -> String {
    let words = text(bytes);
    let sum = release::find(&words, "kubelet.exe").is_some();
    let page = http::html_title(&words).is_some();
    let version = go::parse(words.trim()).is_some();
    let module = serde_json::from_slice::<wrapper::GoMod>(bytes).map_err(|error| error.to_string()).err();
    let index = serde_json::from_slice::<bundle::Index>(bytes).map_err(|error| error.to_string()).err();
    format!("{sum} {page} {version} {module:?} {index:?}")
}

fn host_network(bytes: &[u8], _: &Path) -> String {
    let words = text(bytes);
    let (first, rest) = words.split_once('\n').unwrap_or((&words, ""));
    let networks = network::parse_networks(first, rest).len();
    let groups = cgroup::Hierarchies::parse(&words).is_empty();
    format!("{} {groups} {}", count(networks), count(resolver::servers(&words).count()))
}

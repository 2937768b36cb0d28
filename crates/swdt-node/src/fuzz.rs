//! Whatever on a node reads bytes that others wrote, for a fuzzer.
//!
//! A target reads the bytes as the node program does. It must not panic, and some check that reading and
//! writing agree. It answers with a few words on what became of them: inputs with a new answer are worth changing further.

use std::{fs, path::Path};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use swdt_wire::{
    Archive, ArchiveFormat, Blob, Busy, Entry, Mode, NodeEvent, Receipt, Request, Resource, ServiceHost,
};

use crate::{
    Ctx,
    detach::Verdict,
    disk,
    facts::{self, limits, network, strangers},
    host, kubectl, program,
    receipts::Receipts,
    resources::{
        archive::manifest::Manifest,
        client_config,
        condition::{evidence, judge},
        firewall::{self, firewalld, nftables::ruleset, ufw},
        hostname, image,
        kubeadm::{hints as kubeadm, mounts, packets},
        line, manifest,
        package::{apt, dnf, hints as package, locks},
        path,
        service::unit::Unit,
        swap, sysctl,
    },
    serve, stamps,
    state::{RunId, State},
};

/// A name, and what reads the bytes. The directory is its own and empty.
pub type Target = (&'static str, fn(&[u8], &Path) -> String);

/// All of them.
pub const TARGETS: &[Target] = &[
    ("request", request),
    ("node-event", |bytes, _| same::<NodeEvent>(bytes)),
    ("receipts", receipts),
    ("node-files", node_files),
    ("machine-facts", machine_facts),
    ("packages", packages),
    ("firewalls", firewalls),
    ("systemd", |bytes, _| short(&format!("{:?}", Unit::parse(&text(bytes))))),
    ("edited-files", edited_files),
    ("containerd", |bytes, _| count(image::parse(&text(bytes)).len())),
    ("mounts-and-rules", mounts_and_rules),
    ("kubectl-objects", kubectl_objects),
    ("kubeadm-output", kubeadm_output),
    ("archive", archive),
    ("archive-manifest", archive_manifest),
    ("service-token", |bytes, _| format!("{}", client_config::expiry(&text(bytes)).is_some())),
    ("names", names),
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Few words, so that a number more is nothing new.
fn count(number: usize) -> String {
    ["none", "one", "two", "some"][number.min(3)].to_owned()
}

fn short(words: &str) -> String {
    words.chars().take(200).collect()
}

/// What is read must be the same when it is written and read again.
fn same<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> String {
    match serde_json::from_slice::<T>(bytes) {
        Ok(value) => {
            let written = serde_json::to_vec(&value).expect("what was read can be written");
            let again: T = serde_json::from_slice(&written).expect("what was written can be read");
            assert_eq!(again, value, "it changed by being written");
            short(&format!("{value:?}"))
        }
        Err(error) => error.to_string(),
    }
}

fn request(bytes: &[u8], _: &Path) -> String {
    if let Ok(Request { mode: Mode::Check { resources } | Mode::Apply { resources, .. }, run, .. }) =
        serde_json::from_slice(bytes)
    {
        let _ = RunId::parse(&run);
        for resource in resources {
            let _ = resource.kind.target();
            let redacted = resource.redacted();
            assert_eq!(redacted.redacted(), redacted, "nothing is left to be hidden");
        }
    }
    let _ = serde_json::from_slice::<Resource>(bytes);
    let _ = serve::unhex(&text(bytes));
    same::<Request>(bytes)
}

fn receipts(bytes: &[u8], dir: &Path) -> String {
    let path = dir.join("receipts.jsonl");
    fs::write(&path, bytes).expect("a file of our own");
    let mut receipts = match Receipts::open(path.clone(), "run") {
        Ok(receipts) => receipts,
        Err(error) => {
            assert_eq!(
                fs::read(&path).expect("it is there"),
                bytes,
                "a file that cannot be read is left alone"
            );
            return error.to_string();
        }
    };
    let live = receipts.live();
    let _ = receipts.cluster();
    receipts.append(Entry::Done { target: "nothing".into() }).expect("room for a line");
    assert_eq!(Receipts::open(path, "run").expect("what we wrote").live(), live);
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    format!("{} {}", count(live.len()), same::<Receipt>(first))
}

fn node_files(bytes: &[u8], dir: &Path) -> String {
    let ctx = Ctx::new(dir);
    fs::create_dir_all(ctx.state()).expect("a directory of our own");
    fs::write(State::of(&ctx).stamps(), bytes).expect("a file of our own");
    fs::write(dir.join("file"), "").expect("a file of our own");
    let stamped = stamps::sha256(&ctx, "/file").is_ok();
    let arguments = host::arguments_in(&text(bytes), "KUBELET_KUBEADM_ARGS").len();
    let verdict = serde_json::from_slice::<Verdict>(bytes).is_ok();
    let (busy, host) = (same::<Busy>(bytes), same::<ServiceHost>(bytes));
    format!("{stamped} {} {verdict} {busy} {host}", count(arguments))
}

fn machine_facts(bytes: &[u8], _: &Path) -> String {
    let text = text(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let quota = (limits::quota_v2(first), limits::quota_v1(first, rest));
    let _ = limits::meminfo_mib(&text);
    let may = facts::sys_resource(&text, rest);
    let counts = [
        facts::os_release(&text).len(),
        facts::swaps(&text).len(),
        network::routes(&text).len(),
        network::ipv6(&text).len(),
        strangers::listening(&text).count(),
        limits::cpu_list(first) as usize,
    ];
    format!("{may} {} {}", quota.0.or(quota.1).is_some(), counts.map(count).join(" "))
}

fn packages(bytes: &[u8], _: &Path) -> String {
    let text = text(bytes);
    let lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    let names = ["socat".to_owned(), "conntrack".to_owned()];
    format!(
        "{:?} {:?} {} {} {} {:?} {:?} {:?} {}",
        apt::parse_simulation(&text),
        dnf::parse_transaction(&text),
        count(apt::parse_states(&text).len()),
        count(dnf::parse_missing(&text, &names).len()),
        count(dnf::dependents(&text).len()),
        apt::unknown(&lines),
        dnf::unknown(&lines),
        package::hint(&lines),
        count(locks::candidates(&text, 5505).len()),
    )
}

fn firewalls(bytes: &[u8], _: &Path) -> String {
    let text = text(bytes);
    let mut open = firewalld::list(&text);
    open.extend(firewalld::zone_ports(&text));
    open.extend(ufw::open(&text));
    let rules = ruleset::rules(&text);
    let _ = ufw::setting(&text, "ENABLED");
    let _ = firewalld::default_zone(&text);
    let gaps = firewall::gaps(&open, &open);
    assert!(gaps.is_empty(), "what is open is open: {gaps:?}");
    let elements = firewalld::elements(bytes).len();
    format!(
        "{} {} {} {}",
        count(open.len()),
        count(rules.len()),
        count(ruleset::chains(&text).len()),
        count(elements)
    )
}

fn edited_files(bytes: &[u8], _: &Path) -> String {
    let line = "192.168.1.10 cp1 # swdt my-cluster";
    let with = line::with_line(bytes, line);
    assert_eq!(line::count(&with, line), 1, "the line is there once");
    assert_eq!(line::with_line(&with, line), with, "and stays so");
    let without = swap::commented(bytes);
    assert_eq!(swap::commented(&without), without, "fstab has no swap any more");
    assert_eq!(swap::uncommented(&without), swap::uncommented(bytes), "fstab can go back");
    let swaps = swap::parse_swaps(&text(bytes)).len();
    format!("{} {} {}", count(swaps), without == bytes, with == bytes)
}

fn mounts_and_rules(bytes: &[u8], _: &Path) -> String {
    let text = text(bytes);
    let mounts = text.lines().filter_map(mounts::mount_point).count();
    let rules = packets::without(&text, &["KUBE-", "CNI-"]);
    let bare = serde_json::from_str::<Value>(&text).is_ok_and(|ruleset| packets::bare(&ruleset));
    format!("{} {} {bare}", count(mounts), count(rules.lines().count()))
}

fn kubectl_objects(bytes: &[u8], _: &Path) -> String {
    let words = text(bytes);
    let _ = (kubectl::complaint(&words), judge::not_ready(&words), manifest::what_differs(&words));
    let _ = (kubectl::unanswered(words.lines()), kubectl::not_yet(words.lines()), program::plain(&words));
    let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return short(&judge::not_ready(&words)) };
    let items = object["items"].as_array().cloned().unwrap_or_default();
    format!(
        "{:?} {:?} {:?} {} {:?} {:?} {:?}",
        judge::node(&object),
        judge::daemon_set(&object),
        judge::deployment(&object),
        evidence::selector(&object),
        evidence::conditions(&object),
        evidence::pods(&items),
        evidence::events(&items),
    )
}

fn kubeadm_output(bytes: &[u8], _: &Path) -> String {
    let lines: Vec<String> = text(bytes).lines().map(program::plain).collect();
    format!("{:?} {:?}", kubeadm::preflight(&lines), kubeadm::later(&lines))
}

/// The archive under two names: as it is and as if it were compressed.
fn archive(bytes: &[u8], dir: &Path) -> String {
    let ctx = Ctx::new(dir);
    let sha256 = disk::sha256_hex(bytes);
    let blob = State::of(&ctx).blob(&sha256).expect("a digest");
    fs::create_dir_all(blob.parent().expect("it has one")).expect("a directory of our own");
    fs::write(&blob, bytes).expect("a file of our own");
    let format = if bytes.starts_with(&[0x1f, 0x8b]) { ArchiveFormat::TarGz } else { ArchiveFormat::Tar };
    let size = bytes.len() as u64;
    let archive =
        Archive { blob: Blob { sha256, size }, format, into: "/opt/cni".into(), only: Vec::new(), strip: 1 };
    let read = Manifest::load_or_build(&ctx, &archive);
    // Every input has a name of its own; they would fill the disk.
    fs::remove_dir_all(State::of(&ctx).dir()).expect("a directory of our own");
    match read {
        Ok(manifest) => {
            let paths = manifest.items.iter().map(|item| item.path.as_str());
            for path in paths.clone() {
                let inside = path.strip_prefix("/opt/cni/").expect("nothing leaves the directory");
                assert!(inside.split('/').all(|part| !matches!(part, "" | "." | "..")), "{path}");
            }
            count(paths.count())
        }
        Err(error) => error.to_string(),
    }
}

fn archive_manifest(bytes: &[u8], _: &Path) -> String {
    same::<Manifest>(bytes)
}

/// Words of a request that become part of a path or of a command.
fn names(bytes: &[u8], _: &Path) -> String {
    let name = text(bytes);
    if let Ok(at) = sysctl::proc_path(&name) {
        assert!(at.starts_with("/proc/sys/") && !at.split('/').any(|part| part == ".."), "{at}");
    }
    let good = [
        path::absolute(&name).is_ok(),
        hostname::validate(&name).is_ok(),
        image::valid(&name).is_ok(),
        RunId::parse(&name).is_ok(),
        crate::state::digest(&name).is_ok(),
        host::is_name(&name),
    ];
    format!("{good:?} {}", sysctl::proc_path(&name).is_ok())
}

//! The nodes: their list, and one of them.

use serde_json::{Value, json};
use swdt_core::{
    config::edit::{Document, Refused},
    spec::OsFamily,
};

use crate::{
    Host,
    field::{Action, Choice, Field},
};

pub(crate) fn list(document: &Document) -> Vec<Field> {
    let mut fields: Vec<Field> = (0..document.len("nodes"))
        .map(|number| Field::action("", format!("nodes[{number}]"), "", Action::EditNode(number)))
        .collect();
    fields.extend([
        Field::action(
            "Add a Linux node",
            "nodes",
            "The first is the control plane; the others run your pods.",
            Action::AddNode(OsFamily::Linux),
        ),
        Field::action(
            "Add a Windows node",
            "nodes",
            "Windows Server 2022 or later, with OpenSSH. It runs images of its own build only.",
            Action::AddNode(OsFamily::Windows),
        ),
        Field::action("Go on", "nodes", "To the last page: look at it all, and write it.", Action::GoOn),
    ]);
    fields
}

/// A node in the words of its line: name, role, system, place.
pub(crate) fn told(document: &Document, number: usize) -> [String; 4] {
    let word = |key: &str, otherwise: &str| {
        let value = document.get(&format!("nodes[{number}].{key}"));
        value.and_then(|value| value.as_str().map(ToOwned::to_owned)).unwrap_or_else(|| otherwise.to_owned())
    };
    let role = if word("role", "") == "control-plane" { "control plane" } else { "worker" };
    let system = if word("os", "") == "windows" { "Windows" } else { "Linux" };
    let place = made(document, number).unwrap_or_else(|| word("address", "no address yet"));
    [word("name", "?"), role.to_owned(), system.to_owned(), place]
}

/// Virtual machines.
pub(crate) const QEMU: &str = "qemu";

/// What is said of a node's machine, or else of all.
fn of_machine(document: &Document, number: usize, key: &str) -> Option<Value> {
    let own = document.get(&format!("nodes[{number}].machine.{key}"));
    own.or_else(|| document.get(&format!("defaults.machine.{key}")))
}

/// Who makes the machine of a node, if it is made.
pub(crate) fn maker(document: &Document, number: usize) -> Option<String> {
    of_machine(document, number, "provider")?.as_str().map(ToOwned::to_owned)
}

/// The machine that is made for a node, in words.
fn made(document: &Document, number: usize) -> Option<String> {
    document.get(&format!("nodes[{number}].machine"))?;
    let provider = maker(document, number).unwrap_or_else(|| "made".to_owned());
    let (cpus, mib) = size(document, number);
    Some(format!("{provider}, {cpus} processors, {}", gibibytes(mib)))
}

pub(crate) fn any_windows(document: &Document) -> bool {
    (0..document.len("nodes")).any(|number| is_windows(document, number))
}

pub(crate) fn is_windows(document: &Document, number: usize) -> bool {
    document.get(&format!("nodes[{number}].os")).is_some_and(|os| os == "windows")
}

pub(crate) fn one(document: &Document, host: &Host, number: usize) -> Vec<Field> {
    let at = |key: &str| format!("nodes[{number}].{key}");
    let windows = is_windows(document, number);
    let mut fields = vec![
        Field::text(
            "Name",
            at("name"),
            if windows {
                "Lower-case letters, digits and `-`; Windows takes at most 15 of them."
            } else {
                "Lower-case letters, digits and `-`."
            },
        )
        .required(),
        Field::choice(
            "Role",
            at("role"),
            "Exactly one node is the control plane, and it runs Linux.",
            vec![
                Choice::new(None, "worker", "runs your pods"),
                Choice::new(Some("control-plane"), "control plane", "runs the cluster itself"),
            ],
        ),
        Field::choice(
            "System",
            at("os"),
            if windows {
                "Pods there need images of its own build: ltsc2022 on Server 2022. Flannel is best proven on 2022; \
                 Server 2025 needs the updates of October 2025."
            } else {
                "Linux runs the cluster itself, and pods of Linux."
            },
            vec![
                Choice::new(None, "Linux", "Debian 12, Ubuntu 22.04, Fedora 41 or later"),
                Choice::new(Some("windows"), "Windows", "Server 2022 or later, with OpenSSH"),
            ],
        ),
        place(host, &at("machine"), windows, maker(document, number).as_deref()),
    ];
    if document.get(&at("machine")).is_some() {
        if from_disc(document, number) {
            let about =
                "Windows Server from Microsoft, as an ISO on this host; it is installed once, unattended.";
            let disc = Field::text("Disc", at("machine.image.iso"), about);
            let lost = lost_file(&disc.answer(document), host);
            fields.push(disc.doubted(lost));
        }
        fields.extend(sizes(document, host, number));
    } else {
        fields.push(Field::text(
            "Address",
            at("address"),
            "IP address or name. It is tried while you type; nothing is changed there.",
        ));
        let user = if windows { "A member of Administrators." } else { "Only if it is another one here." };
        fields.push(Field::text("User", at("connection.user"), user).or("as for all nodes"));
    }
    fields.push(Field::action("Done", "", "Back to all nodes.", Action::CloseNode));
    fields.push(Field::action(
        "Remove this node",
        "",
        "It is taken out of the file. Ctrl-Z brings it back.",
        Action::RemoveNode(number),
    ));
    fields
}

/// Where the machine of a node comes from.
fn place(host: &Host, path: &str, windows: bool, maker: Option<&str>) -> Field {
    let virtual_machine = maker == Some(QEMU);
    let cannot = if virtual_machine { &host.cannot_virtualise } else { &host.cannot_make };
    let about = match (cannot, windows) {
        (Some(why), _) => why,
        (None, _) if virtual_machine => "a virtual machine by QEMU; gone with the cluster",
        (None, true) if host.makes_windows => "a rehearsal on Wine: it joins, but runs no pods",
        (None, true) => "not by this swdt",
        (None, false) => "by systemd-nspawn; gone with the cluster",
    };
    let made = Choice { value: Some(json!({})), label: "make it here".to_owned(), about: about.to_owned() };
    let choices = vec![Choice::new(None, "I have it", "reached over SSH"), made];
    Field::choice("Machine", path, "A machine you have is changed, and put back by `destroy`.", choices)
}

/// What a made machine gets, and what the host has.
fn sizes(document: &Document, host: &Host, number: usize) -> Vec<Field> {
    let at = |key: &str| format!("nodes[{number}].machine.{key}");
    let made =
        (0..document.len("nodes")).filter(|node| document.get(&format!("nodes[{node}].machine")).is_some());
    let (cpus, mib) =
        made.map(|node| size(document, node)).fold((0, 0), |(cpus, mib), size| (cpus + size.0, mib + size.1));
    let all = |what: String, has: String| format!("All machines together: {what}; this host has {has}.");
    let (cpus_told, memory_told) = (
        all(cpus.to_string(), host.cpus.to_string()),
        all(gibibytes(mib), if host.memory_mib == 0 { "?".to_owned() } else { gibibytes(host.memory_mib) }),
    );
    let much = |is: u64, has: u64, told: &str| (has > 0 && is > has).then(|| told.to_owned());
    vec![
        Field::text(
            "Processors",
            at("cpus"),
            format!("A control plane needs 2. They may be shared. {cpus_told}"),
        )
        .or_number(DEFAULT.0)
        .doubted(much(cpus, host.cpus.saturating_mul(4), &cpus_told)),
        Field::text("Memory", at("memory"), format!("In Mi or Gi. {memory_told}"))
            .or(if from_disc(document, number) { "4Gi" } else { "2Gi" })
            .doubted(much(mib, host.memory_mib, &memory_told)),
    ]
}

/// Is the machine of a node a virtual one that gets Windows from its disc?
pub(crate) fn from_disc(document: &Document, number: usize) -> bool {
    let made = document.get(&format!("nodes[{number}].machine")).is_some();
    made && is_windows(document, number) && maker(document, number).as_deref() == Some(QEMU)
}

/// A doubt, where there is no such file on this host yet.
fn lost_file(path: &str, host: &Host) -> Option<String> {
    let place = match (path.strip_prefix("~/"), &host.home) {
        (Some(below), Some(home)) => home.join(below),
        _ => host.directory.join(path),
    };
    (!path.is_empty() && !place.is_file()).then(|| format!("there is no file {} yet", place.display()))
}

/// What a machine gets if nothing is said: processors and MiB.
const DEFAULT: (u64, u64) = (2, 2048);
/// MiB of one with Windows from its disc.
const WINDOWS_MIB: u64 = 4096;

/// Processors and MiB of the machine that is made for a node, as far as they can be read.
pub(crate) fn size(document: &Document, number: usize) -> (u64, u64) {
    let of = |key: &str| of_machine(document, number, key);
    let cpus = of("cpus").and_then(|cpus| cpus.as_u64()).unwrap_or(DEFAULT.0);
    let usual = if from_disc(document, number) { WINDOWS_MIB } else { DEFAULT.1 };
    let mib = of("memory").and_then(|memory| mebibytes(memory.as_str()?)).unwrap_or(usual);
    (cpus, mib)
}

fn mebibytes(text: &str) -> Option<u64> {
    let number = |unit: &str| text.strip_suffix(unit)?.parse::<u64>().ok();
    number("Mi").or_else(|| number("Gi")?.checked_mul(1024))
}

pub(crate) fn gibibytes(mib: u64) -> String {
    match mib % 1024 * 10 / 1024 {
        0 => format!("{} GiB", mib / 1024),
        tenths => format!("{}.{tenths} GiB", mib / 1024),
    }
}

/// Adds a node, of the kind that new ones are; the first is the control plane. Gives its place in the list.
pub fn add(document: &mut Document, os: OsFamily) -> Result<usize, Refused> {
    let number = document.len("nodes");
    let names: Vec<Value> = (0..number).filter_map(|it| document.get(&format!("nodes[{it}].name"))).collect();
    let prefix = match os {
        OsFamily::Windows => "win",
        OsFamily::Linux if number == 0 => "cp",
        OsFamily::Linux => "w",
    };
    let free = (1..=number + 1).map(|at| json!(format!("{prefix}{at}"))).find(|name| !names.contains(name));
    document.set(&format!("nodes[{number}].name"), &free.unwrap_or_else(|| json!(prefix)))?;
    if number == 0 && os == OsFamily::Linux {
        document.set("nodes[0].role", &json!("control-plane"))?;
    }
    if os == OsFamily::Windows {
        document.set(&format!("nodes[{number}].os"), &json!("windows"))?;
    }
    Ok(number)
}

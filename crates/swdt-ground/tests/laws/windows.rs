//! The same laws where Windows is played: the real node program for Windows, over real SSH, on Wine.

use swdt_core::Result;
use swdt_ground::{Ground, Program, cache_dir, fingerprint::Fingerprint};
use swdt_wire::{
    Archive, ArchiveFormat, Content, EnvPath, Feature, HnsNetwork, Hostname, Kind, Registry, RegistryValue,
    Secret, ServiceStart, SourceVip, Traces, WindowsService,
};

use crate::{
    Clock,
    law::{Deaths, hold, hold_when_killed},
    same,
    scenes::{Scene, client_config, dir, file, line, packed, ports, scene, text},
};

/// At least one of every kind that Windows has. Scripts are Linux's, since they look from outside.
fn scenes() -> Vec<Scene> {
    let c = "cd /srv/windows/drive_c; ";
    let script = |text: &str| -> &'static str { Box::leak(format!("{c}{text}").into_boxed_str()) };
    vec![
        files(script),
        scene(
            "dirs",
            script("mkdir -p var/was; touch var/was/theirs"),
            vec![dir(r"C:\var\new\and\deep", 0o755), dir(r"C:\var\closed", 0o700)],
            script("test -d var/new/and/deep; test $(stat -c %a var/closed | tail -c2) = 0"),
        ),
        archive(script),
        scene(
            "lines",
            "true",
            vec![line(r"C:\Windows\System32\drivers\etc\hosts", "192.0.2.7 cp1 # swdt laws")],
            script(r"tail -1 windows/system32/drivers/etc/hosts | od -c | grep -q 's  \\r  \\n'"),
        ),
        scene(
            "path",
            "true",
            vec![Kind::EnvPath(EnvPath { dir: r"C:\k\bin".into() })],
            script(&query(
                r"SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment",
                "Path",
                r"system32.*;C:.k.bin",
            )),
        ),
        registry(script),
        scene(
            "hostname",
            "true",
            vec![Kind::Hostname(Hostname { name: "win-laws".into() })],
            script(&query(r"SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters", "", "win-laws")),
        ),
        scene(
            "firewall",
            "true",
            vec![ports()],
            script(&query(
                r"SYSTEM\\CurrentControlSet\\Services\\SharedAccess\\Parameters\\FirewallPolicy\\FirewallRules",
                "",
                "LPort=10250",
            )),
        ),
        scene(
            "feature",
            script(
                r"set -a; . /usr/lib/swdt/windows.env; set +a
                  wine reg add 'HKLM\SOFTWARE\swdt-rehearsal\features\TelnetClient' /v State /d Disabled /f",
            ),
            vec![Kind::Feature(Feature { name: "TelnetClient".into() })],
            script(&query(r"SOFTWARE\\swdt-rehearsal\\features\\TelnetClient", "State", "Enabled")),
        ),
        service(script),
        network(script),
        scene(
            "kubeconfig",
            "true",
            vec![client_config(r"C:\etc\laws\kubeconfig")],
            script(
                "grep -q api.example etc/laws/kubeconfig; test $(stat -c %a etc/laws/kubeconfig | tail -c2) = 0",
            ),
        ),
        source_vip(script),
    ]
}

/// The address after the gateway's, taken out of what pods can get.
fn source_vip(script: impl Fn(&str) -> &'static str) -> Scene {
    let kinds = vec![
        Kind::Traces(Traces {
            of: "plugins".into(),
            dirs: vec![r"C:\var\lib\cni-laws".into()],
            sysctls: Vec::new(),
        }),
        Kind::SourceVip(SourceVip {
            range_from: r"C:\run\laws\subnet.env".into(),
            reserved_in: r"C:\var\lib\cni-laws\networks\laws".into(),
            path: r"C:\var\lib\laws\config.yaml".into(),
            template: "sourceVip: SOURCE_VIP\n".into(),
        }),
    ];
    let before = script(
        "mkdir -p run/laws; printf 'FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.7.1/24\n' >run/laws/subnet.env",
    );
    let look = "test \"$(cat var/lib/laws/config.yaml)\" = 'sourceVip: 10.244.7.2'; grep -q swdt var/lib/cni-laws/networks/laws/10.244.7.2";
    scene("source-vip", before, kinds, script(look))
}

/// A network that comes by itself, as flanneld would make it, between doing and undoing.
fn network(script: impl Fn(&str) -> &'static str) -> Scene {
    let before = r"set -a; . /usr/lib/swdt/windows.env; set +a
        cp /usr/lib/swdt/features/Containers/* windows/system32/
        wine sc create hns binPath= 'C:\windows\system32\hns.exe' start= auto; wine net start hns
        wine hnsdiag create network theirs 10.7.0.0/24 10.7.0.1 4097";
    let look = r"set -a; . /usr/lib/swdt/windows.env; set +a
        wine hnsdiag create network flannel.4096 10.244.7.0/24 10.244.7.1 4096
        wine hnsdiag list networks | grep -q 'Overlay flannel.4096 [0-9]'";
    let kind = |name: &str| Kind::HnsNetwork(HnsNetwork { name: name.into() });
    scene("network", script(before), vec![kind("flannel.4096"), kind("theirs")], script(look))
}

/// A script that fails unless a value of the registry is like that, by Windows' own reg.exe.
fn query(key: &str, name: &str, like: &str) -> String {
    let which = if name.is_empty() { String::new() } else { format!("/v \"{name}\"") };
    format!(
        "set -a; . /usr/lib/swdt/windows.env; set +a; wine reg query \"HKLM\\\\{key}\" {which} | grep -qi '{like}'"
    )
}

fn files(script: impl Fn(&str) -> &'static str) -> Scene {
    let bytes: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).take(300_000).collect();
    let kinds = vec![
        text(r"C:\k\was.conf", 0o644, "ours\r\n"),
        file(r"C:\etc\new\dir\secret", 0o600, Content::Secret(Secret::new("hush"))),
        file(r"C:\Program Files\tool\tool.exe", 0o755, Content::Blob(swdt_ground::blob(&bytes))),
    ];
    let before = "mkdir -p k; printf theirs > k/was.conf";
    let look =
        "test \"$(cat k/was.conf)\" = \"$(printf 'ours\\r\\n')\"; test \"$(cat etc/new/dir/secret)\" = hush
                test $(stat -c %a etc/new/dir/secret | tail -c2) = 0; ! grep -r hush ProgramData/swdt
                test $(stat -c %s 'Program Files/tool/tool.exe') = 300000";
    scene("files", script(before), kinds, script(look)).with_blob(bytes)
}

fn archive(script: impl Fn(&str) -> &'static str) -> Scene {
    let bytes = packed();
    let archive = Archive {
        blob: swdt_ground::blob(&bytes),
        format: ArchiveFormat::TarGz,
        into: r"C:\opt\archive".into(),
        strip: 1,
        only: vec!["bin".into()],
    };
    let before = "mkdir -p opt/archive/bin; echo theirs > opt/archive/bin/one";
    let look = "test \"$(cat opt/archive/bin/one)\" = top/bin/one; test -e opt/archive/bin/two; test ! -e opt/archive/readme";
    scene("archive", script(before), vec![Kind::Archive(archive)], script(look)).with_blob(bytes)
}

fn registry(script: impl Fn(&str) -> &'static str) -> Scene {
    let value =
        |key: &str, name: &str, value| Kind::Registry(Registry { key: key.into(), name: name.into(), value });
    let kinds = vec![
        value(r"SOFTWARE\swdt-laws\new\deep", "text", RegistryValue::Text("ours".into())),
        value(r"SOFTWARE\swdt-laws\new\deep", "number", RegistryValue::Number(7)),
        value(
            r"SOFTWARE\Microsoft\Windows NT\CurrentVersion",
            "RegisteredOwner",
            RegistryValue::Expanded("%ours%".into()),
        ),
        value(r"SOFTWARE\swdt-laws", "list", RegistryValue::List(vec!["a".into(), "b".into()])),
    ];
    scene("registry", "true", kinds, script(&query(r"SOFTWARE\\swdt-laws\\new\\deep", "number", "0x7")))
}

/// The service host itself, with a program that says something and waits.
fn service(script: impl Fn(&str) -> &'static str) -> Scene {
    let program = Program::Shipped.bytes(true).expect("cargo xtask agents has been run");
    let host = r#"{"program": "C:\\Windows\\System32\\cmd.exe", "arguments": ["/c", "echo hello & ping -n 900 127.0.0.1"],
                   "log": "C:\\var\\log\\laws\\laws.log", "stopSeconds": 1}"#;
    let kinds = vec![
        file(r"C:\Program Files\laws\swdt-node.exe", 0o755, Content::Blob(swdt_ground::blob(&program))),
        dir(r"C:\var\log\laws", 0o755),
        text(r"C:\ProgramData\swdt\services\laws.json", 0o600, host),
        Kind::WindowsService(WindowsService {
            name: "laws".into(),
            display_name: "The laws of swdt".into(),
            description: "For the cluster laws (swdt)".into(),
            program: r"C:\Program Files\laws\swdt-node.exe".into(),
            arguments: vec!["service".into(), "laws".into()],
            start: ServiceStart::Delayed,
            depends_on: vec!["RpcSs".into()],
            running: Some(true),
            newer_than: vec![r"C:\ProgramData\swdt\services\laws.json".into()],
        }),
    ];
    scene("service", "true", kinds, script("grep -q hello var/log/laws/laws.log")).with_blob(program)
}

/// Names the points of death; a failed run prints its own.
const SEED: &str = "SWDT_LAWS_SEED";

/// How many scenes are killed in one run.
const KILLED: usize = 4;

fn seed() -> u64 {
    let given = std::env::var(SEED).ok().and_then(|text| text.parse().ok());
    let now =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    given.unwrap_or_else(now)
}

#[tokio::test]
async fn every_kind_of_windows_obeys_the_laws() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let mut clock = Clock::default();
    let machine = ground.windows_machine("win1").await?;
    clock.lap("machine");
    let scenes = scenes();
    for scene in &scenes {
        scene.set(&machine).await?;
    }
    let before = Fingerprint::take(&machine).await?;
    clock.lap("fingerprint");
    let shipped = machine.node_half(Program::Shipped)?;
    hold(&machine, &shipped, &scenes).await?;
    clock.lap("applied, twice, undone");
    same(&machine, &before, "applied and undone").await?;
    clock.lap("fingerprint");
    let faults = machine.node_half(Program::Faults)?;
    // Everything everywhere would take half an hour on Wine: some scenes, at one point each, and others next time.
    let seed = seed();
    clock.lap(&format!("{SEED}={seed}"));
    let first = usize::try_from(seed % scenes.len() as u64).unwrap_or(0);
    for (index, scene) in scenes.iter().cycle().skip(first).take(KILLED).enumerate() {
        let number = seed.wrapping_add(index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let deaths = hold_when_killed(&machine, &faults, scene, &Deaths::One(number)).await?;
        clock.lap(&format!("{}: killed {deaths} times", scene.name));
    }
    same(&machine, &before, "killed, applied and undone").await?;
    Ok(())
}

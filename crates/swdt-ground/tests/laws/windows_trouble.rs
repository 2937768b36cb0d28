//! What a Windows machine tells of itself, and what is said where something goes wrong on it.

use swdt_core::Result;
use swdt_ground::{Ground, NodeHalf, Program, TestMachine, cache_dir};
use swdt_wire::{
    Content, Feature, Kind, Mode, NodeEvent, NodeEventKind, NodeFailure, Request, Resource, Service,
    ServiceStart, WindowsService,
};

use crate::scenes::{dir, file, text};

/// Starts a program of Windows that holds a port, and waits until it does.
const LISTEN: &str = r"mkdir other; cp windows/system32/netsh.exe other/listener.exe
    systemd-run --unit=listener --property=EnvironmentFile=/usr/lib/swdt/windows.env \
        --property=KillSignal=SIGKILL wine 'C:\other\listener.exe' 10250
    timeout 10 sh -ec 'until grep -q :280A /proc/net/tcp; do sleep 0.1; done'";

#[tokio::test]
async fn a_windows_machine_tells_what_it_is_and_what_ails_it() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.windows_machine("win2").await?;
    let node = machine.node_half(Program::Kept)?;
    what_it_is(&machine, &node).await?;
    what_others_left(&machine, &node).await?;
    what_fails(&machine, &node).await
}

/// Runs a script of Linux that can start programs of Windows.
async fn script(machine: &TestMachine, text: &str) -> Result<String> {
    let text = format!("set -a; . /usr/lib/swdt/windows.env; set +a; cd /srv/windows/drive_c; {text}");
    machine.must(["sh", "-ec", &text]).await
}

async fn what_it_is(machine: &TestMachine, node: &NodeHalf) -> Result<()> {
    let facts = node.facts().await?;
    assert_eq!(facts, node.facts().await?, "facts of an idle machine are equal");
    let windows = facts.windows.as_ref().expect("facts of Windows");
    assert_eq!((windows.build, windows.ubr, windows.installation.as_str()), (20348, 2814, "Server Core"));
    assert_eq!((windows.login.user.as_str(), windows.login.admin), ("Administrator", true));
    assert_eq!((facts.strangers.len(), facts.taken_ports.len()), (0, 0), "{facts:?}");
    let network = &facts.addresses[0];
    let octets: Vec<&str> = network.cidr.split('.').take(3).collect();
    let own = format!("{}.0/24", octets.join("."));
    assert!(facts.routes.iter().any(|route| route.to == own && route.interface == network.interface));

    // A name that is no ASCII comes through.
    let request = serde_json::to_string(&Request::new("laws", "facts", Mode::Facts)).expect("JSON");
    machine.put("/tmp/request.json", 0o600, request.as_bytes())?;
    let said = script(machine, "USER=Jörg wine opt/swdt/bin/*.exe serve </tmp/request.json").await?;
    let events = said.lines().filter_map(|line| serde_json::from_str::<NodeEvent>(line).ok());
    let user = events.into_iter().find_map(|event| match event.kind {
        NodeEventKind::Facts(facts) => facts.windows.map(|windows| windows.login.user),
        _ => None,
    });
    assert_eq!(user.as_deref(), Some("Jörg"));
    Ok(())
}

async fn what_others_left(machine: &TestMachine, node: &NodeHalf) -> Result<()> {
    script(
        machine,
        r#"wine sc create docker binPath= '"C:\Program Files\Docker\dockerd.exe" --run-service'
           mkdir -p etc/cni/net.d k; touch etc/cni/net.d/nat.conf"#,
    )
    .await?;
    script(machine, LISTEN).await?;
    let facts = node.facts().await?;
    assert_eq!(
        facts.strangers,
        [r"service docker (C:\Program Files\Docker\dockerd.exe)", r"C:\etc\cni"],
        "an empty C:\\k is nobody's"
    );
    let owners = &facts.windows.as_ref().expect("facts of Windows").port_owners;
    assert_eq!(facts.taken_ports, [10250]);
    assert_eq!(owners[&10250].to_lowercase(), r"c:\other\listener.exe");
    script(machine, "systemctl stop listener; wine sc delete docker; rm -r etc/cni k other").await?;
    let facts = node.facts().await?;
    assert_eq!((facts.strangers.len(), facts.taken_ports.len()), (0, 0), "{facts:?}");
    Ok(())
}

/// Why resources could not be made true: message, output, hint.
async fn failure(node: &NodeHalf, kinds: Vec<Kind>) -> Result<(String, String, String)> {
    let named = |(number, kind)| Resource::new(format!("trouble/{number}"), kind);
    let resources: Vec<Resource> = kinds.into_iter().enumerate().map(named).collect();
    let told = node.apply(&resources).await?;
    let Some(NodeFailure::Resource { message, output, hint, .. }) = told.summary.failure else {
        panic!("it did not fail: {told:?}")
    };
    Ok((message, output.join("\n"), hint.unwrap_or_default()))
}

async fn what_fails(machine: &TestMachine, node: &NodeHalf) -> Result<()> {
    let key = r"'HKLM\SOFTWARE\swdt-rehearsal\features\TelnetClient'";
    script(machine, &format!("wine reg add {key} /v Fail /d 1 /f")).await?;
    let feature = Kind::Feature(Feature { name: "TelnetClient".into() });
    let (message, output, hint) = failure(node, vec![feature]).await?;
    assert!(message.contains("14098") && output.contains("has been corrupted"), "{message} {output}");
    assert!(hint.contains("/RestoreHealth") && hint.contains("dism.log"), "{hint}");
    script(machine, &format!("wine reg delete {key} /v Fail /f")).await?;

    let service = |name: &str| {
        Kind::Service(Service { name: name.into(), enabled: false, running: true, newer_than: Vec::new() })
    };
    let (message, _, _) = failure(node, vec![service("NoSuchService")]).await?;
    assert_eq!(message, "this Windows has no service NoSuchService");
    script(machine, r"wine sc create off binPath= C:\windows\system32\spoolsv.exe start= disabled").await?;
    let (message, _, hint) = failure(node, vec![service("off")]).await?;
    assert!(message.starts_with("cannot start the service off"), "{message}");
    assert!(hint.contains("is disabled: `sc.exe qc off` shows which"), "{hint}");

    node.put(&Program::Shipped.bytes(true)?).await?;
    let (message, output, hint) = failure(node, dying_service()).await?;
    assert_eq!(message, "dying was started but did not stay alive");
    assert!(output.contains("unknown flag: --oops"), "{output}");
    assert!(hint.contains(r"C:\var\log\dying.log"), "{hint}");
    Ok(())
}

/// As a kubelet does that is given a flag it does not know.
fn dying_service() -> Vec<Kind> {
    let program = Program::Shipped.bytes(true).expect("cargo xtask agents has been run");
    let host = r#"{"program": "C:\\Windows\\System32\\cmd.exe", "arguments": ["/c", "echo unknown flag: --oops & exit 1"],
                   "log": "C:\\var\\log\\dying.log"}"#;
    vec![
        dir(r"C:\var\log", 0o755),
        text(r"C:\ProgramData\swdt\services\dying.json", 0o600, host),
        file(r"C:\Program Files\dying\swdt-node.exe", 0o755, Content::Blob(swdt_ground::blob(&program))),
        Kind::WindowsService(WindowsService {
            name: "dying".into(),
            display_name: "Dies".into(),
            description: "Of the cluster laws (swdt)".into(),
            program: r"C:\Program Files\dying\swdt-node.exe".into(),
            arguments: vec!["service".into(), "dying".into()],
            start: ServiceStart::Manual,
            depends_on: Vec::new(),
            running: Some(true),
            newer_than: Vec::new(),
        }),
    ]
}

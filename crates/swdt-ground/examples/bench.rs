//! A run that finds nothing to do, measured against Ansible: the same 20 states on the same two
//! machines in the same run. `cargo xtask bench` calls it with the path of `ansible-playbook`.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use swdt_core::{
    Result,
    event::Reporter,
    remote::{Agent, AgentBinary, AgentOptions, SshConnector, SshOptions},
};
use swdt_ground::{Ground, TestMachine, cache_dir};
use swdt_wire::{
    Checked, Content, Dir, File, Hostname, Kind, Line, Mode, NodeEventKind, Owner, Package, Request,
    Resource, Service, Status,
};

const SWDT_RUNS: usize = 9;
const ANSIBLE_RUNS: usize = 3;
const PACKAGES: [&str; 5] = ["conntrack", "ethtool", "iptables", "nftables", "socat"];
const SERVICES: [&str; 2] = ["ssh.service", "systemd-networkd.service"];

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (ansible, agent) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let agent = Arc::new(AgentBinary::new(fs::read(&agent).expect("the node program")));
    let ground = Ground::open(&cache_dir()).await?;
    let machines = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
    let machines = [machines.0, machines.1];

    for machine in &machines {
        apply(machine, &agent).await?;
        // Ansible needs Python on the machine, and python3-apt for its apt module.
        machine.must(["apt-get", "update", "-qq"]).await?;
        machine
            .must(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "python3", "python3-apt"])
            .await?;
    }
    let mut ours = Vec::new();
    for _ in 0..SWDT_RUNS {
        let began = Instant::now();
        let (a, b) = tokio::join!(check(&machines[0], &agent), check(&machines[1], &agent));
        ours.push(began.elapsed());
        for (execs, satisfied) in [a?, b?] {
            assert_eq!((execs, satisfied), (1, 20), "execs and satisfied resources of a machine");
        }
    }
    let files = Playbook::write(ground.dir(), &machines);
    assert!(files.run(&ansible).contains("failed=0"), "the first run of Ansible");
    let mut theirs = Vec::new();
    for _ in 0..ANSIBLE_RUNS {
        let began = Instant::now();
        let said = files.run(&ansible);
        theirs.push(began.elapsed());
        assert_eq!(said.matches("changed=0").count(), 2, "Ansible changed something: {said}");
    }
    let (ours, theirs) = (median(ours), median(theirs));
    say("nothing to do, 20 states on 2 machines, connecting included");
    say(&format!("  swdt     {:>8.3} s   (one exec a machine)", ours.as_secs_f64()));
    say(&format!("  ansible  {:>8.3} s", theirs.as_secs_f64()));
    say(&format!("  ratio    {:>8.1}", theirs.as_secs_f64() / ours.as_secs_f64()));
    Ok(())
}

/// The 20 states, for swdt.
fn resources(machine: &TestMachine) -> Vec<Resource> {
    let mut kinds = vec![Kind::Hostname(Hostname { name: machine.name().to_owned() })];
    kinds.extend((1..=5).map(|n| Kind::Line(Line { path: "/etc/hosts".into(), line: host_line(n) })));
    kinds.extend(
        (1..=4).map(|n| {
            Kind::File(File { path: file_path(n), content: Content::Text(file_text(n)), mode: 0o644 })
        }),
    );
    kinds.extend((1..=3).map(|n| Kind::Dir(Dir { path: dir_path(n), mode: 0o755 })));
    kinds.extend(PACKAGES.map(|name| Kind::Package(Package { names: vec![name.to_owned()] })));
    kinds.extend(SERVICES.map(|name| {
        Kind::Service(Service { name: name.to_owned(), enabled: true, running: true, newer_than: Vec::new() })
    }));
    let numbered = kinds.into_iter().enumerate();
    numbered.map(|(n, kind)| Resource::new(format!("bench/{n}"), kind)).collect()
}

/// The same 20 states, for Ansible.
struct Playbook {
    dir: std::path::PathBuf,
}

impl Playbook {
    fn write(dir: &Path, machines: &[TestMachine]) -> Self {
        let mut tasks = String::from("- hosts: all\n  gather_facts: false\n  tasks:\n");
        let mut task = |module: &str, arguments: String| {
            let _ = writeln!(tasks, "    - ansible.builtin.{module}: {{{arguments}}}");
        };
        task("hostname", "name: \"{{ inventory_hostname }}\", use: debian".into());
        for n in 1..=5 {
            task("lineinfile", format!("path: /etc/hosts, line: \"{}\"", host_line(n)));
        }
        for n in 1..=4 {
            let text = file_text(n).replace('\n', "\\n");
            task("copy", format!("dest: {}, content: \"{text}\", mode: \"0644\"", file_path(n)));
        }
        for n in 1..=3 {
            task("file", format!("path: {}, state: directory, mode: \"0755\"", dir_path(n)));
        }
        for name in PACKAGES {
            task("apt", format!("name: {name}, state: present"));
        }
        for name in SERVICES {
            task("systemd_service", format!("name: {name}, enabled: true, state: started"));
        }
        fs::write(dir.join("playbook.yaml"), tasks).expect("playbook");

        let mut inventory = String::from("[all]\n");
        let mut known = String::new();
        for machine in machines {
            let _ = writeln!(
                inventory,
                "{} ansible_host={} ansible_user=root ansible_ssh_private_key_file={} ansible_python_interpreter=/usr/bin/python3",
                machine.name(),
                machine.address(),
                machine.key().display()
            );
            let _ = writeln!(known, "{} {}", machine.address(), machine.host_key());
        }
        fs::write(dir.join("inventory"), inventory).expect("inventory");
        fs::write(dir.join("ansible_known_hosts"), known).expect("known_hosts");
        let settings = format!(
            "[defaults]\nforks = 5\n[ssh_connection]\npipelining = true\nssh_args = -F none -C -o ControlMaster=auto \
             -o ControlPersist=60s -o UserKnownHostsFile={}\n",
            dir.join("ansible_known_hosts").display()
        );
        fs::write(dir.join("ansible.cfg"), settings).expect("settings");
        Self { dir: dir.to_owned() }
    }

    fn run(&self, ansible: &str) -> String {
        let output = Command::new(ansible)
            .args(["-i", "inventory", "playbook.yaml"])
            .current_dir(&self.dir)
            .env("ANSIBLE_CONFIG", self.dir.join("ansible.cfg"))
            .output()
            .expect("ansible-playbook");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }
}

fn host_line(n: u32) -> String {
    format!("192.0.2.{n} bench{n}.example")
}

fn file_path(n: u32) -> String {
    format!("/etc/bench{n}.conf")
}

fn file_text(n: u32) -> String {
    format!("# file {n}\nvalue = {n}\n")
}

fn dir_path(n: u32) -> String {
    format!("/srv/bench{n}")
}

/// A connection of its own, as every command makes one.
fn connect(machine: &TestMachine, binary: &Arc<AgentBinary>) -> Result<Agent> {
    let mut connection = machine.node().connection.clone();
    connection.host_key = Some(machine.host_key().to_owned());
    let options =
        SshOptions::new(machine.address(), connection, machine.key().with_file_name("bench_known_hosts"));
    let connector = SshConnector::new(options, Reporter::silent());
    Agent::new(Arc::new(connector), binary.clone(), AgentOptions::default())
}

async fn apply(machine: &TestMachine, binary: &Arc<AgentBinary>) -> Result<()> {
    let mode = Mode::Apply { resources: resources(machine), owner: Owner { who: "bench".into() } };
    let summary =
        connect(machine, binary)?.request(&Request::new("bench", "apply", mode), &mut |_| ()).await?;
    assert_eq!(summary.failure, None);
    Ok(())
}

/// What a command does that finds nothing to do. Gives execs and satisfied resources.
async fn check(machine: &TestMachine, binary: &Arc<AgentBinary>) -> Result<(u64, usize)> {
    let agent = connect(machine, binary)?;
    let mut satisfied = 0;
    let request = Request::new("bench", "check", Mode::Check { resources: resources(machine) });
    agent
        .request(&request, &mut |event| {
            if let NodeEventKind::Checked(Checked { status: Status::Satisfied, .. }) = event.kind {
                satisfied += 1;
            }
        })
        .await?;
    Ok((agent.execs(), satisfied))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a bench is read by people")]
fn say(text: &str) {
    println!("{text}");
}

//! A whole cluster, measured against a bare shell script that does the same work: the same bytes, files,
//! packages and kubeadm calls on machines that are alike, in the same run. The script is made from the plan, so
//! it cannot do less or more, and is written the way somebody in a hurry would: no checks, no receipts, nothing
//! that could go on after a failure; nodes side by side, and the control plane waits for nobody.
//!
//! `cargo xtask bench` calls it with the path of `swdt`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use swdt_core::{
    Result,
    artifact::Artifacts,
    config,
    plan::{self, Known},
    spec::{Node, Role, Spec},
    state::Dirs,
};
use swdt_ground::{Ground, TestMachine, cache_dir};
use swdt_wire::{Content, File, Kind, Resource, Truth};

const ROUNDS: usize = 2;
const CLUSTER: &str = "bench";
/// Both sides end when nodes, network and DNS are ready.
const UNTIL: &str = "verify";
const KUBECTL: &str = "kubectl --kubeconfig /etc/kubernetes/admin.conf";

#[tokio::main]
async fn main() -> Result<()> {
    let swdt = std::env::args().nth(1).unwrap_or_default();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first run fills the cache, if it is empty, and is not counted.
    let artifacts = by_swdt(&swdt, None).await?.1;
    for _ in 0..ROUNDS {
        theirs.push(by_script(&swdt, &artifacts).await?);
        ours.push(by_swdt(&swdt, Some(&artifacts)).await?.0);
    }
    let (ours, theirs) = (least(&ours), least(&theirs));
    say(&format!("a cluster of 2 nodes until it is ready, from machines that run; best of {ROUNDS}"));
    say(&format!("  shell script  {:>8.2} s", theirs.as_secs_f64()));
    say(&format!("  swdt          {:>8.2} s", ours.as_secs_f64()));
    say(&format!("  ratio         {:>8.3}", ours.as_secs_f64() / theirs.as_secs_f64()));
    Ok(())
}

/// Two machines nobody has touched, and a file that makes a cluster of them.
struct Scene {
    ground: Ground,
    machines: [TestMachine; 2],
    config: PathBuf,
}

impl Scene {
    async fn new(artifacts: Option<&Path>) -> Result<Self> {
        let ground = Ground::open(&cache_dir()).await?;
        let (a, b) = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
        let mut text = format!(
            "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: {CLUSTER}}}\nkubernetes: {{version: 1.36.3}}\nnodes:\n"
        );
        for (machine, role) in [(&a, "control-plane"), (&b, "worker")] {
            let _ = writeln!(
                text,
                "  - {{name: {}, role: {role}, address: {}, connection: {{user: root, key: {}, hostKey: {}}}}}",
                machine.name(),
                machine.address(),
                machine.key().display(),
                machine.host_key()
            );
        }
        let config = ground.dir().join("cluster.yaml");
        fs::write(&config, text).expect("configuration");
        let scene = Self { ground, machines: [a, b], config };
        if let Some(artifacts) = artifacts {
            let dir = scene.dirs().cluster(CLUSTER);
            dir.make()?;
            fs::copy(artifacts, dir.artifacts()).expect("artifacts");
        }
        Ok(scene)
    }

    fn dirs(&self) -> Dirs {
        Dirs { data: self.ground.dir().join("data"), cache: cache_dir() }
    }

    fn swdt(&self, swdt: &str, until: &str) {
        let status = Command::new(swdt)
            .args(["cluster", "create", "--quiet", "--until", until, "--config"])
            .arg(&self.config)
            .env("SWDT_DATA_DIR", self.dirs().data)
            .env("SWDT_CACHE_DIR", self.dirs().cache)
            .status();
        assert!(status.is_ok_and(|status| status.success()), "swdt failed");
    }
}

/// How long swdt takes, and a copy of what it pinned.
async fn by_swdt(swdt: &str, artifacts: Option<&Path>) -> Result<(Duration, PathBuf)> {
    let scene = Scene::new(artifacts).await?;
    let began = Instant::now();
    scene.swdt(swdt, UNTIL);
    let took = began.elapsed();
    let kept = std::env::temp_dir().join(format!("swdt-bench-artifacts-{}.json", std::process::id()));
    fs::copy(scene.dirs().cluster(CLUSTER).artifacts(), &kept).expect("artifacts");
    Ok((took, kept))
}

/// How long the script takes.
async fn by_script(swdt: &str, artifacts: &Path) -> Result<Duration> {
    let scene = Scene::new(Some(artifacts)).await?;
    // Learns what the machines are, which whoever writes a script knows; changes nothing.
    scene.swdt(swdt, "preflight");
    let spec =
        config::load("cluster.yaml", &fs::read(&scene.config).expect("configuration"), None, Path::new("/"))
            .expect("configuration");
    let known = known(&scene, artifacts)?;
    let dir = scene.ground.dir().join("script");
    let script = Script { dir: &dir, machines: &scene.machines };
    for node in &spec.nodes {
        script.write_node(&spec, node, &known);
    }
    script.write_main(&spec);
    let began = Instant::now();
    let output = Command::new("bash").arg(dir.join("main.sh")).stdin(Stdio::null()).output().expect("bash");
    let took = began.elapsed();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(took)
}

fn known(scene: &Scene, artifacts: &Path) -> Result<Known> {
    let mut known = Known::default();
    for (name, node) in scene.dirs().cluster(CLUSTER).load(CLUSTER)?.nodes {
        known.facts.extend(node.facts.map(|facts| (name.clone(), facts)));
        known.endpoints.extend(node.endpoint.map(|endpoint| (name, endpoint)));
    }
    let text = fs::read_to_string(artifacts).expect("artifacts");
    let document: serde_json::Value = serde_json::from_str(&text).expect("artifacts");
    let pinned: Artifacts = serde_json::from_value(document["artifacts"].clone()).expect("artifacts");
    known.artifacts = Some(pinned);
    Ok(known)
}

/// `main.sh` for the host, and for each node a directory that becomes its root, with scripts inside.
struct Script<'a> {
    dir: &'a Path,
    machines: &'a [TestMachine; 2],
}

impl Script<'_> {
    /// What goes to a node, and what is done there: before kubeadm, by kubeadm, and after it.
    fn write_node(&self, spec: &Spec, node: &Node, known: &Known) {
        let root = self.dir.join(&node.name);
        fs::create_dir_all(root.join("script")).expect("directory");
        let plan = plan::plan_node(spec, node, known, Some(UNTIL));
        let (mut before, mut kubeadm, mut after) = (head(), head(), head());
        for (phase, resources) in &plan.phases {
            for resource in resources {
                let text = match (*phase, &resource.kind) {
                    ("init" | "join", _) => &mut kubeadm,
                    // Objects need an API server; files of the network do not.
                    ("verify" | "node-net", _) | (_, Kind::Manifest(_)) => &mut after,
                    _ => &mut before,
                };
                match &resource.kind {
                    // Not before its time.
                    Kind::File(File { path, content: Content::Text(bytes), mode })
                        if *phase == "node-net" =>
                    {
                        let name = path.rsplit('/').next().unwrap_or_default();
                        fs::write(root.join("script").join(name), bytes).expect("file");
                        let _ = writeln!(text, "install -D -m {mode:o} /script/{name} {path}");
                    }
                    _ => line(&root, resource, text),
                }
            }
        }
        for (name, text) in [("before", before), ("kubeadm", kubeadm), ("after", after)] {
            fs::write(root.join("script").join(name), text).expect("script");
        }
    }

    fn write_main(&self, spec: &Spec) {
        let known_hosts = self.dir.join("known_hosts");
        let mut known = String::new();
        for machine in self.machines {
            let _ = writeln!(known, "{} {}", machine.address(), machine.host_key());
        }
        fs::write(&known_hosts, known).expect("known_hosts");
        let mut text = head();
        let key = self.machines[0].key().display();
        let _ = writeln!(
            text,
            "on() {{ ssh -F none -i {key} -o UserKnownHostsFile={} root@$1 \"$2\"; }}",
            known_hosts.display()
        );
        let _ = writeln!(
            text,
            "send() {{ tar -chf - -C {}/$1 . | on $2 'tar -xf - -C / --no-same-owner --keep-directory-symlink'; }}",
            self.dir.display()
        );
        let address = |node: &Node| {
            let machine = self.machines.iter().find(|machine| machine.name() == node.name);
            machine.map(|machine| machine.address().to_string()).unwrap_or_default()
        };
        let workers = || spec.nodes.iter().filter(|node| node.role == Role::Worker);
        for node in workers() {
            let (name, address) = (&node.name, address(node));
            let _ = writeln!(text, "(send {name} {address}; on {address} 'bash /script/before') & {name}=$!");
        }
        let plane = spec.control_planes().next().expect("a control plane");
        let (name, cp) = (&plane.name, address(plane));
        let _ = writeln!(text, "send {name} {cp}; on {cp} 'bash /script/before && bash /script/kubeadm'");
        let _ = writeln!(text, "words=$(on {cp} 'kubeadm token create --print-join-command')");
        text.push_str("token=$(sed 's/.*--token \\([^ ]*\\).*/\\1/' <<<\"$words\")\n");
        text.push_str("hash=$(sed 's/.*hash \\([^ ]*\\).*/\\1/' <<<\"$words\")\n");
        for node in workers() {
            let (name, address) = (&node.name, address(node));
            let _ = writeln!(
                text,
                "(wait_for() {{ while kill -0 $1 2>/dev/null; do sleep 0.1; done; }}; wait_for ${name}; \
                 on {address} \"sed -i 's/TOKEN/$token/; s/<after init>/$hash/' /script/kubeadm.yaml && bash /script/kubeadm && bash /script/after\") & joined=\"$joined $!\""
            );
        }
        let _ = writeln!(text, "on {cp} 'bash /script/after' & last=$!");
        text.push_str("for one in $joined $last; do wait $one; done\n");
        fs::write(self.dir.join("main.sh"), text).expect("script");
    }
}

fn head() -> String {
    "set -e\nexport DEBIAN_FRONTEND=noninteractive PATH=/usr/local/bin:$PATH joined=\n".to_owned()
}

/// One resource as a line of shell; its bytes go where they belong on the node.
fn line(root: &Path, resource: &Resource, text: &mut String) {
    let _ = match &resource.kind {
        Kind::File(File { path, content, mode }) => {
            let at = root.join(path.trim_start_matches('/'));
            fs::create_dir_all(at.parent().expect("a directory")).expect("directory");
            match content {
                Content::Text(text) => fs::write(&at, text).expect("file"),
                Content::Blob(blob) => link(&blob.sha256, &at),
                Content::Secret(_) => panic!("a file of this cluster is a secret"),
            }
            writeln!(text, "chmod {mode:o} {path}")
        }
        Kind::Line(line) => writeln!(text, "echo '{}' >>{}", line.line, line.path),
        Kind::Hostname(hostname) => writeln!(text, "hostnamectl set-hostname {}", hostname.name),
        Kind::Sysctl(sysctl) => {
            writeln!(
                text,
                "echo {0}={1} >>/etc/sysctl.d/bench.conf; sysctl -qw {0}={1}",
                sysctl.key, sysctl.value
            )
        }
        Kind::Package(package) => {
            let names = package.names.join(" ");
            // Asking dpkg is what saves a minute where all is installed.
            writeln!(
                text,
                "dpkg -s {names} >/dev/null 2>&1 || {{ apt-get update -qq; apt-get install -yqq --no-install-recommends {names}; }}"
            )
        }
        Kind::Service(service) => {
            let verb = if service.enabled { "enable --now" } else { "start" };
            writeln!(text, "systemctl daemon-reload; systemctl {verb} --quiet {}", service.name)
        }
        Kind::Image(image) => {
            let name = format!("{}.tar", image.blob.sha256);
            link(&image.blob.sha256, &root.join("script").join(&name));
            writeln!(text, "ctr -n k8s.io images import /script/{name}")
        }
        Kind::KubeadmInit(init) => {
            fs::write(root.join("script/kubeadm.yaml"), &init.config).expect("file");
            writeln!(
                text,
                "kubeadm init --config /script/kubeadm.yaml --ignore-preflight-errors={}",
                init.ignore.join(",")
            )
        }
        Kind::KubeadmJoin(join) => {
            fs::write(root.join("script/kubeadm.yaml"), &join.config).expect("file");
            writeln!(
                text,
                "kubeadm join --config /script/kubeadm.yaml --ignore-preflight-errors={}",
                join.ignore.join(",")
            )
        }
        Kind::Manifest(manifest) => {
            fs::write(root.join("script/objects.yaml"), &manifest.yaml).expect("file");
            writeln!(text, "{KUBECTL} apply --server-side -f /script/objects.yaml")
        }
        Kind::Condition(condition) => writeln!(text, "{}", wait(&condition.what)),
        // A machine without a firewall has nothing to open, and a script has no way back to note.
        Kind::Firewall(_) | Kind::Traces(_) => Ok(()),
        other => panic!("the script does not know {other:?}"),
    };
}

/// kubectl can wait for everything but the existence of a node.
fn wait(what: &Truth) -> String {
    match what {
        Truth::ApiReady => format!("until {KUBECTL} get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done"),
        Truth::FileExists { path } => format!("until [ -e {path} ]; do sleep 0.2; done"),
        Truth::HnsNetwork { .. } | Truth::Healthy { .. } => panic!("no Linux node has {what}"),
        Truth::NodeReady { name } => format!(
            "until {KUBECTL} get node {name} >/dev/null 2>&1; do sleep 0.2; done; {KUBECTL} wait --for=condition=Ready node/{name} --timeout=180s"
        ),
        Truth::DaemonSet { namespace, name } => {
            format!("{KUBECTL} -n {namespace} rollout status daemonset/{name} --timeout=180s")
        }
        Truth::Deployment { namespace, name } => {
            format!("{KUBECTL} -n {namespace} rollout status deployment/{name} --timeout=180s")
        }
    }
}

/// Bytes of the cache under another name; tar follows the link.
fn link(sha256: &str, at: &Path) {
    let blob = cache_dir().join("artifacts/sha256").join(sha256);
    assert!(blob.exists(), "{} is not in the cache", blob.display());
    let _ = fs::remove_file(at);
    std::os::unix::fs::symlink(blob, at).expect("link");
}

fn least(times: &[Duration]) -> Duration {
    times.iter().copied().min().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "a bench is read by people")]
fn say(text: &str) {
    println!("{text}");
}

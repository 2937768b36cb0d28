//! Whether a secret shows itself: what processes are told while a run goes on, and what is left in files afterwards.
//!
//! Known are canaries that a test plants, and whatever a run makes: keys and tokens as they stand on the machines,
//! and bootstrap tokens, which live for seconds and are caught while they do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use swdt_core::Result;
use swdt_ground::TestMachine;

/// Between two looks at all processes.
const PAUSE: Duration = Duration::from_millis(15);

/// Values that nobody may see, by a name that may be told.
pub type Secrets = BTreeMap<String, String>;

/// Where a machine's own secrets are meant to be: in these places and nowhere else. Kubernetes keeps them there.
pub const MEANT: &[&str] = &[
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/super-admin.conf",
    "/etc/kubernetes/controller-manager.conf",
    "/etc/kubernetes/scheduler.conf",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/pki/",
    "/var/lib/kubelet/pki/",
    // Service accounts of pods, and the store of the API server.
    "/var/lib/kubelet/pods/",
    "/var/lib/etcd/",
    "/srv/windows/drive_c/etc/kube-flannel/kubeconfig",
    "/srv/windows/drive_c/var/lib/kube-proxy/kubeconfig",
    "/srv/windows/drive_c/var/lib/kubelet/pki/",
    "/srv/windows/drive_c/etc/kubernetes/",
];

/// What is searched on a machine: whatever is not of the system or of an image.
const SEARCHED: &[&str] = &[
    "etc",
    "home",
    "opt",
    "root",
    "run",
    "srv",
    "tmp",
    "usr/local",
    "var/cache",
    "var/lib",
    "var/log",
    "var/tmp",
];

/// What on a machine must be for root alone. On Windows everything of ours inherits the access list of one directory,
/// which Wine does not show as modes; files with credentials have lists of their own, which it does: `windows.rs` looks.
const OURS: &str = "/var/lib/swdt";

/// The secrets that a machine holds: private keys, keys and tokens in kubeconfigs.
pub async fn secrets_of(machine: &TestMachine) -> Result<Secrets> {
    let places = MEANT.iter().filter(|place| !place.contains("etcd") && !place.contains("pods"));
    let find = ["find"].into_iter().chain(places.copied()).chain(["-type", "f", "-size", "-64k"]);
    let mut found = Secrets::new();
    for path in machine.exec(find).await?.stdout.lines() {
        let text = machine.must(["cat", path]).await?;
        for (number, value) in secrets_in(&text).into_iter().enumerate() {
            found.insert(format!("{} {path} #{number}", machine.name()), value);
        }
    }
    Ok(found)
}

/// Bodies of private keys, keys and tokens of kubeconfigs; each also as what it stands for.
fn secrets_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split("-----BEGIN ").skip(1) {
        let body: Vec<&str> = part.lines().skip(1).take_while(|line| !line.starts_with("-----")).collect();
        if part.split("-----").next().is_some_and(|kind| kind.ends_with("PRIVATE KEY")) {
            // A line from its middle: the first ones are alike in all keys of a kind.
            found.extend(body.get(body.len() / 2).map(|line| (*line).to_owned()));
        }
    }
    for line in text.split(['\n', ',', '{', '}']) {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches('"');
        match key.trim().trim_matches('"').trim_start_matches("- ") {
            "token" if !value.is_empty() => found.push(value.to_owned()),
            "client-key-data" => {
                found.push(value.to_owned());
                let key = STANDARD.decode(value).unwrap_or_default();
                found.extend(secrets_in(&String::from_utf8_lossy(&key)));
            }
            _ => {}
        }
    }
    found.retain(|value| value.len() >= 16);
    found
}

/// Which secrets stand in a text.
pub fn seen(text: &str, secrets: &Secrets) -> Vec<String> {
    secrets.iter().filter(|(_, value)| text.contains(value.as_str())).map(|(name, _)| name.clone()).collect()
}

/// Files below directories that hold secrets, outside of the places that may.
pub fn grep(dirs: &[PathBuf], secrets: &Secrets, meant: &dyn Fn(&Path) -> bool) -> Vec<String> {
    // In a file, because arguments of processes are searched too.
    let patterns = tempfile::NamedTempFile::new().unwrap();
    let all: Vec<&str> = secrets.values().map(String::as_str).collect();
    fs::write(patterns.path(), all.join("\n")).unwrap();
    let dirs = dirs.iter().filter(|dir| dir.exists());
    let mut command = Command::new("grep");
    command
        .args(["-raFl", "--devices=skip", "--exclude-dir=io.containerd.*", "-f"])
        .arg(patterns.path())
        .arg("--")
        .args(dirs);
    let output = command.env("LC_ALL", "C").output().unwrap();
    let files = String::from_utf8_lossy(&output.stdout).into_owned();
    let files = files.lines().map(Path::new).filter(|path| *path != patterns.path() && !meant(path));
    let told = |path: &Path| {
        let text = fs::read(path).unwrap_or_default();
        format!("{}: {:?}", path.display(), seen(&String::from_utf8_lossy(&text), secrets))
    };
    files.map(told).collect()
}

/// Everything wrong with a machine: secrets in files and in its journal, and files of ours that others may read.
pub async fn wrong_on(machine: &TestMachine, secrets: &Secrets) -> Result<Vec<String>> {
    let root = PathBuf::from(format!("/proc/{}/root", machine.init_pid()?));
    let dirs: Vec<PathBuf> = SEARCHED.iter().map(|dir| root.join(dir)).collect();
    let meant = |path: &Path| {
        let inside = path.to_string_lossy().replacen(&*root.to_string_lossy(), "", 1);
        MEANT.iter().any(|place| inside.starts_with(place))
    };
    let mut wrong = grep(&dirs, secrets, &meant);
    let journal = machine.must(["journalctl", "--no-pager", "-o", "cat"]).await?;
    wrong.extend(seen(&journal, secrets).into_iter().map(|name| format!("the journal: {name}")));
    let open = machine.exec(["find", OURS, "-perm", "/077", "!", "-type", "l"]).await?.stdout;
    wrong.extend(open.lines().map(|path| format!("{path} is open to others")));
    Ok(wrong.into_iter().map(|what| format!("{}: {what}", machine.name())).collect())
}

/// Files and directories below one of this host that others may read.
pub fn open_below(dir: &Path) -> Vec<String> {
    let mut open = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        if meta.permissions().mode() & 0o077 != 0 {
            open.push(format!("{} has mode {:o}", path.display(), meta.permissions().mode() & 0o777));
        }
        if meta.is_dir() {
            open.extend(open_below(&path));
        }
    }
    open
}

/// Looks at all processes of the host, and so of all machines, for as long as it lives.
pub struct Watcher {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<()>>,
}

/// What processes were told.
#[derive(Default)]
pub struct Seen {
    /// Arguments and environments, each with its program.
    pub told: BTreeSet<String>,
    /// Bootstrap tokens, while they were in a file for kubeadm or the kubelet.
    pub tokens: Secrets,
}

impl Watcher {
    /// `home` is that of the command: what is started there has the environment of its user.
    pub fn start(home: &Path, machines: &[&TestMachine]) -> Result<Self> {
        let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Seen::default())));
        let own = format!("HOME={}\0", home.display());
        let mut roots = Vec::new();
        for machine in machines {
            roots.push(PathBuf::from(format!("/proc/{}/root", machine.init_pid()?)));
        }
        let (over, to) = (Arc::clone(&stop), Arc::clone(&seen));
        let thread = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let mut seen = to.lock().unwrap();
                look(&own, &mut seen.told);
                for root in &roots {
                    catch_tokens(root, &mut seen.tokens);
                }
                drop(seen);
                thread::sleep(PAUSE);
            }
        });
        Ok(Self { stop, seen, thread: Some(thread) })
    }

    /// What it saw.
    pub fn end(mut self) -> Seen {
        self.finish();
        std::mem::take(&mut *self.seen.lock().unwrap())
    }

    fn finish(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.finish();
    }
}

fn look(own: &str, told: &mut BTreeSet<String>) {
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let name = process.file_name();
        if !name.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let read = |file: &str| {
            String::from_utf8_lossy(&fs::read(process.path().join(file)).unwrap_or_default()).into_owned()
        };
        let (arguments, environment) = (read("cmdline"), read("environ"));
        if !arguments.is_empty() && !told.contains(&arguments) {
            told.insert(arguments.clone());
        }
        // The user's own variables reach swdt and what it starts here, as they should.
        if !environment.is_empty() && !environment.contains(own) {
            told.insert(format!("{arguments} with {environment}"));
        }
    }
}

/// Files that hold a bootstrap token for the time of a join.
const JOINING: [&str; 6] = [
    "var/lib/swdt/kubeadm.yaml",
    "etc/kubernetes/bootstrap-kubelet.conf",
    "srv/windows/drive_c/ProgramData/swdt/kubeadm.yaml",
    "srv/windows/drive_c/etc/kubernetes/bootstrap-kubelet.conf",
    "srv/windows/drive_c/ProgramData/swdt/kubeadm.yaml.tmp",
    "var/lib/swdt/kubeadm.yaml.tmp",
];

fn catch_tokens(root: &Path, tokens: &mut Secrets) {
    for place in JOINING {
        let text = fs::read_to_string(root.join(place)).unwrap_or_default();
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.')) {
            if let Some((id, secret)) = word.split_once('.')
                && (id.len(), secret.len()) == (6, 16)
                && !secret.contains('.')
            {
                tokens.insert(format!("bootstrap token {id}"), secret.to_owned());
            }
        }
    }
}

/// A private key for the machines, locked with a passphrase: a secret that the user must give.
pub fn locked_key(machine: &TestMachine, home: &Path, name: &str, passphrase: &str) -> PathBuf {
    let path = home.join(name);
    fs::copy(machine.key(), &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-p", "-P", "", "-N", passphrase, "-f"]).arg(&path);
    assert!(command.status().unwrap().success());
    path
}

//! An OpenSSH server of our own, on a free port of loopback.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, User, geteuid},
};
use swdt_core::{
    Error,
    event::{EventKind, Reporter},
    remote::{Ssh, SshOptions},
    spec::Connection,
};
use tempfile::TempDir;

/// A server, its keys, and the key `id` that it lets in.
pub(crate) struct Sshd {
    pub(crate) dir: TempDir,
    pub(crate) port: u16,
    child: Child,
}

impl Sshd {
    pub(crate) fn start() -> Self {
        Self::with(&["ed25519"], "")
    }

    /// With these host keys, and further lines in sshd_config.
    pub(crate) fn with(host_keys: &[&str], config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let child = serve(dir.path(), port, host_keys, config);
        let sshd = Self { dir, port, child };
        sshd.wait();
        sshd
    }

    /// Begins to listen only after a while.
    pub(crate) fn later(after: Duration) -> (u16, TempDir, std::thread::JoinHandle<Child>) {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        prepare(dir.path(), &["ed25519"]);
        let path = dir.path().to_owned();
        let thread = std::thread::spawn(move || {
            sleep(after);
            serve(&path, port, &["ed25519"], "")
        });
        (port, dir, thread)
    }

    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "sshd does not listen: {}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Options that let us in: key `id`, host key recorded in the cluster's own file.
    pub(crate) fn options(&self) -> SshOptions {
        let mut options = self.strange();
        self.know("own_known_hosts", "host_ed25519");
        options.connection.key = Some(self.file("id"));
        options
    }

    /// Options for a machine that nobody has seen yet.
    pub(crate) fn strange(&self) -> SshOptions {
        let connection = Connection { user: Some(me()), ..Connection::default() };
        let mut options = SshOptions::new("127.0.0.1", connection, self.file("own_known_hosts"));
        options.port = Some(self.port);
        options
    }

    /// Records a host key in a file.
    pub(crate) fn know(&self, file: &str, key: &str) {
        let line = format!("[127.0.0.1]:{} {}", self.port, self.public(key));
        fs::write(self.file(file), line).unwrap();
    }

    pub(crate) fn public(&self, key: &str) -> String {
        fs::read_to_string(self.file(&format!("{key}.pub"))).unwrap()
    }

    /// The process that listens.
    pub(crate) fn listener(&self) -> u32 {
        self.child.id()
    }

    /// Processes that serve connections.
    pub(crate) fn sessions(&self) -> Vec<Pid> {
        descendants(Pid::from_raw(self.child.id().cast_signed()))
    }

    pub(crate) fn signal_sessions(&self, signal: Signal) {
        for session in self.sessions() {
            let _ = kill(session, signal);
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.signal_sessions(Signal::SIGKILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child that ends with the test.
pub(crate) struct Guard(pub(crate) Child);

impl Drop for Guard {
    fn drop(&mut self) {
        for process in descendants(Pid::from_raw(self.0.id().cast_signed())) {
            let _ = kill(process, Signal::SIGKILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An ssh-agent that holds these keys.
pub(crate) fn ssh_agent(dir: &Path, keys: &[&Path]) -> (Guard, PathBuf) {
    let socket = dir.join("agent");
    let child = Command::new("ssh-agent").arg("-D").arg("-a").arg(&socket).stdout(Stdio::null()).spawn();
    let agent = Guard(child.unwrap());
    while !socket.exists() {
        sleep(Duration::from_millis(10));
    }
    for key in keys {
        run(Command::new("ssh-add").arg("-q").arg(key).env("SSH_AUTH_SOCK", &socket));
    }
    (agent, socket)
}

/// Makes a key pair.
pub(crate) fn keygen(path: &Path, kind: &str, passphrase: &str) {
    run(Command::new("ssh-keygen").args(["-q", "-t", kind, "-N", passphrase, "-C", "test", "-f"]).arg(path));
}

pub(crate) fn me() -> String {
    User::from_uid(geteuid()).unwrap().unwrap().name
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) async fn connect(options: &SshOptions) -> Result<Ssh, Error> {
    Ssh::connect(options, &Reporter::silent()).await
}

/// Why a connection was refused.
pub(crate) async fn refusal(options: &SshOptions) -> Error {
    match connect(options).await {
        Ok(_) => panic!("it let us in"),
        Err(error) => error,
    }
}

/// A reporter that remembers.
pub(crate) fn recorder() -> (Reporter, Arc<Mutex<Vec<EventKind>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    (Reporter::new(move |_, kind| sink.lock().unwrap().push(kind)), heard)
}

fn prepare(dir: &Path, host_keys: &[&str]) {
    for kind in host_keys {
        let path = dir.join(format!("host_{kind}"));
        if !path.exists() {
            keygen(&path, kind, "");
        }
    }
    if !dir.join("id").exists() {
        keygen(&dir.join("id"), "ed25519", "");
        fs::copy(dir.join("id.pub"), dir.join("authorized_keys")).unwrap();
        // The login user reads it, and temporary directories are private.
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn serve(dir: &Path, port: u16, host_keys: &[&str], config: &str) -> Child {
    prepare(dir, host_keys);
    if geteuid().is_root() {
        // sshd insists on it; systemd makes it otherwise.
        let _ = fs::create_dir("/run/sshd");
    }
    let place = dir.display();
    let mut text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nPidFile none\nUsePAM no\nStrictModes no\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
         MaxStartups 100\nUseDNS no\nAuthorizedKeysFile {place}/authorized_keys\n"
    );
    for kind in host_keys {
        text.extend(["HostKey ", &dir.join(format!("host_{kind}")).display().to_string(), "\n"]);
    }
    fs::write(dir.join("sshd_config"), text + config + "\n").unwrap();
    Command::new("/usr/sbin/sshd")
        .args(["-D", "-E"])
        .arg(dir.join("log"))
        .arg("-f")
        .arg(dir.join("sshd_config"))
        .stdin(Stdio::null())
        .spawn()
        .expect("these tests need openssh-server: apt-get install --no-install-recommends openssh-server")
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn descendants(of: Pid) -> Vec<Pid> {
    let mut found = vec![of];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        found.extend(
            children.unwrap_or_default().split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap())),
        );
    }
    found.split_off(1)
}

//! The real command, in a home of its own, against machines of the ground.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

pub mod pages;
pub mod pty;
pub mod scene;
pub mod secrets;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use swdt_ground::{TestMachine, fingerprint::Fingerprint};

/// The command, with a home of its own.
pub struct Swdt {
    home: tempfile::TempDir,
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
    /// Without any rights.
    nobody: bool,
}

/// A cluster `demo` of loopback addresses: a command that gets further than it should must not reach anybody.
pub const OUT_OF_REACH: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: demo}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 127.0.0.10, connection: {user: root}}
  - {name: w1, address: 127.0.0.11, connection: {user: root}}
";

/// The user whom systems have for this.
const NOBODY: u32 = 65534;

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Runs it to its end.
    pub fn of(command: &mut Command) -> Self {
        // A program that was just copied is busy as long as a process forked meanwhile still holds it.
        let output = loop {
            match command.output() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                output => break output.unwrap(),
            }
        };
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The events of `--format json`.
    pub fn events(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
            .collect()
    }

    /// Field `field` of the one event `kind` of a node, or of the run.
    pub fn event(&self, node: Option<&str>, kind: &str) -> serde_json::Value {
        let events = self.events();
        let found =
            events.iter().find(|event| event["kind"][kind].is_object() && event["node"].as_str() == node);
        found.unwrap_or_else(|| panic!("no {kind} of {node:?} in {self:#?}"))["kind"][kind].clone()
    }

    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// It failed with this exit code, and said all of this.
    pub fn fails(self, code: i32, said: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        for words in said {
            assert!(self.stderr.contains(words), "`{words}` was not said: {self:#?}");
        }
        self
    }
}

impl Swdt {
    pub fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            program: env!("CARGO_BIN_EXE_swdt").into(),
            variables: Vec::new(),
            nobody: false,
        }
    }

    /// One of a user without any rights, who can neither see our cache nor enter our directories.
    #[cfg(unix)]
    pub fn of_nobody() -> Self {
        let mut swdt = Self::new();
        let (from, home) = (swdt.program.clone(), swdt.home().to_owned());
        for name in ["swdt", "swdt-node-linux-amd64"] {
            fs::copy(from.with_file_name(name), home.join(name)).expect("`cargo xtask agents` builds it");
        }
        std::os::unix::fs::chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        swdt.set("SWDT_CACHE_DIR", &home.join("cache").to_string_lossy());
        Self { program: home.join("swdt"), nobody: true, ..swdt }
    }

    /// One whose node program can be told to die ([`die_at`]).
    pub fn mortal() -> Self {
        let mut swdt = Self::new();
        for (mortal, name) in [
            ("swdt-node-linux-amd64-faults", "swdt-node-linux-amd64"),
            ("swdt-node-windows-amd64-faults.exe", "swdt-node-windows-amd64.exe"),
        ] {
            let from = swdt.program.with_file_name(mortal);
            fs::copy(from, swdt.home().join(name)).expect("`cargo xtask agents` builds it");
        }
        let program = swdt.home().join("swdt");
        fs::copy(&swdt.program, &program).unwrap();
        swdt.program = program;
        swdt
    }

    /// Sets a variable of the environment for every command from now on.
    pub fn set(&mut self, name: &'static str, value: &str) {
        self.variables.retain(|(other, _)| *other != name);
        self.variables.push((name, value.to_owned()));
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The same command, copied into the home, with only this node program beside it.
    pub fn alone(&self, node_program: Option<&str>) -> impl Fn(&[&str]) -> Ran {
        let copy = self.home().join("swdt");
        fs::copy(env!("CARGO_BIN_EXE_swdt"), &copy).unwrap();
        if let Some(bytes) = node_program {
            fs::write(self.home().join("swdt-node-linux-amd64"), bytes).unwrap();
        }
        let home = self.home().to_owned();
        move |arguments| Ran::of(Command::new(&copy).args(arguments).env_clear().env("HOME", &home))
    }

    pub fn data(&self) -> PathBuf {
        self.home().join("data")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.at_home(&self.program);
        command.args(arguments);
        command
    }

    /// A shell in the home that finds the command by its name.
    pub fn shell(&self, line: &str) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = self.program.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
        let mut shell = self.at_home(Path::new("bash"));
        shell.args(["-c", line]).env("PATH", std::env::join_paths(dirs).unwrap()).current_dir(self.home());
        shell
    }

    fn at_home(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("USER", "ada")
            .env("SWDT_DATA_DIR", self.data())
            .env("SWDT_CACHE_DIR", swdt_ground::cache_dir())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        #[cfg(unix)]
        if self.nobody {
            use std::os::unix::process::CommandExt;
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// Starts it and comes back at once; its output goes to files in the home.
    pub fn spawn(&self, arguments: &[&str]) -> Background {
        let file = |name: &str| fs::File::create(self.home().join(name)).unwrap();
        let child = self.command(arguments).stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap();
        Background { child, home: self.home().to_owned() }
    }

    /// Writes a configuration.
    pub fn config(&self, text: &str) -> String {
        let path = self.home().join("cluster.yaml");
        fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// A cluster of existing machines, the first being its control plane.
    pub fn existing(&self, machines: &[&TestMachine]) -> String {
        self.config(&existing_yaml(machines, |machine| {
            let user = if machine.is_windows() { "Administrator" } else { "root" };
            format!("{{user: {user}, key: {}, hostKey: {}}}", machine.key().display(), machine.host_key())
        }))
    }

    /// The same with machines that play Windows: what a user with a Windows Server would not write is the kubelet that
    /// can run on Wine.
    pub fn rehearsing(&self, machines: &[&TestMachine]) -> String {
        let path = self.existing(machines);
        let text = fs::read_to_string(&path).unwrap();
        let components = "os: windows, components: {kubelet: {version: 1.36.3+rehearsal}}";
        self.config(&text.replace("os: windows", components))
    }
}

/// A machine when all that swdt did is undone.
pub async fn undone(machine: &TestMachine) -> swdt_core::Result<Fingerprint> {
    if machine.is_windows() {
        // A program that runs cannot remove itself; it goes a moment later.
        let gone =
            "for look in $(seq 100); do test -e \"$0\" || exit 0; sleep 1; done; find \"$0\" >&2; exit 1";
        machine.must(["sh", "-c", gone, &machine.state_dir()]).await?;
        // Windows does what waits for a restart.
        let mut machine = machine.clone();
        machine.stop().await?;
        machine.start().await?;
    }
    Fingerprint::take(machine).await
}

/// Lets the node program of [`Swdt::mortal`] be killed once, where it reaches a point of a resource; any number of
/// points can be chosen.
pub fn die_at(machine: &TestMachine, resource: &str, point: &str, nth: u32) -> swdt_core::Result<()> {
    let fault = serde_json::json!({ "at": resource, "point": point, "nth": nth, "action": "kill" });
    let name = format!("{} {point} {nth}", resource.replace(['/', ':'], " "));
    machine.arm(&name, &fault)
}

/// The configuration for these machines, with connections as told.
pub fn existing_yaml(machines: &[&TestMachine], connection: impl Fn(&TestMachine) -> String) -> String {
    let mut text = "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {name: proof}\n\
                    kubernetes: {version: 1.36.3}\nnodes:\n"
        .to_owned();
    for (index, machine) in machines.iter().enumerate() {
        let role = if index == 0 { "control-plane" } else { "worker" };
        let (name, address) = (machine.name(), machine.address());
        let connection = connection(machine);
        let os = if machine.is_windows() { "windows" } else { "linux" };
        let _ = writeln!(
            text,
            "  - {{name: {name}, os: {os}, role: {role}, address: {address}, connection: {connection}}}"
        );
    }
    text
}

/// A command that runs beside the test, and ends with it.
pub struct Background {
    child: Child,
    home: PathBuf,
}

impl Background {
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub fn wait(mut self) -> Ran {
        let status = self.child.wait().unwrap();
        let read = |name: &str| fs::read_to_string(self.home.join(name)).unwrap();
        Ran { code: status.code().unwrap_or(-1), stdout: read("stdout"), stderr: read("stderr") }
    }

    /// Waits until it has said something.
    pub fn until_said(&self, words: &str) {
        let said = || {
            ["stdout", "stderr"]
                .iter()
                .any(|name| fs::read_to_string(self.home.join(name)).is_ok_and(|text| text.contains(words)))
        };
        assert!(
            eventually(said),
            "`{words}` was never said: {:?}",
            fs::read_to_string(self.home.join("stdout"))
        );
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does it become true within a minute?
pub fn eventually(mut truth: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_mins(1) {
        if truth() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// The only package the machine lacks comes from a repository inside it.
pub async fn lack_socat(machine: &TestMachine) -> swdt_core::Result<()> {
    machine.must(["dpkg", "--purge", "--force-depends", "socat"]).await?;
    machine.put(
        "/srv/socat/DEBIAN/control",
        0o644,
        b"Package: socat\nVersion: 9\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: stand-in\n",
    )?;
    machine
        .must(["sh", "-c", "mkdir -p /srv/repo && dpkg-deb --build /srv/socat /srv/repo/socat.deb"])
        .await?;
    let digest = machine.must(["sha256sum", "/srv/repo/socat.deb"]).await?;
    let size = machine.must(["stat", "-c", "%s", "/srv/repo/socat.deb"]).await?;
    let packages = format!(
        "Package: socat\nVersion: 9\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\n\
         Description: stand-in\nFilename: ./socat.deb\nSize: {}\nSHA256: {}\n",
        size.trim(),
        digest.split_whitespace().next().unwrap_or_default()
    );
    machine.put("/srv/repo/Packages", 0o644, packages.as_bytes())?;
    machine.must(["sh", "-c", "rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*"]).await?;
    machine.put("/etc/apt/sources.list", 0o644, b"deb [trusted=yes] file:/srv/repo ./\n")?;
    machine.must(["apt-get", "update"]).await.map(|_| ())
}

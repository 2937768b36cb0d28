//! The real command, in a home of its own, against machines of the ground.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

pub mod secrets;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use swdt_ground::TestMachine;

/// The command, with a home of its own.
pub struct Swdt {
    home: tempfile::TempDir,
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
}

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
        }
    }

    /// One whose node program can be told to die ([`die_at`]).
    pub fn mortal() -> Self {
        let mut swdt = Self::new();
        let from = swdt.program.with_file_name("swdt-node-linux-amd64-faults");
        fs::copy(from, swdt.home().join("swdt-node-linux-amd64")).expect("`cargo xtask agents` builds it");
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
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("USER", "ada")
            .env("SWDT_DATA_DIR", self.data())
            .env("SWDT_CACHE_DIR", swdt_ground::cache_dir())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
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
}

/// Lets the node program of [`Swdt::mortal`] be killed once, where it reaches a point of a resource.
pub fn die_at(machine: &TestMachine, resource: &str, point: &str, nth: u32) -> swdt_core::Result<()> {
    let fault = serde_json::json!({ "at": resource, "point": point, "nth": nth, "action": "kill" });
    machine.put("/var/lib/swdt/fault.json", 0o600, fault.to_string().as_bytes())
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

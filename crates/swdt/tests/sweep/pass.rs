//! One pass: every resource of the plan gets one fault while it is made true, and one while it is undone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use swdt_core::Result;
use swdt_ground::{TestMachine, fingerprint::Fingerprint};

use crate::{
    common::{Swdt, eventually, undone},
    faults::{CREATE, DESTROY, Deed, Fault, WRONG_BYTES},
    script::{Script, slices},
};

/// No command takes that long, whatever happens.
const TOO_LONG: Duration = Duration::from_mins(10);

/// What of a pass: making, or undoing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Half {
    Make,
    Undo,
}

impl Half {
    pub(crate) fn faults(self) -> &'static [Fault] {
        match self {
            Self::Make => CREATE,
            Self::Undo => DESTROY,
        }
    }
}

/// One fault at one resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) windows: bool,
    pub(crate) half: Half,
    pub(crate) resource: String,
    pub(crate) fault: usize,
    /// The fault struck.
    pub(crate) struck: bool,
    /// What came after was not as it must be.
    pub(crate) failed: bool,
    /// Where the resource stands in the plan.
    place: usize,
    /// The bytes that it needs.
    blob: Option<String>,
}

impl Case {
    pub(crate) fn fault(&self) -> &'static Fault {
        &self.half.faults()[self.fault]
    }
}

/// What a pass found out.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) number: usize,
    pub(crate) seconds: u64,
    pub(crate) cases: Vec<Case>,
    /// How often a command was run.
    pub(crate) runs: u32,
    /// Why the pass failed.
    pub(crate) trouble: Option<String>,
}

/// Which faults: `number` shifts them over the resources, and of those that it hits every `share`-th is armed. Only
/// faults with `only` in their names, where that is not empty.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) number: usize,
    pub(crate) share: usize,
    pub(crate) only: String,
}

impl Choice {
    /// The fault of the resource at this place of the plan.
    fn of(&self, place: usize, half: Half) -> Option<usize> {
        let faults: Vec<usize> = self.faults(half).collect();
        let chosen = (place + self.number).is_multiple_of(self.share);
        // Neighbours get other faults, and each pass gives each of them the next one.
        faults.get((place + self.number) / self.share % faults.len().max(1)).copied().filter(|_| chosen)
    }

    /// The faults to choose from, by their places in the list.
    pub(crate) fn faults(&self, half: Half) -> impl Iterator<Item = usize> {
        let faults = half.faults().iter().enumerate();
        faults.filter(|(_, fault)| fault.name.contains(&self.only)).map(|(place, _)| place)
    }
}

/// Machines with a command that works on them.
pub(crate) struct Pass<'a> {
    machines: &'a [TestMachine],
    before: &'a [Fingerprint],
    swdt: &'a Swdt,
    script: &'a Script,
    choice: Choice,
    found: Found,
    /// Resources that have got their fault, by machine and id.
    planned: BTreeSet<(String, String)>,
    /// Cases of the faults that are armed now, by machine and name.
    armed: BTreeMap<(String, String), usize>,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        swdt: &'a Swdt,
        machines: &'a [TestMachine],
        before: &'a [Fingerprint],
        script: &'a Script,
        choice: Choice,
    ) -> Self {
        Self {
            machines,
            before,
            swdt,
            script,
            found: Found { number: choice.number, ..Found::default() },
            choice,
            planned: BTreeSet::new(),
            armed: BTreeMap::new(),
        }
    }

    /// Makes and undoes, with faults; what was found out.
    pub(crate) async fn run(mut self) -> Result<Found> {
        let began = Instant::now();
        if let Err(trouble) = self.make().await? {
            self.found.trouble = Some(trouble);
            self.fail(Half::Make);
        } else if let Err(trouble) = self.undo().await? {
            self.found.trouble = Some(trouble);
            self.fail(Half::Undo);
        }
        self.found.seconds = began.elapsed().as_secs();
        Ok(self.found)
    }

    fn fail(&mut self, half: Half) {
        self.found
            .cases
            .iter_mut()
            .filter(|case| case.half == half && case.struck)
            .for_each(|case| case.failed = true);
    }

    async fn make(&mut self) -> Result<Result<(), String>> {
        for words in &self.script.make {
            self.plan()?;
            if let Err(trouble) = self.drive(words).await? {
                return Ok(Err(trouble));
            }
        }
        self.disarm()?;
        if let Some(words) = self.script.make.last() {
            let again = self.swdt.run(&slices(words));
            if again.code != 0 || again.event(None, "finished")["writes"] != 0 {
                return Ok(Err(format!("run once more, it still had something to do: {again:#?}")));
            }
        }
        Ok(Ok(()))
    }

    async fn undo(&mut self) -> Result<Result<(), String>> {
        for Case { windows, place, resource, .. } in self.found.cases.clone() {
            self.arm(windows, place, &resource, None, Half::Undo)?;
        }
        if let Err(trouble) = self.drive(&self.script.undo).await? {
            return Ok(Err(trouble));
        }
        self.disarm()?;
        for (machine, before) in self.machines.iter().zip(self.before) {
            let after = match undone(machine).await {
                Ok(after) => after,
                Err(error) => return Ok(Err(format!("{error:?}, after {}", self.told()))),
            };
            let diff = before.diff(&after);
            if !diff.is_empty() {
                return Ok(Err(format!("something was left on {}:\n{diff}", machine.name())));
            }
        }
        Ok(Ok(()))
    }

    /// Gives each resource of the plan, as far as it is known, its fault.
    fn plan(&mut self) -> Result<()> {
        let planned = self.swdt.run(&slices(&self.script.plan)).ok().stdout;
        let plan: Value = serde_json::from_str(&planned).unwrap();
        for machine in self.machines {
            let phases = plan["nodes"][machine.name()].as_array().unwrap();
            let resources = phases.iter().flat_map(|phase| phase["resources"].as_array().unwrap());
            for (place, resource) in resources.map(|it| &it["resource"]).enumerate() {
                let blob = digest(&resource["kind"]);
                let id = resource["id"].as_str().unwrap();
                // What has no digest yet comes again after it was fetched.
                if blob.as_ref().is_none_or(|blob| blob.len() == 64) {
                    self.arm(machine.is_windows(), place, id, blob, Half::Make)?;
                }
            }
        }
        Ok(())
    }

    fn arm(&mut self, windows: bool, place: usize, id: &str, blob: Option<String>, half: Half) -> Result<()> {
        let machine = self.machines.iter().find(|machine| machine.is_windows() == windows).unwrap();
        let key = (machine.name().to_owned(), format!("{half:?} {id}"));
        let Some(fault) = self.choice.of(place, half) else { return Ok(()) };
        if !self.planned.insert(key) {
            return Ok(());
        }
        let number = self.found.cases.len();
        let case =
            Case { windows, half, resource: id.into(), fault, struck: false, failed: false, place, blob };
        let Fault { name, point, nth, action, .. } = *case.fault();
        let at = if name == WRONG_BYTES { case.blob.clone() } else { Some(id.to_owned()) };
        self.found.cases.push(case);
        // Where there are no bytes, none can be wrong.
        let Some(at) = at else { return Ok(()) };
        self.armed.insert((machine.name().to_owned(), number.to_string()), number);
        machine.arm(&number.to_string(), &json!({ "at": at, "point": point, "nth": nth, "action": action }))
    }

    /// Takes back what did not strike.
    fn disarm(&mut self) -> Result<()> {
        self.strikes()?;
        self.armed.clear();
        self.machines.iter().try_for_each(TestMachine::disarm)
    }

    /// Notes what struck since the last time; says how many did.
    fn strikes(&mut self) -> Result<usize> {
        let mut waiting = BTreeSet::new();
        for machine in self.machines {
            let names = machine.armed()?.into_iter().chain(machine.held()?);
            waiting.extend(names.map(|name| (machine.name().to_owned(), name)));
        }
        let struck: Vec<_> = self.armed.keys().filter(|key| !waiting.contains(*key)).cloned().collect();
        for key in &struck {
            if let Some(number) = self.armed.remove(key) {
                self.found.cases[number].struck = true;
            }
        }
        Ok(struck.len())
    }

    /// Runs a command until it comes to its good end. One that fails although nothing struck is stuck.
    async fn drive(&mut self, words: &[String]) -> Result<Result<(), String>> {
        loop {
            let (status, killed) = self.run_once(words).await?;
            self.found.runs += 1;
            let struck = self.strikes()?;
            if status.success() {
                return Ok(Ok(()));
            }
            if struck == 0 && !killed {
                let told = self.told();
                return Ok(Err(format!("`swdt {}` fails, and nothing struck: {told}", words.join(" "))));
            }
        }
    }

    /// The end of what the last command said.
    fn told(&self) -> String {
        let end = |name: &str| {
            let text = fs::read_to_string(self.swdt.home().join(name)).unwrap_or_default();
            let lines: Vec<_> = text.lines().collect();
            lines[lines.len().saturating_sub(12)..].join("\n")
        };
        format!("{}\n{}", end("stdout"), end("stderr"))
    }

    /// Runs a command, and does from outside what the faults ask for; says whether it was killed.
    async fn run_once(&mut self, words: &[String]) -> Result<(ExitStatus, bool)> {
        let file = |name: &str| fs::File::create(self.swdt.home().join(name)).unwrap();
        let mut command = self.swdt.command(&slices(words));
        let mut child = command.stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap();
        let began = Instant::now();
        let mut killed = false;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return Ok((status, killed));
            }
            if began.elapsed() > TOO_LONG {
                child.kill().unwrap();
            }
            for machine in self.machines {
                // Nothing can be seen of a machine that restarts.
                for name in machine.held().unwrap_or_default() {
                    killed |= self.outside(machine, &name, &mut child).await?;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Does what a fault asks for while the node program is held up; says whether that was to kill swdt.
    async fn outside(&mut self, machine: &TestMachine, name: &str, swdt: &mut Child) -> Result<bool> {
        let Some(number) = self.armed.get(&(machine.name().to_owned(), name.to_owned())) else {
            return Ok(false);
        };
        let case = &self.found.cases[*number];
        let deed = case.fault().deed;
        let done = match deed {
            Deed::Nothing => true,
            Deed::KillSwdt => {
                let _ = swdt.kill();
                let _ = swdt.wait();
                true
            }
            Deed::DropSsh => killed(machine, CONNECTION).await,
            Deed::KillAnswer => killed(machine, ANSWERER).await,
            Deed::Reboot => {
                reboot(machine).await?;
                true
            }
            Deed::Rot => {
                let blob = case.blob.clone().unwrap_or_default();
                let of = format!("of={}/blobs/{blob}", machine.state_dir());
                inside(machine, &["dd", "if=/dev/urandom", &of, "bs=64", "count=1", "conv=notrunc,nocreat"])
                    .await
            }
        };
        if !done {
            // What was not there could not be struck: no bytes are needed, or the machine restarts just now.
            self.armed.remove(&(machine.name().to_owned(), name.to_owned()));
        }
        machine.release(name)?;
        Ok(deed == Deed::KillSwdt)
    }
}

/// The process of a connection; it has another name since OpenSSH 9.8.
const CONNECTION: &str = "^sshd(-session)?: .*@notty";

/// Who answers over it.
const ANSWERER: &str = "[0-9a-f]{64}(.exe)? serve$";
/// How long a lost connection may take to come back, in looks of 200 ms.
const LOOKS: u32 = 75;

/// Was a process killed? An earlier fault may have cost the connection, and then it comes a moment later.
async fn killed(machine: &TestMachine, pattern: &str) -> bool {
    for _ in 0..LOOKS {
        if inside(machine, &["pkill", "-KILL", "-f", pattern]).await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    false
}

/// Did a program inside do its work? Not on a machine that restarts just now, because of another fault.
async fn inside(machine: &TestMachine, words: &[&str]) -> bool {
    machine.exec(words.iter().copied()).await.is_ok_and(|ran| ran.code == Some(0))
}

/// Restarts a machine and waits until it has begun anew.
async fn reboot(machine: &TestMachine) -> Result<()> {
    let old = machine.init_pid()?;
    // It goes down before it answers, perhaps.
    let _ = machine.exec(["systemctl", "reboot"]).await;
    let anew = || machine.init_pid().is_ok_and(|init| init != old);
    assert!(eventually(anew), "{} does not come back", machine.name());
    Ok(())
}

/// The digest of the bytes that a resource needs, wherever it stands.
fn digest(kind: &Value) -> Option<String> {
    match kind {
        Value::Object(fields) => match fields.get("sha256") {
            Some(sha256) => sha256.as_str().map(ToOwned::to_owned),
            None => fields.values().find_map(digest),
        },
        Value::Array(items) => items.iter().find_map(digest),
        _ => None,
    }
}

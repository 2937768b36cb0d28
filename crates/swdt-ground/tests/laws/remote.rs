//! The cases of `swdt-node/tests/cases`, by the node program over SSH.

use swdt_core::{Error, Result};
use swdt_ground::{NodeHalf, Program, TestMachine};
use swdt_wire::{Kind, LINUX_STATE_DIR, NodeFailure, Outcome, Resource, Status, Summary};
use tokio::runtime::Handle;

use crate::cases::{self, Machine};

/// In this order: the cases of dnf take apt away.
const CASES: [&str; 4] = [
    include_str!("../../../swdt-node/tests/cases/service.json"),
    include_str!("../../../swdt-node/tests/cases/firewall.json"),
    include_str!("../../../swdt-node/tests/cases/package-apt.json"),
    include_str!("../../../swdt-node/tests/cases/package-dnf.json"),
];

/// Runs all cases; what was not as expected. Blocks.
#[expect(clippy::print_stdout, reason = "for whoever wonders why a test takes long")]
pub(crate) fn run_cases(machine: &TestMachine) -> Result<Vec<String>> {
    let mut remote = Remote { machine: machine.clone(), node: machine.node_half(Program::Kept)? };
    let mut failed = Vec::new();
    for file in CASES {
        for case in cases::parse(file).expect("cases are well formed") {
            let begun = std::time::Instant::now();
            if let Err(problem) = cases::run(&case, &mut remote) {
                failed.push(format!("{}: {problem}", case.name));
            }
            println!("{:>6.1} s  {}", begun.elapsed().as_secs_f32(), case.name);
        }
    }
    remote.forget();
    Ok(failed)
}

struct Remote {
    machine: TestMachine,
    node: NodeHalf,
}

fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T, String> {
    Handle::current().block_on(future).map_err(|error| words(&error))
}

fn words(error: &Error) -> String {
    format!("{error}\n{}", error.output.join("\n"))
}

fn one(kind: &Kind) -> [Resource; 1] {
    [Resource::new("case/it", kind.clone())]
}

fn went_well(summary: &Summary) -> Result<(), String> {
    match &summary.failure {
        None => Ok(()),
        Some(NodeFailure::Resource { message, output, hint, .. }) => {
            Err(format!("{message}\n{}\nhint: {}", output.join("\n"), hint.as_deref().unwrap_or("none")))
        }
        Some(other) => Err(format!("{other:?}")),
    }
}

impl Machine for Remote {
    fn program(&mut self, argv: &[String]) -> Result<String, String> {
        wait(self.machine.must(argv)).map_err(|problem| format!("`{}`: {problem}", argv.join(" ")))
    }

    fn check(&mut self, kind: &Kind) -> Result<Status, String> {
        wait(self.node.check(&one(kind)))?.pop().ok_or_else(|| "nothing was looked at".into())
    }

    fn apply(&mut self, kind: &Kind) -> Result<(Vec<String>, u64), String> {
        let told = wait(self.node.apply(&one(kind)))?;
        went_well(&told.summary)?;
        Ok((told.notes, told.summary.writes))
    }

    fn revert(&mut self, _kind: &Kind, force: bool) -> Result<Outcome, String> {
        let told = wait(self.node.revert(force))?;
        went_well(&told.summary)?;
        let outcome = told.outcomes.into_iter().next().map(|(_, outcome)| outcome);
        outcome.ok_or_else(|| "nothing was undone".into())
    }

    fn forget(&mut self) {
        let _ = wait(self.machine.must(["rm", "-rf", LINUX_STATE_DIR]));
    }
}

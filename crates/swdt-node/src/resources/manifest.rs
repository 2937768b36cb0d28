//! [`Manifest`]: objects of the cluster, applied server-side on the control plane.
//!
//! The API server itself says whether something differs: what it would make of the documents is compared
//! with what it has. Nothing on this machine changes, so there is nothing to undo here.

use std::time::Duration;

use swdt_wire::{Manifest, Prior, Status};

use super::{Behaviour, Reverted, waiting::Waiting};
use crate::{Ctx, Error, Result, kubectl};

/// How long an API server may take to be able again, and definitions to become known.
const PATIENCE: Duration = Duration::from_mins(2);

/// As whom and how the fields are ours.
const OURS: [&str; 5] = ["--server-side", "--force-conflicts", "--field-manager=swdt", "-f", "-"];

/// The status when nobody could be asked.
const UNANSWERED: &str = "the API server does not answer";

impl Behaviour for Manifest {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let differs = |what: &str| Ok(Status::Differs(what.to_owned()));
        if !ctx.path(kubectl::ADMIN).exists() {
            return differs("there is no control plane yet");
        }
        let diff = [&["--request-timeout=15s", "diff"], &OURS[..]].concat();
        let said = kubectl::ask(ctx, &diff, &self.yaml)?;
        match said.code {
            Some(0) => Ok(Status::Satisfied),
            Some(1) => differs(&what_differs(&said.stdout)),
            _ if kubectl::unanswered(said.stderr.lines()) => differs(UNANSWERED),
            // A namespace or definition that the same documents bring is not there yet.
            _ if kubectl::not_yet(said.stderr.lines()) => differs(kubectl::complaint(&said.stderr)),
            _ => Err(refused(&self.name, &said.stderr)),
        }
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let apply = [&["apply"], &OURS[..]].concat();
        let mut waiting = Waiting::new(PATIENCE);
        loop {
            let Err(error) = kubectl::change(ctx, &apply, &self.yaml) else { return Ok(()) };
            let lines = || error.output.iter().map(String::as_str);
            let unanswered = kubectl::unanswered(lines());
            if waiting.is_over() || !(unanswered || kubectl::not_yet(lines())) {
                return Err(hinted(error, unanswered));
            }
            let why = if unanswered {
                UNANSWERED.to_owned()
            } else {
                kubectl::complaint(&error.output.join("\n")).to_owned()
            };
            waiting.for_want_of(ctx, why)?;
        }
    }

    fn revert(&self, _ctx: &Ctx, _prior: &Prior, _force: bool) -> Result<Reverted> {
        Ok(Reverted::Yes)
    }
}

/// The objects, from the names of the files that were compared. What is in them stays where it is: it may
/// be a secret.
pub(crate) fn what_differs(diff: &str) -> String {
    let name = |line: &str| {
        // `diff -u -N /tmp/LIVE-123/v1.ConfigMap.kube-system.x /tmp/MERGED-456/v1.ConfigMap.kube-system.x`
        let file = line.strip_prefix("diff ")?.split_whitespace().last()?;
        file.rsplit('/').next().map(str::to_owned)
    };
    let names: Vec<String> = diff.lines().filter_map(name).collect();
    match names.len() {
        0 => "differs".into(),
        1..=3 => names.join(", "),
        many => format!("{}, {} and {} more", names[0], names[1], many - 2),
    }
}

fn refused(name: &str, stderr: &str) -> Error {
    let output =
        stderr.lines().rev().take(10).map(str::to_owned).collect::<Vec<_>>().into_iter().rev().collect();
    let error =
        Error { message: format!("kubectl cannot compare {name} with the cluster"), output, hint: None };
    if stderr.contains("executable file not found") {
        return error.hinted("kubectl compares with the program `diff`: install the package diffutils");
    }
    error
}

fn hinted(error: Error, unanswered: bool) -> Error {
    let said = |word: &str| error.output.iter().any(|line| line.contains(word));
    if unanswered {
        return error.hinted(
            "the API server does not answer: `journalctl -u kubelet` and /var/log/pods on the control plane say why",
        );
    }
    if said("error parsing") || said("error converting YAML") || said("unknown field") || said("is invalid") {
        return error.hinted("the manifest itself has to be repaired; the line above says where");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str =
        "diff -u -N /tmp/LIVE-3180834637/v1.ConfigMap.default.x /tmp/MERGED-1417837834/v1.ConfigMap.default.x
--- /tmp/LIVE-3180834637/v1.ConfigMap.default.x\t2026-07-31 10:15:00.000000000 +0000
+++ /tmp/MERGED-1417837834/v1.ConfigMap.default.x\t2026-07-31 10:15:00.000000000 +0000
@@ -1,6 +1,6 @@
 apiVersion: v1
 data:
-  a: \"1\"
+  a: \"2\"
";

    #[test]
    fn what_differs_is_told_by_name() {
        assert_eq!(what_differs(DIFF), "v1.ConfigMap.default.x");
        assert_eq!(
            what_differs(&DIFF.repeat(4)),
            "v1.ConfigMap.default.x, v1.ConfigMap.default.x and 2 more"
        );
        assert_eq!(what_differs(""), "differs");
    }
}

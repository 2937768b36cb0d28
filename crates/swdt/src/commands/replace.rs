//! `swdt node replace`

use swdt_core::{
    ErrorKind,
    run::{self, Replacement, Swapped, Wish, With},
};

use super::{block_on, node, resumable};
use crate::{
    args::{Format, Global, ReplaceOptions},
    failure::Failed,
    host, out,
    render::{self, Volume},
};

pub(super) fn run(
    global: &Global,
    name: &str,
    options: &ReplaceOptions,
    format: Format,
) -> Result<(), Failed> {
    let common = match &options.from_checkout {
        Some(path) => Some(With::Checkout(host::absolute(path)?)),
        None => options.reset.then_some(With::Own),
    };
    let wishes = Wish::parse(&options.what, common.as_ref())?;
    let host = host::host(global, false)?;
    let (spec, node) = node::find(global, &host.dirs, name)?;
    let how = run::ReplaceOptions { drain: node::drain(&options.drain), ready_within: options.ready_within };
    let sink: run::Sink =
        if format.json() { Box::new(|_| ()) } else { render::renderer(format, global.volume()) };
    let replaced = block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::replace(&host, &spec, &node, &wishes, &how, sink).await
    });
    // What was rolled back would fail again; only what was broken off can go on.
    let replaced = replaced.map_err(|error| match error.kind() {
        ErrorKind::Interrupted | ErrorKind::Connection => resumable(error),
        _ => error.into(),
    })?;
    if format.json() {
        let mut document = serde_json::json!(replaced);
        (document["cluster"], document["node"]) = (spec.name.into(), name.into());
        out::line(&document.to_string());
    } else if global.volume() != Volume::Quiet {
        out::end_live();
        for line in told(name, &replaced) {
            out::line(&line);
        }
    }
    Ok(())
}

fn told(name: &str, replaced: &Replacement) -> Vec<String> {
    if replaced.programs.is_empty() {
        return vec![format!("nothing on {name} was replaced")];
    }
    let line = |program: &Swapped| {
        let Swapped { file, sha256, from, own } = program;
        let whose = if *own { "the cluster's own " } else { "" };
        let (now, already) = if replaced.changed { ("now ", "") } else { ("", " already") };
        let digest = &sha256[..12.min(sha256.len())];
        format!("{name} {now}has {whose}{file}{already}: {from}, sha256 {digest}")
    };
    let mut lines: Vec<String> = replaced.programs.iter().map(line).collect();
    let drained = match (&replaced.why, replaced.changed) {
        (Some(why), true) => format!("; it was not drained: {why}"),
        _ => String::new(),
    };
    let ready = if replaced.ready { "ready" } else { "not ready" };
    lines.push(format!("the node is {ready}, kubelet {}{drained}", replaced.kubelet));
    if replaced.programs.iter().any(|program| !program.own) {
        lines.push(format!("back to the cluster's own: swdt node replace {name} --reset"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_and_how_it_is_undone_is_told() {
        assert_eq!(told("w1", &Replacement::default()), ["nothing on w1 was replaced"]);
        let program = |own| Swapped {
            file: "kubelet".into(),
            sha256: "0123456789abcdef".into(),
            from: "file /k".into(),
            own,
        };
        let mut replaced = Replacement {
            programs: vec![program(false)],
            changed: true,
            drained: true,
            why: None,
            ready: true,
            kubelet: "v1.36.3".into(),
        };
        assert_eq!(
            told("w1", &replaced),
            [
                "w1 now has kubelet: file /k, sha256 0123456789ab",
                "the node is ready, kubelet v1.36.3",
                "back to the cluster's own: swdt node replace w1 --reset",
            ]
        );
        (replaced.programs, replaced.why) = (vec![program(true)], Some("as you asked".into()));
        assert_eq!(
            told("w1", &replaced)[1..],
            ["the node is ready, kubelet v1.36.3; it was not drained: as you asked"]
        );
    }
}

//! `update`: nodes come to a cluster that is there, and leave it.

use std::collections::BTreeSet;

use tokio::task::JoinSet;

use super::{
    CreateOptions, Drain, Host, NodeRun, Run, Sink,
    destroy::{out_of_reach, stays, with_ways_out},
};
use crate::{
    Error, Result,
    error::Entry,
    id,
    machine::MachineState,
    plan::{self, Known},
    preflight, source,
    spec::{Node, Place, Role, Spec},
};

/// What `update` is asked.
#[derive(Debug, Clone)]
pub struct UpdateOptions {
    /// Nodes that leave, by name; the file must not name them any more.
    pub prune: Vec<String>,
    /// Of those who leave, whose machines may be given up where they cannot be undone.
    pub forget: Vec<String>,
    /// How they are emptied.
    pub drain: Drain,
}

/// Lets nodes leave that are named, and makes everything true that the file says.
pub async fn update(
    host: &Host,
    spec: &Spec,
    config: &[u8],
    options: &UpdateOptions,
    sink: Sink,
) -> Result<()> {
    Error::all(source::early(&source::wants::of_cluster(spec)?)).map_or(Ok(()), Err)?;
    // Before the run begins, which would leave a directory of a cluster that is not there.
    let dir = host.dirs.cluster(&spec.name);
    dir.understood()?;
    if dir.load(&spec.name)?.made_at.is_none() {
        let message = format!("there is no cluster {} yet that could be updated", spec.name);
        return Err(
            Error::new(id::CLUSTER_NONE, message).hinted("`swdt cluster create --config FILE` makes it")
        );
    }
    let run = Run::begin(host, spec, "update", sink)?;
    let result = run.update(config, options).await;
    run.end(result)
}

impl Run<'_> {
    async fn update(&self, config: &[u8], options: &UpdateOptions) -> Result<()> {
        let made = self.dir.load_spec()?;
        // Everything that stands against it, before a machine is touched.
        let (leaving, mut errors) = leaving(&made, &self.spec, &options.prune, &self.state().left);
        let stays = options.forget.iter().filter(|name| !options.prune.contains(name));
        errors.extend(stays.map(|name| {
            Error::new(id::ARGUMENTS_CONFLICT, "is to be given up, but not to leave")
                .on(name)
                .because("only a node that leaves can be given up; one that stays must be reached")
                .hinted(format!("add `--prune {name}`, or leave out `--force-forget {name}`"))
        }));
        errors.extend(preflight::changed(&made, &self.spec));
        errors.extend(preflight::reconfigured(&made, &self.spec));
        Error::all(errors).map_or(Ok(()), Err)?;
        if !leaving.is_empty() {
            self.titled("leave", "Leave", self.leave(made, &leaving, options)).await?;
        }
        self.create(config, &CreateOptions::default()).await
    }

    /// One after the other, so that pods find room.
    async fn leave(&self, mut left: Spec, leaving: &[Node], options: &UpdateOptions) -> Result<()> {
        let kube = self.control_plane().await?;
        for node in leaving {
            let reporter = self.reporter.for_node(&node.name);
            let lost = self.lost(node, &options.forget).await?;
            if lost.is_some() {
                // Nobody would see its pods go. They are deleted with the node.
                reporter.doing("not drained: its machine does not answer");
            } else if let Err(why) = self.empty(node, &options.drain, &reporter).await? {
                reporter.doing(format!("not drained: {why}"));
            }
            kube.forget_nodes(&[&node.name]).await?;
            match (&node.place, lost) {
                (Place::Machine(_), _) => self.machines()?.destroy(node).await?,
                (Place::Existing { .. }, None) => self.revert(node, &giving_up(node)).await?,
                (Place::Existing { .. }, Some(error)) => self.forget(node, &error)?,
            }
            let before = left.clone();
            left.nodes.retain(|it| it.name != node.name);
            self.take_away(&before, &left).await?;
            // Remembered one by one: whoever goes on after a failure does not meet it again.
            let config = self.dir.read_config()?;
            self.dir.save_spec(&left, &config)?;
            self.remember(|state| {
                state.nodes.remove(&node.name);
                state.left.insert(node.name.clone());
            })?;
        }
        Ok(())
    }

    /// Why nothing can be done on the machine of a node, if it may be given up; ours may always be.
    async fn lost(&self, node: &Node, forget: &[String]) -> Result<Option<Error>> {
        if let Place::Machine(_) = node.place {
            let runs = self.machines()?.status(node).await? == MachineState::Running;
            return Ok((!runs).then(|| Error::new(id::MACHINE_STOPPED, "the machine does not run")));
        }
        match NodeRun::new(self, node)?.connect().await {
            Ok(_) => Ok(None),
            Err(error) if out_of_reach(&error) && forget.contains(&node.name) => Ok(Some(error)),
            Err(error) => Err(self.failed(&node.name, with_ways_out(error, &giving_up(node)))),
        }
    }

    /// Undoes on those who stay what they have for the sake of those who left: their lines in the hosts file.
    async fn take_away(&self, before: &Spec, left: &Spec) -> Result<()> {
        let mut tasks = JoinSet::new();
        for (node, ids) in superfluous(before, left, &self.known()) {
            let mut node_run = NodeRun::new(self, &node)?;
            tasks.spawn(async move {
                let reverted = node_run.revert_some(&ids).await;
                (node_run, reverted)
            });
        }
        self.gather(tasks).await.map(drop)
    }
}

/// The command that lets a node leave whose machine is gone.
fn giving_up(node: &Node) -> String {
    format!("swdt cluster update --config FILE --prune {0} --force-forget {0}", node.name)
}

/// What those who stay have for the sake of one who leaves, by node: ids that only the plan of before has.
pub(super) fn superfluous(before: &Spec, left: &Spec, known: &Known) -> Vec<(Node, Vec<String>)> {
    let ids = |spec: &Spec, node: &Node| -> Vec<String> {
        plan::plan_node(spec, node, known, None)
            .resources()
            .filter(|it| stays(it))
            .map(|it| it.id.clone())
            .collect()
    };
    let of_node = |node: &Node| {
        let stay = ids(left, node);
        let gone = ids(before, node).into_iter().filter(|id| !stay.contains(id)).collect();
        (node.clone(), gone)
    };
    left.nodes.iter().map(of_node).filter(|(_, gone): &(_, Vec<_>)| !gone.is_empty()).collect()
}

/// Those who leave, and what is wrong with the wish.
pub(super) fn leaving(
    made: &Spec,
    now: &Spec,
    prune: &[String],
    left: &BTreeSet<String>,
) -> (Vec<Node>, Vec<Error>) {
    let mut errors = Vec::new();
    let config = |entry: &Entry, node: &str, message: &str| Error::new(entry, message).on(node);
    for name in prune {
        if now.node(name).is_some() {
            let error = config(id::NODE_NOT_LEAVING, name, "is to leave, but the file still names it")
                .because("what the file names is made true: it would come again at once");
            errors.push(error.hinted("take it out of the file, or leave out `--prune`"));
        } else if made.node(name).is_none() && !left.contains(name) {
            let there: Vec<&str> = made.nodes.iter().map(|node| node.name.as_str()).collect();
            let error = config(id::NODE_NOT_LEAVING, name, "is to leave, but is no node of the cluster")
                .because("only a node that the cluster has can leave it");
            errors.push(error.hinted(format!("its nodes are: {}", there.join(", "))));
        }
    }
    let gone: Vec<&Node> = made.nodes.iter().filter(|node| now.node(&node.name).is_none()).collect();
    for node in &gone {
        if node.role == Role::ControlPlane {
            let error = config(
                id::NODE_NOT_IN_FILE,
                &node.name,
                "is the control plane, which a cluster cannot do without",
            )
            .because("it holds the cluster's data and its authority");
            errors.push(error.hinted("put it back into the file, or destroy the cluster"));
        } else if !prune.contains(&node.name) {
            let error = config(
                id::NODE_NOT_IN_FILE,
                &node.name,
                "is part of the cluster, but the file no longer names it",
            )
            .because("a line that is missing may be a mistake, and whatever runs there would go");
            errors.push(error.hinted(format!(
                "put it back into the file, or let it leave for good: `--prune {}`",
                node.name
            )));
        }
    }
    (gone.into_iter().cloned().collect(), errors)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const MADE: &str = "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: three}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10}
  - {name: w1, address: 192.168.1.11}
  - {name: w2, address: 192.168.1.12}
";

    fn spec(text: &str) -> Spec {
        crate::config::load("three.yaml", text.as_bytes(), None, Path::new("/")).unwrap()
    }

    fn judged(now: &str, prune: &[&str]) -> (Vec<String>, Vec<String>) {
        let prune: Vec<String> = prune.iter().map(|&name| name.to_owned()).collect();
        let (leaving, errors) =
            leaving(&spec(MADE), &spec(now), &prune, &BTreeSet::from(["gone".to_owned()]));
        let names = leaving.into_iter().map(|node| node.name).collect();
        assert!(errors.iter().all(|error| error.why.is_some() && !error.hints.is_empty()), "{errors:?}");
        (names, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn only_who_is_named_and_out_of_the_file_leaves() {
        let without = MADE.replace("  - {name: w1, address: 192.168.1.11}\n", "");
        assert_eq!(judged(&without, &["w1"]), (vec!["w1".to_owned()], Vec::new()));
        assert_eq!(judged(MADE, &["gone"]), (Vec::new(), Vec::new()), "the same command again");
        let (_, told) = judged(&without, &[]);
        assert!(told[0].contains("w1: is part of the cluster, but the file no longer names it"), "{told:?}");
        let (_, told) = judged(MADE, &["w1", "w7"]);
        assert!(told[0].contains("the file still names it") && told[1].contains("no node"), "{told:?}");
    }

    #[test]
    fn whoever_stays_loses_the_lines_of_whoever_leaves_and_nothing_else() {
        let without = MADE.replace("  - {name: w1, address: 192.168.1.11}\n", "");
        let superfluous = superfluous(&spec(MADE), &spec(&without), &Known::default());
        let told: Vec<_> =
            superfluous.iter().map(|(node, ids)| (node.name.as_str(), ids.as_slice())).collect();
        let line = ["prepare/hosts/w1".to_owned()];
        assert_eq!(told, [("cp1", &line[..]), ("w2", &line[..])]);
    }

    #[test]
    fn a_control_plane_cannot_leave() {
        let other = MADE.replace("cp1, role", "cp2, role").replace(".10}", ".13}");
        let (_, told) = judged(&other, &["cp1"]);
        assert!(told[0].contains("cp1: is the control plane"), "{told:?}");
    }
}

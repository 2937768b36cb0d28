//! Looks at a machine before it is a node: does it answer, does it let us in, what is it? Leaves nothing there.

use std::{sync::Arc, time::Duration};

use swdt_wire::{Facts, Mode, NodeEventKind, Owner, Request};

use super::{Host, connect, ending::fail_on, host::new_run_id, node::now};
use crate::{
    Error, Result,
    event::Reporter,
    id,
    remote::{Agent, AgentOptions, Connect, SshConnector},
    spec::{Connection, Node, OsFamily, Place, Via},
};

/// No cluster can be called so; a machine never belongs to it.
const NOBODY: &str = "";

/// A machine that may become a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The cluster that would take it, whose host keys are trusted.
    pub cluster: String,
    /// IP address or host name.
    pub address: String,
    /// SSH port; what `ssh -G` says when the file is silent.
    pub port: Option<u16>,
    /// How to log in.
    pub connection: Connection,
    /// What the file says that it runs.
    pub os: OsFamily,
}

/// What a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its facts.
    pub facts: Facts,
    /// The cluster that it belongs to already.
    pub cluster: Option<String>,
    /// What its clock said, and ours at that moment, in seconds since the epoch.
    pub clock: (u64, u64),
}

impl Candidate {
    /// The machine of a node; none where swdt makes it, or runs on it itself.
    pub fn of(cluster: &str, node: &Node) -> Option<Self> {
        let Place::Existing { address, port } = &node.place else { return None };
        (node.connection.via == Via::Ssh).then(|| Self {
            cluster: cluster.to_owned(),
            address: address.clone(),
            port: *port,
            connection: node.connection.clone(),
            os: node.os,
        })
    }

    fn connector(&self, host: &Host) -> Result<Arc<dyn Connect>> {
        let known_hosts = host.dirs.cluster(&self.cluster).known_hosts();
        let options = connect::existing(host, &self.address, self.port, &self.connection, known_hosts)?;
        Ok(Arc::new(SshConnector::new(options, Reporter::silent())))
    }

    /// Logs in and out again; writes nothing. Gives the place, for people.
    pub async fn enter(&self, host: &Host) -> Result<String> {
        let transport = self.connector(host)?.connect(Duration::ZERO).await?;
        Ok(transport.place().to_owned())
    }

    /// Asks the node program what the machine is. The program is brought there, and taken away again unless the
    /// machine is a node already.
    pub async fn look(&self, host: &Host) -> Result<Seen> {
        let options = AgentOptions { patience: Duration::ZERO, ..AgentOptions::of(self.os) };
        let agent = Agent::new(self.connector(host)?, host.agents.of(self.os)?, options)?;
        let (mut facts, mut cluster, mut clock) = (None, None, (0, 0));
        let request = Request::new(NOBODY, new_run_id(), Mode::Receipts);
        let summary = agent
            .request(&request, &mut |event| match event.kind {
                NodeEventKind::Hello { at, .. } => clock = (at, now()),
                NodeEventKind::Facts(found) => facts = Some(*found),
                NodeEventKind::Receipts { cluster: owner, .. } => cluster = owner,
                _ => {}
            })
            .await?;
        fail_on(&summary)?;
        if cluster.is_none() {
            let owner = Owner { who: host.who.clone() };
            let revert = Request::new(NOBODY, new_run_id(), Mode::Revert { owner, force: false });
            // Whoever is at work there meanwhile needs the program, and it is theirs to remove.
            agent.request(&revert, &mut |_| ()).await?;
        }
        let facts = facts.ok_or_else(|| Error::new(id::INTERNAL, "the machine told no facts"))?;
        Ok(Seen { facts, cluster, clock })
    }
}

//! What a rule is, and what it finds.

use std::{fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swdt_wire::WindowsFacts;

use super::{ClusterFacts, Fleet, HostFacts, Machine, Unreached, rules};
use crate::{
    Error, ErrorKind,
    error::{Entry, On, id},
    support::Redactor,
    words,
};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Grade {
    /// Something does not work, or will not.
    Problem,
    /// It works, but not for ever or not well.
    Warning,
    /// Good to know.
    Note,
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// The host that swdt runs on.
    Host,
    /// A machine, whether it is a node or not.
    Machine,
    /// A cluster that is there.
    Cluster,
}

/// One rule. The page about it is made from this, too.
pub struct Rule {
    /// Never changes: pages, scripts and people refer to it.
    pub id: &'static str,
    /// How bad it is, unless the finding says otherwise.
    pub grade: Grade,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why it is so, and what comes of it.
    pub cause: &'static str,
    /// How to mend it; `NODE` stands for the node's name, `CLUSTER` for that of one of several clusters.
    pub fix: &'static [(On, &'static str)],
    /// Finds it.
    pub look: Look,
}

/// Whom a rule looks at.
pub enum Look {
    /// The host.
    Host(fn(&HostFacts) -> Vec<Found>),
    /// How much the host has left: a problem where machines are to be made that take more.
    Room(fn(&HostFacts) -> Vec<Found>),
    /// A machine that did not let us in.
    Reach(fn(&Unreached<'_>) -> Vec<Found>),
    /// A machine of any system, also of the wrong one.
    Family(fn(&Machine<'_>) -> Vec<Found>),
    /// A machine that runs what the file says.
    Machine(fn(&Machine<'_>) -> Vec<Found>),
    /// The same, with Linux.
    Linux(fn(&Machine<'_>) -> Vec<Found>),
    /// The same, with Windows.
    Windows(fn(&Machine<'_>, &WindowsFacts) -> Vec<Found>),
    /// All machines together.
    Fleet(fn(&Fleet<'_>) -> Vec<Found>),
    /// The same, where it is the file that is wrong.
    File(fn(&Fleet<'_>) -> Vec<Found>),
    /// A cluster that is there.
    Cluster(fn(&ClusterFacts<'_>) -> Vec<Found>),
}

impl Rule {
    /// What it is about.
    pub fn scope(&self) -> Scope {
        match self.look {
            Look::Host(_) | Look::Room(_) => Scope::Host,
            Look::Cluster(_) => Scope::Cluster,
            _ => Scope::Machine,
        }
    }

    /// Can it be a problem, at which a run stops?
    pub fn can_stop(&self) -> bool {
        self.grade == Grade::Problem || matches!(self.look, Look::Room(_))
    }

    /// The kind of error that it is, where it is one.
    fn kind(&self) -> ErrorKind {
        match self.look {
            Look::Reach(_) => ErrorKind::Connection,
            Look::Cluster(_) => ErrorKind::Cluster,
            Look::File(_) => ErrorKind::Config,
            _ => ErrorKind::Prerequisite,
        }
    }

    /// What it says in general, as the index has it.
    pub(crate) fn entry(&self) -> Entry {
        Entry { id: self.id, kind: self.kind(), title: self.title, cause: self.cause, fix: self.fix }
    }

    /// The page about it.
    pub fn page(&self) -> String {
        format!("docs/troubleshooting.md#{}", self.id)
    }

    /// A finding of this rule.
    pub(super) fn finding(&self, found: Found) -> Finding {
        let node = found.node.as_deref().unwrap_or("NODE");
        let cluster = found.cluster.as_deref().unwrap_or("CLUSTER");
        let named = |run: &str| run.replace("NODE", node).replace("CLUSTER", cluster);
        let general = self.fix.iter().map(|(on, run)| Step { on: *on, run: named(run) });
        let own = found.todo.iter().map(|todo| Step { on: On::Anywhere, run: todo.clone() });
        Finding {
            id: self.id.to_owned(),
            grade: found.grade.unwrap_or(self.grade),
            scope: self.scope(),
            kind: found.kind.unwrap_or_else(|| self.kind()),
            fix: own.chain(general).collect(),
            node: found.node,
            what: told(&found.what),
            evidence: found.evidence.iter().map(|seen| told(seen)).collect(),
            cause: self.cause.to_owned(),
            todo: found.todo,
            page: self.page(),
            remedy: found.remedy,
            entry: self.entry(),
        }
    }
}

/// Words of pods, events and logs: without credentials, and with nothing that a terminal would obey.
fn told(text: &str) -> String {
    words::printable(&Redactor::default().redact(text).0)
}

/// What a rule saw, without what it says in general.
#[derive(Debug, Default)]
pub struct Found {
    node: Option<String>,
    cluster: Option<String>,
    grade: Option<Grade>,
    kind: Option<ErrorKind>,
    what: String,
    evidence: Vec<String>,
    todo: Vec<String>,
    remedy: Option<Remedy>,
}

impl Found {
    /// One sentence.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// On this node.
    pub(super) fn on(mut self, node: &str) -> Self {
        self.node = Some(node.to_owned());
        self
    }

    /// Of this cluster, where there may be several.
    pub(super) fn of(mut self, cluster: &str) -> Self {
        self.cluster = Some(cluster.to_owned());
        self
    }

    /// What was looked at, and what was there.
    pub(super) fn seen(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// Not as bad as the rule says, or worse.
    pub(super) fn graded(mut self, grade: Grade) -> Self {
        self.grade = Some(grade);
        self
    }

    /// The kind of the error that it was seen by, where that tells more than the rule.
    pub(super) fn kind(mut self, kind: ErrorKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// What to do, with what was seen here.
    pub(super) fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo.push(todo.into());
        self
    }

    /// What `--fix` does.
    pub(super) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Alone, if that is so.
    pub(super) fn only_if(self, so: bool) -> Vec<Self> {
        if so { vec![self] } else { Vec::new() }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule, or the error at which a run would stop.
    pub id: String,
    /// How bad it is.
    pub grade: Grade,
    /// What it is about.
    pub scope: Scope,
    /// The kind of error that it would be.
    #[schemars(with = "String")]
    pub kind: ErrorKind,
    /// The node, where it is about one.
    pub node: Option<String>,
    /// One sentence.
    pub what: String,
    /// What was looked at, and what was there.
    pub evidence: Vec<String>,
    /// Why it is so, and what comes of it.
    pub cause: String,
    /// How to mend it.
    pub fix: Vec<Step>,
    /// Of that, what is said for this case only.
    #[serde(skip)]
    todo: Vec<String>,
    /// The page about it.
    pub page: String,
    /// What `--fix` does, if it can do something.
    #[serde(serialize_with = "in_words")]
    #[schemars(with = "Option<String>")]
    pub remedy: Option<Remedy>,
    /// What its rule says in general.
    #[serde(skip)]
    entry: Entry,
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn in_words<S: serde::Serializer>(remedy: &Option<Remedy>, to: S) -> Result<S::Ok, S::Error> {
    remedy.as_ref().map(ToString::to_string).serialize(to)
}

/// How to mend something, on one sort of system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Where.
    pub on: On,
    /// A command, or a sentence.
    pub run: String,
}

impl Finding {
    /// What a run would stop at and no rule is about, in the words of its error; each of those that were told with it.
    pub(crate) fn all(error: Error) -> Vec<Self> {
        let (mut first, mut others) = (error, Vec::new());
        others.append(&mut first.others);
        std::iter::once(first).chain(others).map(Self::of).collect()
    }

    fn of(error: Error) -> Self {
        let mut entries = id::all().copied().chain(rules().map(Rule::entry));
        let entry = entries.find(|entry| entry.id == error.id()).unwrap_or(*id::INTERNAL);
        let own = error.hints.iter().map(|hint| (On::Anywhere, hint.as_str()));
        let steps = own.chain(entry.fix.iter().copied());
        Self {
            id: entry.id.to_owned(),
            grade: Grade::Problem,
            scope: Scope::Machine,
            kind: error.kind(),
            fix: steps.map(|(on, run)| Step { on, run: run.to_owned() }).collect(),
            evidence: error.why.iter().chain(&error.output).map(|seen| told(seen)).collect(),
            what: told(&error.message),
            node: error.node,
            cause: entry.cause.to_owned(),
            todo: error.hints,
            page: format!("docs/reference/errors.md#{}", entry.id),
            remedy: None,
            entry,
        }
    }

    /// In one sentence: what, and what to do about it.
    pub fn told(&self) -> String {
        std::iter::once(&self.what).chain(&self.todo).cloned().collect::<Vec<_>>().join("; ")
    }
}

/// As a run tells it that stops there.
impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        let hints = if finding.todo.is_empty() {
            finding.fix.iter().map(ToString::to_string).collect()
        } else {
            finding.todo
        };
        let error = Self::new(&finding.entry, finding.what);
        let error = finding.node.iter().fold(error, |error, node| error.on(node));
        hints.into_iter().fold(error, Self::hinted)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.on {
            On::Anywhere => f.write_str(&self.run),
            on => write!(f, "{}: {}", on.words(), self.run),
        }
    }
}

impl Grade {
    /// Every grade, the worst first.
    pub const ALL: &[Self] = &[Self::Problem, Self::Warning, Self::Note];

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl Scope {
    /// Every scope, in the order in which they are told.
    pub const ALL: &[Self] = &[Self::Host, Self::Machine, Self::Cluster];

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Host => "this host",
            Self::Machine => "machines",
            Self::Cluster => "the cluster",
        }
    }
}

/// What `--fix` can do. Only what cannot do harm, and nothing that the finding does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Install Debian packages on this host.
    Install(Vec<&'static str>),
    /// Raise a setting of this host's kernel until its next start: its place below `/proc/sys`, and its value.
    Raise(&'static str, u64),
    /// Let nobody else read a file.
    Private(PathBuf),
    /// Start a machine that swdt made: cluster and node.
    Start(String, String),
    /// Make everything of the cluster true again that differs.
    Converge(String),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Install(packages) => write!(f, "install packages on this host: {}", packages.join(", ")),
            Self::Raise(setting, value) => {
                write!(f, "set {} to {value} on this host, until it restarts", setting.replace('/', "."))
            }
            Self::Private(path) => write!(f, "let nobody else read {}: mode 0600", path.display()),
            Self::Start(_, node) => write!(f, "start the machine of {node}"),
            Self::Converge(cluster) => {
                write!(
                    f,
                    "make everything of the cluster {cluster} true again, as `swdt cluster create` does"
                )
            }
        }
    }
}

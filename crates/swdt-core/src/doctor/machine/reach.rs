//! Machines that could not be looked at: which step on the way did not work?

use super::Unreached;
use crate::{
    ErrorKind,
    doctor::{Found, Grade, Look, On, Rule},
    error::Entry,
    id,
    spec::Place,
};

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "machine-host-key",
        grade: Grade::Problem,
        title: "the machine's host key is not known, or has changed",
        cause: "A host key proves that the machine is the one you mean. An unknown one is not trusted unasked; one \
                that changed means that the machine was installed anew, or is another.",
        fix: &[
            (
                On::Anywhere,
                "compare the fingerprint on the machine: ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub",
            ),
            (
                On::Anywhere,
                "then pass --accept-new-host-keys, or write it as `hostKey` in the connection of NODE",
            ),
            (On::Anywhere, "for a key that changed rightly: ssh-keygen -R ADDRESS"),
        ],
        look: Look::Reach(|it| when(it, Step::HostKey)),
    },
    Rule {
        id: "machine-login",
        grade: Grade::Problem,
        title: "the machine does not let us in",
        cause: "The machine answers, but takes none of the keys or passwords that were offered. On Windows, keys of \
                administrators are read from C:\\ProgramData\\ssh\\administrators_authorized_keys only, and only \
                if nobody but administrators may write there.",
        fix: &[
            (On::Linux, "ssh-copy-id -i KEY.pub USER@ADDRESS"),
            (
                On::Windows,
                "icacls C:\\ProgramData\\ssh\\administrators_authorized_keys /inheritance:r /grant \
              Administrators:F /grant SYSTEM:F",
            ),
        ],
        look: Look::Reach(|it| when(it, Step::Login)),
    },
    Rule {
        id: "machine-rights",
        grade: Grade::Problem,
        title: "the node program cannot do its work there",
        cause: "The login works, but the user is neither root nor may become it with sudo without a password; or the \
                place where the node program goes takes no programs.",
        fix: &[
            (On::Linux, "echo 'USER ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/swdt"),
            (
                On::Anywhere,
                "on Windows, write a member of the group Administrators as `connection: {user: …}`",
            ),
        ],
        look: Look::Reach(|it| when(it, Step::Work)),
    },
    Rule {
        id: "machine-reach",
        grade: Grade::Problem,
        title: "the machine does not answer",
        cause: "Nobody answers at its address and port: the machine is off, the address is wrong, sshd does not run, \
                or a firewall is in between.",
        fix: &[
            (On::Anywhere, "ssh -v USER@ADDRESS tells how far one gets"),
            (On::Linux, "`systemctl enable --now ssh` (sshd on Fedora)"),
            (
                On::Windows,
                "`Start-Service sshd; Set-Service sshd -StartupType Automatic`; and let the firewall take \
              TCP 22",
            ),
        ],
        look: Look::Reach(|it| when(it, Step::Answer)),
    },
    Rule {
        id: "machine-other-cluster",
        grade: Grade::Problem,
        title: "the machine is busy or belongs to another cluster",
        cause: "A machine is a node of one cluster at a time, and one command works on it at a time.",
        fix: &[
            (On::Anywhere, "destroy the other cluster first, or use another machine"),
            (On::Anywhere, "wait for the command that works there"),
        ],
        look: Look::Reach(|it| when(it, Step::Taken)),
    },
];

/// How far one got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Answer,
    HostKey,
    Login,
    Work,
    Taken,
}

/// Which step failed.
fn step(it: &Unreached<'_>) -> Step {
    const HOST_KEY: &[&Entry] =
        &[id::HOST_KEY_UNKNOWN, id::HOST_KEY_CHANGED, id::HOST_KEY_REVOKED, id::KNOWN_HOSTS_FAILED];
    let error = it.error;
    match error.kind() {
        ErrorKind::Busy => Step::Taken,
        _ if error.is(id::MACHINE_OF_OTHER_CLUSTER) => Step::Taken,
        _ if HOST_KEY.iter().any(|entry| error.is(entry)) => Step::HostKey,
        _ if error.is(id::LOGIN_REFUSED) || error.is(id::SSH_KEY_UNUSABLE) => Step::Login,
        ErrorKind::Config => Step::Login,
        ErrorKind::Connection => Step::Answer,
        _ => Step::Work,
    }
}

fn when(it: &Unreached<'_>, which: Step) -> Vec<Found> {
    if step(it) != which {
        return Vec::new();
    }
    let said = it.error.output.last().map(|line| format!("it said: {line}"));
    let seen = said.or_else(|| it.error.why.clone()).unwrap_or_else(|| match &it.node.place {
        Place::Existing { address, .. } => format!("tried to log in at {address}"),
        Place::Machine(_) => "tried to log in to the machine that swdt made".to_owned(),
    });
    let found = Found::new(it.error.message.clone()).kind(it.error.kind()).seen(seen);
    vec![it.error.hints.iter().fold(found, Found::todo)]
}

//! What can go wrong with a resource, and when.

/// One way to go wrong.
pub(crate) struct Fault {
    /// For the table.
    pub(crate) name: &'static str,
    /// Where it strikes (`swdt-node/src/faults.rs`).
    pub(crate) point: &'static str,
    /// Which time.
    pub(crate) nth: u32,
    /// What the node program does then.
    pub(crate) action: &'static str,
    /// What is done to it from outside, while it is held up.
    pub(crate) deed: Deed,
}

/// What is done from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Nothing: the node program does it itself.
    Nothing,
    /// `kill -9` of swdt.
    KillSwdt,
    /// The connection's process on the machine is killed.
    DropSsh,
    /// The program that answers over the connection is killed; the run it follows is another process.
    KillAnswer,
    /// The machine restarts.
    Reboot,
    /// The bytes that were sent for this resource are overwritten.
    Rot,
}

const fn inside(name: &'static str, point: &'static str, nth: u32, action: &'static str) -> Fault {
    Fault { name, point, nth, action, deed: Deed::Nothing }
}

const fn outside(name: &'static str, point: &'static str, deed: Deed) -> Fault {
    Fault { name, point, nth: 1, action: "hang", deed }
}

/// Of a resource that is made true.
pub(crate) const CREATE: &[Fault] = &[
    inside("node program killed before the receipt", "before-receipt", 1, "kill"),
    inside("node program killed before the act", "after-receipt", 1, "kill"),
    inside("node program killed in the act", "mid-apply", 1, "kill"),
    inside("node program killed later in the act", "mid-apply", 2, "kill"),
    inside("node program killed after the act", "after-apply", 1, "kill"),
    inside("node program killed when all was noted", "after-done", 1, "kill"),
    outside("swdt killed", "after-receipt", Deed::KillSwdt),
    outside("SSH dropped before the act", "after-receipt", Deed::DropSsh),
    outside("SSH dropped after the act", "after-apply", Deed::DropSsh),
    outside("answer lost", "after-done", Deed::KillAnswer),
    inside("exit status lost", "program", 1, "lost"),
    outside("machine rebooted", "mid-apply", Deed::Reboot),
    inside("disk full: receipt", "receipt", 1, "full"),
    inside("disk full: file", "file", 1, "full"),
    inside("half-written receipt", "receipt", 1, "torn"),
    inside("half-written file", "file", 1, "torn"),
    inside("time-out", "program", 1, "endless"),
    inside("clock jumps back", "before-receipt", 1, "back"),
    inside("clock jumps forward", "before-receipt", 1, "forth"),
    inside(WRONG_BYTES, "upload", 1, "spoilt"),
    outside("wrong bytes on disk", "before-receipt", Deed::Rot),
];

/// Strikes where bytes arrive, not at a resource.
pub(crate) const WRONG_BYTES: &str = "wrong bytes sent";

/// Of a resource that is undone.
pub(crate) const DESTROY: &[Fault] = &[
    inside("node program killed before the act", "before-revert", 1, "kill"),
    inside("node program killed in the act", "mid-revert", 1, "kill"),
    inside("node program killed later in the act", "mid-revert", 2, "kill"),
    inside("node program killed after the act", "after-revert", 1, "kill"),
    outside("swdt killed", "before-revert", Deed::KillSwdt),
    outside("SSH dropped before the act", "before-revert", Deed::DropSsh),
    outside("SSH dropped after the act", "after-revert", Deed::DropSsh),
    outside("answer lost", "after-revert", Deed::KillAnswer),
    inside("exit status lost", "program", 1, "lost"),
    outside("machine rebooted", "mid-revert", Deed::Reboot),
    inside("disk full: receipt", "receipt", 1, "full"),
    inside("disk full: file", "file", 1, "full"),
    inside("half-written receipt", "receipt", 1, "torn"),
    inside("half-written file", "file", 1, "torn"),
    inside("time-out", "program", 1, "endless"),
    inside("clock jumps back", "before-revert", 1, "back"),
    inside("clock jumps forward", "before-revert", 1, "forth"),
];

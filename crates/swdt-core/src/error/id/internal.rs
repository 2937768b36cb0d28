//! A mistake in swdt, or in what only swdt writes.

entries! { Internal:
    INTERNAL = "internal" {
        title: "swdt made a mistake",
        cause: "Something happened that should not be possible.",
        fix: ["run the command again: whatever is true already is kept", "report it, with what `swdt cluster support-bundle` collects"],
    }
    RECORD_UNREADABLE = "record-unreadable" {
        title: "a file that only swdt writes cannot be read",
        cause: "It was edited, cut short by a full disk, or damaged with the disk it is on.",
        fix: ["put it back as it was, from a backup", "`swdt cluster adopt --config FILE` remembers a cluster anew, from its machines", "`swdt doctor` tells what else is wrong with this host"],
    }
    WIRE_MISMATCH = "wire-mismatch" {
        title: "swdt and its node program are of different releases",
        cause: "The node program that lies beside `swdt` was built from other sources.",
        fix: ["install swdt anew, with its node programs", "in a clone of the sources: `cargo xtask agents`"],
    }
}

//! Somebody else works on the same cluster or machine.

entries! { Busy:
    CLUSTER_BUSY = "cluster-busy" {
        title: "another command works on the cluster",
        cause: "Two at once would undo each other's work. A command that was killed holds nothing.",
        fix: ["wait for it to end; `swdt cluster logs --follow` shows what it does"],
    }
    MACHINE_BUSY = "machine-busy" {
        title: "somebody else works on the machine",
        cause: "Another command, perhaps of another host or person, makes something true there just now, or holds its console.",
        fix: ["wait for it to end and run the same command again", "`swdt cluster logs --follow` shows what it does, for whoever started it"],
    }
    CACHE_BUSY = "cache-busy" {
        title: "another swdt uses the cache",
        cause: "It fetches or builds, and what it needs must not be removed under its hands.",
        fix: ["wait for it to end; nothing was removed"],
    }
    FILE_BUSY = "file-busy" {
        title: "another program writes the same file",
        cause: "The file is locked by a program that changes it, or was changed while you were asked.",
        fix: ["run the command again when the other is done", "remove a lock that a killed program left, as the hint of the error says"],
    }
}

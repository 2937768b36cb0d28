//! A resource could not be made true, or undone.

entries! { Resource:
    RESOURCE_FAILED = "resource-failed" {
        title: "something could not be made true on a machine, or undone",
        cause: "A step on the machine failed: the error names the resource and shows the last lines of output. Full disks, \
                package servers that do not answer and services that do not start are the usual reasons.",
        fix: ["`swdt node logs NODE` shows more; mend it there, and run the same command again", "`swdt doctor --config FILE` looks for what is usually wrong with machines"],
    }
    NODE_PROGRAM_DIED = "node-program-died" {
        title: "the node program ended again and again",
        cause: "The machine restarts by itself, or kills processes because its memory is full.",
        fix: ["`dmesg` on the machine tells; give it more memory", "run the same command again: it goes on where it was"],
    }
    BYTES_NOT_STORED = "bytes-not-stored" {
        title: "the machine did not store a file that was sent",
        cause: "Its disk is full or cannot be written to, or something took the file away.",
        fix: ["make room on the machine, below /var/lib/swdt or C:\\ProgramData\\swdt, and run the command again"],
    }
    REPLACEMENT_UNSTABLE = "replacement-unstable" {
        title: "the node did not stay as it should with the new program",
        cause: "It was ready for a moment; then a service ended, or something changed back.",
        fix: ["what was there before was put back; the output tells what differed", "`swdt node exec NODE -- journalctl -u kubelet -n 50` shows what the kubelet said"],
    }
}

//! A machine could not be made, started, stopped or removed.

entries! { Machine:
    MACHINE_FILE_FAILED = "machine-file-failed" {
        title: "a file of a machine cannot be read or written on this host",
        cause: "The disk is full, the file belongs to somebody else, or something is mounted there.",
        fix: ["`df -h DIRECTORY` tells whether there is room", "run swdt as the user who made the machine"],
    }
    MACHINE_RECORD_UNREADABLE = "machine-record-unreadable" {
        title: "what was noted about a machine cannot be understood",
        cause: "The file was edited or damaged, or a program of the host answers otherwise than swdt knows.",
        fix: ["`swdt cluster destroy` removes the machine; make it again"],
    }
    MACHINE_YOURS = "machine-yours" {
        title: "the machine is yours, and swdt leaves it alone",
        cause: "It was there before swdt, which changes what is on it, but never starts, stops, saves or removes it.",
        fix: ["do it with what runs the machine", "`swdt cluster destroy` undoes what swdt changed on it"],
    }
    MACHINE_CANNOT = "machine-cannot" {
        title: "this sort of machine cannot do that",
        cause: "Screens and serial lines are those of virtual machines, and not every provider can save machines.",
        fix: ["`swdt node logs NODE` tells what the machine said", "write `provider: qemu` for a machine that has a screen"],
    }
    MACHINE_NOT_MADE = "machine-not-made" {
        title: "the machine was not made yet",
        cause: "An earlier run ended before it, or somebody removed it.",
        fix: ["`swdt cluster create --config FILE` makes it"],
    }
    MACHINE_STOPPED = "machine-stopped" {
        title: "the machine does not run",
        cause: "It was stopped, ended by itself, or this host was restarted.",
        fix: ["start it: `swdt node start NODE`"],
    }
    MACHINE_NOT_STARTED = "machine-not-started" {
        title: "the machine could not be started",
        cause: "systemd-nspawn, QEMU or a program beside it ended at once.",
        fix: ["`swdt doctor` tells what this host lacks", "the output holds what the program said"],
    }
    MACHINE_SILENT = "machine-silent" {
        title: "the machine started, but does not answer",
        cause: "Its system does not boot, with this image or firmware, or takes longer than swdt waits, as machines without KVM do.",
        fix: ["of a virtual machine, `swdt node console NODE` and `swdt node screenshot NODE` show how far it is", "check `image` and `firmware` of the node"],
    }
    INSTALLER_STUCK = "installer-stuck" {
        title: "the installer of Debian did not finish",
        cause: "It could not fetch a file from its mirror, met something that it asks a person about, or its machine ended.",
        fix: ["the output holds its last words; is deb.debian.org reachable from a machine on this host?", "run the same command again: it begins anew", "or write `image: {cloud: debian-12}` or `image: {build: debian-12}`"],
    }
    WINDOWS_NOT_UP = "windows-not-up" {
        title: "Windows did not come up",
        cause: "Setup stopped at a question or an error, the first boot did not finish, or the machine ended.",
        fix: ["`swdt node screenshot NODE` shows its screen", "check the disc, the edition and the product key; then run the same command again"],
    }
    MACHINE_LEFT_OVER = "machine-left-over" {
        title: "something of a machine is left and does not go",
        cause: "A process of it does not end, or somebody uses its files or mounts.",
        fix: ["the error names what is left; end it, and run the same command again"],
    }
    ADDRESSES_EXHAUSTED = "addresses-exhausted" {
        title: "the cluster's network has no address for the machine",
        cause: "All of them are given away, or the machine had one of a network that the cluster no longer has.",
        fix: ["let nodes leave that are not needed: `swdt cluster update --config FILE --prune NODE`", "or destroy the cluster and make it again"],
    }
    BASE_GONE = "base-gone" {
        title: "what the machine's disk is built on is gone, damaged, or another one now",
        cause: "Machines share a base that is never written to; somebody removed or cut it short, it was made anew for others, or the cache directory is another.",
        fix: ["use the cache directory that the machine was made with: `--cache-dir`", "otherwise destroy the machine and make it again"],
    }
    SNAPSHOT_DAMAGED = "snapshot-damaged" {
        title: "the snapshot cannot be restored",
        cause: "Files of it, or the base that its machines are built on, are gone.",
        fix: ["restore it with the cache directory that it was saved with: `--cache-dir`", "`swdt cluster snapshot list` shows others"],
    }
    TOOL_FAILED = "tool-failed" {
        title: "a program of this host failed",
        cause: "swdt makes machines with programs of the host; the error names the one that failed, and what it said.",
        fix: ["`swdt doctor` tells what this host lacks", "run the same command by hand to see more"],
    }
    QEMU_SILENT = "qemu-silent" {
        title: "QEMU does not answer",
        cause: "Its process ended, hangs, or somebody else holds its line.",
        fix: ["`swdt node stop NODE`, then `swdt node start NODE`", "`swdt doctor` tells which machines do not run"],
    }
    SWITCH_FAILED = "switch-failed" {
        title: "the private segment of virtual machines does not work",
        cause: "The program that passes frames between them, or their way out, did not start or refuses.",
        fix: ["stop the machines of the cluster and start them again: `swdt node stop NODE`, `swdt node start NODE`", "as root, `network: bridge` needs neither"],
    }
    FILE_NOT_SENT = "file-not-sent" {
        title: "a file could not be sent to the machine",
        cause: "Its disk is full, or the user may not write to its own home directory.",
        fix: ["make room on the machine, and run the command again"],
    }
}

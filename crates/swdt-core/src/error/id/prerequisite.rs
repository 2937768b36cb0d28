//! The host or a machine lacks something that must be there first.

entries! { Prerequisite:
    FILE_FAILED = "file-failed" {
        title: "a file of this host cannot be read or written",
        cause: "It is not there, belongs to somebody else, or the disk is full. After a command with sudo, files of swdt often \
                belong to root.",
        fix: ["`ls -l FILE` shows whose it is, `df -h FILE` whether there is room", "keep things elsewhere: `--data-dir`, `--cache-dir`"],
    }
    DISK_FULL = "disk-full" {
        title: "there is too little room on a disk",
        cause: "Machines, images, builds and snapshots take gigabytes; the error says how much is needed and where.",
        fix: ["`swdt source prune` shows what can go from the cache, `swdt cluster snapshot list` what snapshots take", "keep the cache on another disk: `--cache-dir DIR`", "on a machine: make room below /var/lib"],
    }
    RECORD_UNREADABLE = "record-unreadable" {
        title: "a file that only swdt writes cannot be read",
        cause: "It was edited, cut short by a full disk, or damaged with the disk it is on.",
        fix: ["put it back as it was, from a backup", "`swdt cluster adopt --config FILE` remembers a cluster anew, from its machines", "`swdt doctor` tells what else is wrong with this host"],
    }
    HOME_UNKNOWN = "home-unknown" {
        title: "your home directory is not known",
        cause: "HOME is not set, as in some services and containers.",
        fix: ["set HOME, or name the places: `--data-dir DIR --cache-dir DIR`"],
    }
    TERMINAL_LOST = "terminal-lost" {
        title: "the terminal, or what reads our output, is gone",
        cause: "The window was closed, the connection to it broke off, or the disk that output goes to is full.",
        fix: ["run the command again in another terminal; nothing that was done is lost"],
    }
    HOST_UNFIT = "host-unfit" {
        title: "this host cannot do that",
        cause: "Machines are made on Linux only, and Kubernetes' own tests run on Linux on x86-64.",
        fix: ["run swdt on such a host", "give the `address` of a machine that exists in place of `machine`"],
    }
    PROGRAM_MISSING = "program-missing" {
        title: "a program or package is missing on this host",
        cause: "Machines, builds and images are made with programs of the host; the error names what is missing.",
        fix: [
            "install what the error names, with the package manager of this host",
            "`swdt doctor` tells all that machines need, `swdt doctor --fix` installs it on Debian and Ubuntu",
        ],
    }
    NODE_PROGRAM_MISSING = "node-program-missing" {
        title: "the node program is not there",
        cause: "swdt brings a small program to each machine, and has it beside itself; Windows needs one of its own.",
        fix: ["install swdt anew", "in a clone of the sources: `cargo xtask agents`"],
    }
    REHEARSAL_MISSING = "rehearsal-missing" {
        title: "this swdt cannot rehearse Windows like this",
        cause: "It was built without rehearsals, or the version of Kubernetes is one that they are not made for.",
        fix: ["build swdt with the feature `rehearsal`", "leave `kubernetes.version` as `swdt config create` writes it"],
    }
    NODE_PROGRAM_REFUSED = "node-program-refused" {
        title: "the node program cannot be installed or run on the machine",
        cause: "The place where it goes takes no programs (noexec, a read-only disk, a virus scanner), or the machine has another \
                processor or lacks what every system has.",
        fix: [
            Linux "`findmnt --target /var/lib` tells how it is mounted",
            "on Windows, exclude C:\\ProgramData\\swdt from Windows Defender",
            "the output holds what the machine said",
        ],
    }
    SUDO_REFUSED = "sudo-refused" {
        title: "the user may not become root on the machine",
        cause: "swdt changes the system, and the user is not root and may not use sudo without a password.",
        fix: [
            "as root there: `echo 'USER ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/swdt && chmod 440 /etc/sudoers.d/swdt`",
            "or log in as root: `connection: {user: root}`",
        ],
    }
    SYSTEM_OTHER = "system-other" {
        title: "the machine runs another system than the file says",
        cause: "The file says Linux and Windows answers, or the other way round.",
        fix: ["write `os: windows` for a node of Windows, nothing for one of Linux"],
    }
    SFTP_MISSING = "sftp-missing" {
        title: "the SSH server of the machine has no SFTP",
        cause: "On Windows, the node program is sent by SFTP, and the line for it was taken out of the server's configuration.",
        fix: ["`Subsystem sftp sftp-server.exe` belongs in C:\\ProgramData\\ssh\\sshd_config; then: `Restart-Service sshd`"],
    }
    MACHINE_UNUSABLE = "machine-unusable" {
        title: "the machine cannot be worked on",
        cause: "The node program runs there, but not with the rights, or not on the system, that it needs.",
        fix: ["do what the error says there", "`swdt doctor --config FILE` looks at every machine of a file"],
    }
    MACHINE_OF_OTHER_CLUSTER = "machine-of-other-cluster" {
        title: "the machine is a node of another cluster",
        cause: "Its receipts name that cluster, and a machine is a node of one at a time.",
        fix: ["destroy that cluster first: `swdt cluster destroy --cluster NAME`", "or use another machine"],
    }
    MACHINE_NOT_OURS = "machine-not-ours" {
        title: "the machine is no node of a cluster of swdt",
        cause: "It has no receipts: swdt never changed it, or has undone everything, or the address leads elsewhere.",
        fix: ["check its `address`", "leave it out: `swdt cluster adopt --config FILE --without NODE`"],
    }
    CONTROL_PLANE_MOVED = "control-plane-moved" {
        title: "the control plane has another address than when it was made",
        cause: "Its certificates and every node hold the address it was made at.",
        fix: ["give the machine that address again; a fixed lease keeps it", "otherwise destroy the cluster and create it anew"],
    }
    NETWORK_TAKEN = "network-taken" {
        title: "there is no free network for the machines on this host",
        cause: "The range that a cluster's machines live in is used by something else: a VPN, another bridge, a container runtime.",
        fix: ["`ip address` and `ip route` tell who has it; free it", "or destroy the cluster and make it again"],
    }
    ADDRESS_IN_USE = "address-in-use" {
        title: "a port of this host that leads to a machine is taken",
        cause: "Another program listens there; virtual machines on a private segment are reached through ports of the loopback.",
        fix: [Linux "`ss --listening --tcp --processes` tells which program; end it"],
    }
    DIRECTORY_OPEN = "directory-open" {
        title: "others may enter a directory of swdt",
        cause: "Sockets of virtual machines lie there, and whoever can reach them has the machines.",
        fix: ["remove the directory; swdt makes it anew, for you alone"],
    }
    REPLACEMENT_GONE = "replacement-gone" {
        title: "the program that replaced another is gone from the cache",
        cause: "A node has a program of yours, and its bytes are needed again.",
        fix: ["replace it anew: `swdt node replace NODE PROGRAM=FILE`", "or take the cluster's own: `swdt node replace NODE --reset`"],
    }
    KUBECONFIG_UNMERGEABLE = "kubeconfig-unmergeable" {
        title: "the kubeconfig that is there cannot be merged into",
        cause: "It cannot be read as YAML, or has another form than kubectl gives it. Nothing was changed.",
        fix: ["`swdt get kubeconfig --output FILE` writes a file of its own", "kubectl reads several: KUBECONFIG=FILE:OTHER"],
    }
}

//! The command line was wrong.

entries! { Usage:
    COMMAND_LINE = "command-line" {
        title: "the command line cannot be understood",
        cause: "A word of it is no command, option or value that swdt knows, or one that is needed is missing.",
        fix: ["`--help` behind a command shows what it takes, with examples", "`swdt help topics` lists what can be done"],
    }
    ARGUMENT_INVALID = "argument-invalid" {
        title: "an argument, or a variable of the environment, has a value that cannot be used",
        cause: "The option or the variable is known, but what was given for it is not of the form that it needs.",
        fix: ["write it as the hint of the error shows", "`swdt help environment` lists the variables"],
    }
    ARGUMENTS_CONFLICT = "arguments-conflict" {
        title: "two arguments do not go together",
        cause: "Each would do alone; together they say two different things, and swdt does not guess which is meant.",
        fix: ["leave one of them out, as the hint of the error says"],
    }
    NAME_UNKNOWN = "name-unknown" {
        title: "nothing has this name",
        cause: "A field, topic, program, platform, error or rule was asked for by a name that is not known, often because \
                of a slip of the pen.",
        fix: ["take the name that the hint guesses, or one of those that it lists", "`swdt explain` lists errors and rules, `swdt help topics` topics"],
    }
    CLUSTER_NONE = "cluster-none" {
        title: "there is no such cluster yet",
        cause: "The command works on a cluster that is there, and none was made, or nothing of it is left.",
        fix: ["make one: `swdt cluster create --config my-cluster.yaml`, or `swdt quickstart`", "is it remembered elsewhere? `--data-dir DIR` or SWDT_DATA_DIR says where to look; sudo looks into another home"],
    }
    CLUSTER_UNKNOWN = "cluster-unknown" {
        title: "no cluster has this name",
        cause: "The name is misspelt, or the cluster was made by another user or with another `--data-dir`.",
        fix: ["`swdt cluster list` shows the names"],
    }
    CLUSTER_AMBIGUOUS = "cluster-ambiguous" {
        title: "there are several clusters, and none was named",
        cause: "With one cluster no name is needed; with several swdt does not guess.",
        fix: ["name one: `--cluster NAME`, or SWDT_CLUSTER in the environment"],
    }
    CLUSTER_KNOWN = "cluster-known" {
        title: "the cluster is remembered on this host already",
        cause: "`swdt cluster adopt` is for a host that lost the cluster's directory; it overwrites none that is there.",
        fix: ["`swdt cluster status --cluster NAME` shows it; nothing needs to be adopted"],
    }
    NO_SUCH_NODE = "no-such-node" {
        title: "the cluster has no node of this name",
        cause: "The name is misspelt, or the node is one of another cluster.",
        fix: ["`swdt cluster status` lists the nodes"],
    }
    SNAPSHOT_UNKNOWN = "snapshot-unknown" {
        title: "the cluster has no snapshot of this name",
        cause: "It is called otherwise, was deleted, or was never saved.",
        fix: ["`swdt cluster snapshot list` shows which there are"],
    }
    SNAPSHOT_EXISTS = "snapshot-exists" {
        title: "there is a snapshot of this name already",
        cause: "Snapshots are never overwritten: the older one may be the only way back.",
        fix: ["choose another name, or remove it first: `swdt cluster snapshot delete NAME`"],
    }
    SNAPSHOT_NEEDED = "snapshot-needed" {
        title: "the snapshot is needed to mend the cluster",
        cause: "Restoring it was broken off in the middle, so that machines are of different times.",
        fix: ["`swdt cluster snapshot restore NAME` goes on; delete it after that"],
    }
    SNAPSHOT_OLDER = "snapshot-older" {
        title: "nodes joined after the snapshot was saved",
        cause: "To go back means that they are no longer nodes; machines of theirs would be lost.",
        fix: ["`--yes` removes those that swdt made, with their machines", "let a machine of yours leave first: `swdt cluster update --config FILE --prune NODE`"],
    }
    FILE_EXISTS = "file-exists" {
        title: "the file to write is there already",
        cause: "It may be somebody's work, so it is not overwritten unasked.",
        fix: ["name another file with `--output`", "`--force` overwrites it, where the command has that"],
    }
    OUTPUT_NOT_WRITTEN = "output-not-written" {
        title: "what was asked for cannot be written where it shall go",
        cause: "The directory is not there, belongs to somebody else, or its disk is full.",
        fix: ["name a place that you may write to", "make the directory first"],
    }
    INPUT_UNREADABLE = "input-unreadable" {
        title: "a file that the command line names cannot be read",
        cause: "There is none at this path, it is a directory, or you may not read it. Files are those of this host.",
        fix: ["check the path: `ls -l FILE`"],
    }
    IMAGE_ARCHIVE_INVALID = "image-archive-invalid" {
        title: "the archive holds no image that can be loaded",
        cause: "It is not what `docker save`, `podman save` or an OCI tool writes, is damaged, or says too little of itself.",
        fix: ["make it anew: `docker save -o FILE NAME`", "give an image without a name one with `--as NAME:TAG`"],
    }
    TERMINAL_MISSING = "terminal-missing" {
        title: "a terminal is needed, and there is none",
        cause: "The command asks questions or shows a screen, and its input comes from a file, a pipe or a program.",
        fix: ["run it in a terminal", "give the answers as options: `--yes`, or those that the hint names"],
    }
    KUBECTL_ELSEWHERE = "kubectl-elsewhere" {
        title: "kubectl cannot do this from here",
        cause: "`swdt kubectl` runs on the control plane: it does not see files of this host but those after `-f`, and opens \
                no port here.",
        fix: ["`swdt get kubeconfig --merge --use` gives the cluster to a kubectl of this host", "give long values and files on standard input: `-f -`"],
    }
    NODE_IS_HERE = "node-is-here" {
        title: "the node is the machine that you are on",
        cause: "Its connection is `via: local`, and a terminal of it is what you have already.",
        fix: ["run the command without swdt"],
    }
    WRITTEN_BY_NEWER = "written-by-newer" {
        title: "a newer swdt wrote what is remembered of the cluster",
        cause: "What this version wrote beside it would damage it.",
        fix: ["use that version of swdt, or a newer one"],
    }
    PROGRAM_NOT_REPLACEABLE = "program-not-replaceable" {
        title: "this program of the node cannot be replaced",
        cause: "It runs in a pod from an image, comes from a package of the machine's own system, or the node has not joined yet.",
        fix: ["load an image of yours: `swdt image load ARCHIVE`", "`swdt cluster create --config FILE` goes on until the node has joined"],
    }
}

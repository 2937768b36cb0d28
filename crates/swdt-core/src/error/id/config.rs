//! A file the user wrote was wrong: how it is written, what it says, and what it names.

entries! { Config:
    CONFIG_INVALID = "config-invalid" {
        title: "the configuration file has problems",
        cause: "Each is told with its place, and has an id of its own.",
        fix: ["mend the lines that are shown; `swdt config validate FILE` looks again, and touches no machine"],
    }
    CONFIG_UNREADABLE = "config-unreadable" {
        title: "the configuration file cannot be opened",
        cause: "There is none at this path, or you may not read it.",
        fix: ["give the path of a file that describes a cluster", "`swdt config create --output my-cluster.yaml` writes one"],
    }
    FILE_NOT_TEXT = "file-not-text" {
        title: "the file is no text that can be read",
        cause: "It is empty, far too large, binary, or in another encoding than UTF-8. Windows PowerShell writes UTF-16 by itself.",
        fix: ["is this the right file?", Windows "Out-File -Encoding utf8"],
    }
    YAML_SYNTAX = "yaml-syntax" {
        title: "the file is not valid YAML",
        cause: "A bracket or quote is not closed, lines do not fit their indentation, or a tab is where blanks must be.",
        fix: ["mend the place that is shown; often the mistake is a line above it", "an editor that knows the schema shows it while you type: `swdt config schema`"],
    }
    YAML_UNSUPPORTED = "yaml-unsupported" {
        title: "the file uses a part of YAML that cluster files do without",
        cause: "Anchors, aliases, tags, directives, several documents and deep nesting make files that cannot be bounded.",
        fix: ["what several nodes share goes under `defaults`, once", "one file describes one cluster"],
    }
    FIELD_UNKNOWN = "field-unknown" {
        title: "there is no such field",
        cause: "It is misspelt, stands in the wrong place, or belongs to another tool.",
        fix: ["take the name that the hint guesses", "`swdt config explain` lists the fields"],
    }
    FIELD_MISSING = "field-missing" {
        title: "a field that is needed is missing or empty",
        cause: "It has no default, because only you can know it.",
        fix: ["write it as the hint shows; `swdt config explain FIELD` tells what it means"],
    }
    FIELD_TWICE = "field-twice" {
        title: "a field is written twice",
        cause: "YAML would silently take the last one.",
        fix: ["keep one of the two, or join what is under them"],
    }
    FIELD_MISPLACED = "field-misplaced" {
        title: "a field has no meaning where it stands",
        cause: "It is for another sort of node or machine: for virtual ones, for those that exist, for another system or role.",
        fix: ["remove it, or move it to the node that it is for", "`swdt config explain FIELD` tells where it counts"],
    }
    CHOICE_UNCLEAR = "choice-unclear" {
        title: "of several fields exactly one must be written",
        cause: "None of them is there, or more than one, and swdt does not guess which is meant: `address` or `machine`, `iso` or \
                `vhdx`, one source.",
        fix: ["keep one of those that the error names"],
    }
    VALUE_TYPE = "value-type" {
        title: "a value is of the wrong type",
        cause: "YAML reads `1.36` as a number, `yes` as text, and a line without a dash as no list.",
        fix: ["put text that looks like a number in quotes", "`swdt config explain FIELD` shows an example"],
    }
    VALUE_UNKNOWN = "value-unknown" {
        title: "a value is none of those that are possible",
        cause: "The field takes one of a few words; this one is misspelt, of another tool, or of another version of swdt.",
        fix: ["take one that the hint names", "`swdt config explain FIELD` lists them"],
    }
    VALUE_INVALID = "value-invalid" {
        title: "a value is not of the form that its field needs",
        cause: "Amounts, paths, addresses of files and repositories, checksums, login names, jump hosts and names of variables each \
                have a form of their own.",
        fix: ["write it as the hint shows", "`swdt config explain FIELD` shows an example"],
    }
    SECRET_IN_FILE = "secret-in-file" {
        title: "a secret stands in the file",
        cause: "Files are shared, shown and kept in version control, so that passwords, keys and logins never belong in them. The \
                value is not shown.",
        fix: ["for a password: `passwordFrom: {env: NAME}` or `{file: PATH}`", "for a key: the path of its file", "change the secret, if others could read the file"],
    }
    NAME_INVALID = "name-invalid" {
        title: "this cannot be the name of a cluster or a node",
        cause: "Names become host names: lower-case letters, digits and, inside, `-`; at most 63 characters, on Windows 15.",
        fix: ["take the name that the hint shows"],
    }
    NODES_ALIKE = "nodes-alike" {
        title: "two things have the same name or address",
        cause: "One machine is one node, and a name is of one machine; the endpoint of the control plane needs a name of its own.",
        fix: ["give each node its own `name` and `address`"],
    }
    ADDRESS_INVALID = "address-invalid" {
        title: "this is no address of a machine",
        cause: "An address is an IP address or a host name, without user and port; that of the control plane's endpoint is a name.",
        fix: ["write `address: 192.168.1.10`; user and port go under `connection`"],
    }
    VERSION_INVALID = "version-invalid" {
        title: "this is no version",
        cause: "Versions have three numbers; a branch, a minor or `latest` says something else tomorrow.",
        fix: ["write all three, for example `1.36.3`; `swdt catalog` lists what goes together"],
    }
    VERSION_UNKNOWN = "version-unknown" {
        title: "nobody knows this version",
        cause: "It was never released, or is older or newer than this swdt knows.",
        fix: ["choose one that `swdt catalog` lists", "a newer swdt knows newer versions"],
    }
    VERSIONS_APART = "versions-apart" {
        title: "versions do not go together",
        cause: "The catalog knows which versions of Kubernetes, containerd and Windows work together, and where that was read.",
        fix: ["`swdt catalog` shows what goes together, and why"],
    }
    NETWORK_INVALID = "network-invalid" {
        title: "this network cannot be used",
        cause: "It is no IPv4 network, is reserved, or is too small or too large for its purpose.",
        fix: ["leave it out to get the default, or write for example `podCIDR: 10.244.0.0/16`"],
    }
    NETWORKS_OVERLAP = "networks-overlap" {
        title: "networks overlap",
        cause: "Pods, services and machines need networks of their own, or packets go astray.",
        fix: ["choose another `network.podCIDR` or `network.serviceCIDR`"],
    }
    HOST_KEY_INVALID = "host-key-invalid" {
        title: "this is no host key",
        cause: "`hostKey` takes the public key itself, of one machine; a fingerprint is not enough to check with.",
        fix: ["write what `ssh-keyscan -t ed25519 ADDRESS` prints, without the address, after comparing it with the machine's console"],
    }
    PASSWORD_UNREADABLE = "password-unreadable" {
        title: "a password cannot be had from where it shall come from",
        cause: "The environment variable is not set, or the file is not there, cannot be read, or can be read by others.",
        fix: ["set the variable that `passwordFrom` names", Linux "chmod 600 FILE"],
    }
    LABEL_INVALID = "label-invalid" {
        title: "a label or taint cannot be given to the node",
        cause: "Kubernetes takes it for none, finds it out itself, or reserves it; a kubelet may not give such a one to its own node.",
        fix: ["write it as the hint shows", "after the cluster was made: `swdt kubectl -- label node NODE KEY=VALUE`"],
    }
    CONTROL_PLANE_COUNT = "control-plane-count" {
        title: "a cluster has exactly one control plane",
        cause: "No node has the role, or several have it, which is not possible yet.",
        fix: ["write `role: control-plane` for one of the Linux nodes"],
    }
    SYSTEM_UNSUITED = "system-unsuited" {
        title: "that is not possible with the node's system",
        cause: "Kubernetes has no control plane for Windows, Windows has no user `root`, `nspawn` makes machines of Linux only, and \
                `rehearsal` of Windows only.",
        fix: ["change `role`, `connection.user` or `machine.provider` of the node, or its `os`", "`provider: qemu` makes machines of both systems"],
    }
    MACHINE_TOO_SMALL = "machine-too-small" {
        title: "the machine would be too small for a node",
        cause: "Below a certain size kubeadm, Windows Setup or the image refuses.",
        fix: ["write the `cpus`, `memory` or `disk` that the hint shows"],
    }
    SEGMENT_MIXED = "segment-mixed" {
        title: "machines are in different networks",
        cause: "Machines on a private segment reach each other and the world, but no other machines of the cluster; nor do \
                those reach them.",
        fix: ["write `network: segment` under `defaults.machine`, or for no machine at all"],
    }
    FIRMWARE_MISMATCH = "firmware-mismatch" {
        title: "the disk does not start with this firmware",
        cause: "BIOS, UEFI and Secure Boot each start only disks that were made for them.",
        fix: ["write the `firmware` that the hint names"],
    }
    KUBEADM_DECIDED = "kubeadm-decided" {
        title: "swdt decides this field of kubeadm's documents",
        cause: "It follows from another part of the file, and two answers would contradict each other.",
        fix: ["write it where the hint says, or leave it out"],
    }
    EDIT_REFUSED = "edit-refused" {
        title: "the file cannot be changed without losing something",
        cause: "It is written in a way that swdt does not edit: with anchors, or many things on one line.",
        fix: ["write it over several lines, without anchors, and try again", "or change it by hand"],
    }
    CLUSTER_FIXED = "cluster-fixed" {
        title: "this cannot be changed in a cluster that is there",
        cause: "It was decided for good when the cluster was made: versions, networks, the endpoint, roles, kubeadm's documents.",
        fix: ["write it as it was; the error tells how that is", "or destroy the cluster and create it anew"],
    }
    NODE_FIXED = "node-fixed" {
        title: "this cannot be changed in a node that is there",
        cause: "Its machine, or programs that its pods live on, would be exchanged under it.",
        fix: ["let the node leave and come again: `swdt cluster update --config FILE --prune NODE`", "one program alone: `swdt node replace NODE PROGRAM=FILE`"],
    }
    MARKS_FIXED = "marks-fixed" {
        title: "labels and taints count only when a node joins",
        cause: "From then on they are the cluster's, where anybody may change them.",
        fix: ["write them as they were, and say it to the cluster: `swdt kubectl -- label node NODE KEY=VALUE`"],
    }
    NODE_NOT_IN_FILE = "node-not-in-file" {
        title: "the file no longer names a node of the cluster",
        cause: "A line that is missing may be a mistake, and whatever runs on the node would go with it.",
        fix: ["put it back into the file", "let it leave for good: `swdt cluster update --config FILE --prune NODE`"],
    }
    NODE_NOT_LEAVING = "node-not-leaving" {
        title: "the node that shall leave cannot",
        cause: "The file still names it, so that it would come again at once; or the cluster has no such node.",
        fix: ["take it out of the file, or leave out `--prune`"],
    }
    ADOPT_MISMATCH = "adopt-mismatch" {
        title: "the machine is another node than the file says",
        cause: "Its receipts tell the name and the role that it joined with.",
        fix: ["write name and role as they are; the error tells them"],
    }
    SOURCE_TREE_WRONG = "source-tree-wrong" {
        title: "the source tree is not the one that is needed",
        cause: "The directory is not there, has no go.mod, or is that of another module.",
        fix: ["name the directory that has the go.mod of the component"],
    }
    SOURCE_IMPOSSIBLE = "source-impossible" {
        title: "the component does not come from such a source",
        cause: "It cannot be built here, has no image of its own, or is a package of the node's system.",
        fix: ["leave the source away, or choose another kind: `swdt config explain components.kubelet.source`"],
    }
    SOURCE_LACKS = "source-lacks" {
        title: "the source does not have what the node needs",
        cause: "It has nothing for this component, version or platform, or one file where several programs are needed.",
        fix: ["add an entry for the platform, or name the directory with all programs", "make a bundle again with this version"],
    }
    PROGRAM_WRONG_PLATFORM = "program-wrong-platform" {
        title: "the file is no program for the node's platform",
        cause: "It was built for another system or processor, or is no program at all.",
        fix: ["build or choose the file for that platform: `GOOS=linux GOARCH=amd64 go build`"],
    }
    BUNDLE_UNREADABLE = "bundle-unreadable" {
        title: "the bundle cannot be read",
        cause: "It is damaged or was cut short when it was copied, or is no bundle.",
        fix: ["make it again; if it was copied, compare its checksum"],
    }
    DISK_IMAGE_UNUSABLE = "disk-image-unusable" {
        title: "no disk can be made from this image",
        cause: "The file cannot be read, is only a part that names another file, or is of a system whose disks are not made here.",
        fix: ["`qemu-img info FILE` tells what it is, `qemu-img convert` makes a whole one", "write `cloud: debian-12`, or another that `swdt config explain nodes.machine.image` lists"],
    }
    WINDOWS_MEDIA_INVALID = "windows-media-invalid" {
        title: "Windows cannot be installed from this",
        cause: "The file is no disc, disk, drivers or package of the sort that its field takes, has no such edition, or its product key \
                does not fit.",
        fix: ["the error tells what was found in it; download what its hint names", "`edition` takes a number or a name of those that the error lists"],
    }
    DISC_TRUNCATED = "disc-truncated" {
        title: "a disc is not complete",
        cause: "The file ends before it should: the download or copy broke off.",
        fix: ["download or copy it once more; compare its size and checksum with what its publisher tells"],
    }
    OPENSSH_MISSING = "openssh-missing" {
        title: "Windows would have no SSH server",
        cause: "Windows Server before 2025 brings none, and the image names none.",
        fix: ["download the MSI that the hint names, and write it as `openssh: {path: …, sha256: …}` of the image"],
    }
}

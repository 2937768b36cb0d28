//! The cluster as a whole did not come up, or does not work.

entries! { Cluster:
    KUBECTL_FAILED = "kubectl-failed" {
        title: "kubectl failed on the control plane",
        cause: "The API server does not answer, refuses, or does not know what was asked for; kubectl's own words are in the output.",
        fix: ["`swdt doctor` looks at the control plane", "`swdt kubectl -- get --raw '/readyz?verbose'` shows what of it is not ready"],
    }
    ANSWER_UNREADABLE = "answer-unreadable" {
        title: "the cluster's answer cannot be understood",
        cause: "kubectl or the control plane's files say something else than Kubernetes of this version does: they were changed, \
                or cut short.",
        fix: ["`swdt kubectl -- version` shows what runs there", "report it, with what `swdt cluster support-bundle` collects"],
    }
    CONTROL_PLANE_SILENT = "control-plane-silent" {
        title: "the control plane does not answer",
        cause: "Its machine is overloaded, or its API server does not run.",
        fix: ["`swdt doctor` tells which part does not run", "`swdt node exec NODE -- journalctl -u kubelet -n 50` shows what its kubelet says"],
    }
    CLUSTER_NOT_MADE = "cluster-not-made" {
        title: "the cluster has not come so far yet",
        cause: "An earlier run ended before Kubernetes, or what the command needs of it, was there.",
        fix: ["`swdt cluster create --config FILE` goes on until it is"],
    }
    RESTORE_MIDWAY = "restore-midway" {
        title: "restoring a snapshot was broken off",
        cause: "Some machines are as they were then and others as they are now, which no cluster survives.",
        fix: ["`swdt cluster snapshot restore NAME` goes on", "`swdt cluster destroy` removes the cluster"],
    }
    NODE_NOT_UP = "node-not-up" {
        title: "a node does not become ready, or is no longer known",
        cause: "Its machine runs, but the kubelet, the runtime or the network on it does not do its part; or somebody deleted \
                the node from the cluster.",
        fix: ["`swdt doctor` tells what keeps it", "`swdt kubectl -- describe node NODE` shows what the kubelet says"],
    }
    DRAIN_FAILED = "drain-failed" {
        title: "pods could not be moved off a node",
        cause: "A disruption budget forbids it, pods have no owner or keep data on the node, or they do not end in time.",
        fix: ["the output names the pods; delete them, or give their workload room elsewhere", "the options of the command say what may be given up: `--help`"],
    }
    SMOKE_FAILED = "smoke-failed" {
        title: "the cluster does not do what clusters are for",
        cause: "The smoke test starts pods, resolves names and talks across nodes; one of its steps did not work.",
        fix: ["`swdt doctor` looks for the cause", "`swdt test smoke --verbose` shows each step"],
    }
    KUBERNETES_TESTS_FAILED = "kubernetes-tests-failed" {
        title: "tests of Kubernetes failed",
        cause: "They ran to their end, and some did not pass.",
        fix: ["the reports beside e2e.log tell why; run one again with `--focus`"],
    }
    KUBERNETES_TESTS_NOT_RUN = "kubernetes-tests-not-run" {
        title: "the tests of Kubernetes did not run to their end",
        cause: "Their program ended early: the cluster was not ready for it, or it was killed.",
        fix: ["e2e.log in the directory of the reports holds what it said", "`swdt test smoke` tells whether the cluster works at all"],
    }
}

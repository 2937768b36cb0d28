//! What to do about a failed kubeadm, told from its words.

use crate::{Ctx, Error};

/// Names of preflight errors (beginnings), and what they call for.
const PREFLIGHT: [(&str, &str); 17] = [
    (
        "Port-",
        "another program listens there: find it with `ss -ltnp` and stop it; it may be another cluster",
    ),
    ("NumCPU", "a control plane needs 2 processors at least"),
    ("Mem", "a control plane needs 1700 MiB of memory at least"),
    ("Swap", "swap must be off: `swapoff -a`, and take it out of /etc/fstab"),
    (
        "FileContent--proc-sys-net-ipv4-ip_forward",
        "something switched net.ipv4.ip_forward off again: look through /etc/sysctl.d",
    ),
    ("FileContent--proc-sys-net-bridge", "load the module br_netfilter"),
    ("FileExisting-", "install the program that is missing"),
    (
        "FileAvailable-",
        "there are remains of another cluster: `kubeadm reset` removes them, if it is not needed any more",
    ),
    (
        "DirAvailable-",
        "there are remains of another cluster: `kubeadm reset` removes them, if it is not needed any more",
    ),
    (
        "CRI",
        "containerd does not answer: `systemctl status containerd`, and its configuration must not disable `cri`",
    ),
    ("ContainerRuntimeVersion", "use a newer containerd"),
    (
        "ImagePull",
        "the machine cannot reach the registry: check its network, DNS and proxy, or let swdt bring the images",
    ),
    ("SystemVerification", "the kernel or its cgroups lack something: the line above says what"),
    ("KubeletVersion", "kubelet and kubeadm must be of one version"),
    ("KubernetesVersion", "kubeadm is older than the wanted Kubernetes"),
    ("Hostname", "the machine's name must be a DNS name in lower case"),
    ("IsPrivilegedUser", "this needs root"),
];

/// Words of kubeadm after its preflight checks, and what they call for. First match wins.
const LATER: [(&[&str], &str); 6] = [
    (
        &["certificate has expired or is not yet valid", "x509: certificate has expired"],
        "compare the clocks of the machines with `date`",
    ),
    (
        &["could not find a JWS signature", "Unauthorized", "token id", "failed to verify JWS signature"],
        "the token is not valid any more: run the same command again",
    ),
    (
        &["cluster CA found in cluster-info ConfigMap is invalid", "of the public keys"],
        "another cluster answers at the control plane's address",
    ),
    (
        &["couldn't validate the identity of the API Server", "failed to request the cluster-info ConfigMap"],
        "this machine cannot reach the API server: check addresses, routes and firewalls, port 6443",
    ),
    (
        &["kubelet is not healthy", "kubelet is not running", "kubelet-start", "kubelet-wait"],
        "the kubelet does not come up: `journalctl -u kubelet` on the machine says why",
    ),
    (
        &[
            "wait-control-plane",
            "timed out waiting for the condition",
            "control plane component",
            "context deadline exceeded",
        ],
        "the control plane's containers do not come up: /var/log/pods and `journalctl -u kubelet` on the machine say why",
    ),
];

/// The same error in better words: each failed preflight check as one line with what to do, or else the last
/// words of the kubelet beside kubeadm's.
pub(super) fn explained(ctx: &Ctx, verb: &str, mut error: Error) -> Error {
    let failed = preflight(&error.output);
    if !failed.is_empty() {
        let reasons =
            if failed.len() == 1 { "one reason".into() } else { format!("{} reasons", failed.len()) };
        error.message = format!("kubeadm {verb} refuses this machine, for {reasons}");
        error.output = failed;
        return error.hinted("mend what is listed and run the same command again");
    }
    let said = error.output.iter().rev().find_map(|line| line.strip_prefix("error: "));
    error.message = match said {
        Some(said) => format!("kubeadm {verb} failed: {said}"),
        None => format!("kubeadm {verb} failed"),
    };
    let hint = later(&error.output);
    if ctx.live() {
        error.output.extend(super::system::kubelets_words(ctx));
    }
    match hint {
        Some(hint) => error.hinted(hint),
        None => error.hinted("`journalctl -u kubelet` on the machine may say more"),
    }
}

/// `Port 6443 is in use (Port-6443): another program …` of `\t[ERROR Port-6443]: Port 6443 is in use`.
pub(crate) fn preflight(output: &[String]) -> Vec<String> {
    let failed = |line: &String| {
        let (name, what) = line.trim().strip_prefix("[ERROR ")?.split_once("]: ")?;
        let hint = PREFLIGHT.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, hint)| *hint);
        Some(hint.map_or_else(|| format!("{what} ({name})"), |hint| format!("{what} ({name}): {hint}")))
    };
    output.iter().filter_map(failed).collect()
}

pub(crate) fn later(output: &[String]) -> Option<&'static str> {
    // Every line of a phase begins with its name, which is no complaint.
    let said = |line: &'_ String| match line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
        Some((_, said)) => said.to_owned(),
        None => line.clone(),
    };
    let said: Vec<String> = output.iter().map(said).collect();
    LATER
        .iter()
        .find(|(words, _)| said.iter().any(|line| words.iter().any(|word| line.contains(word))))
        .map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(output: &str) -> Error {
        let output = output.lines().map(str::to_owned).collect();
        explained(
            &Ctx::new("/nonexistent"),
            "init",
            Error { message: "`kubeadm …` failed".into(), output, hint: None },
        )
    }

    #[test]
    fn all_failed_checks_are_told_at_once() {
        let error = explain(
            "[preflight] Some fatal errors occurred:
\t[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2
\t[ERROR Port-6443]: Port 6443 is in use
\t[ERROR Port-10259]: Port 10259 is in use
\t[ERROR Novelty]: words of a later kubeadm
[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`
error: error execution phase preflight: preflight checks failed",
        );
        assert_eq!(error.message, "kubeadm init refuses this machine, for 4 reasons");
        let ports =
            "another program listens there: find it with `ss -ltnp` and stop it; it may be another cluster";
        assert_eq!(
            error.output,
            [
                "the number of available CPUs 1 is less than the required 2 (NumCPU): \
                 a control plane needs 2 processors at least"
                    .to_owned(),
                format!("Port 6443 is in use (Port-6443): {ports}"),
                format!("Port 10259 is in use (Port-10259): {ports}"),
                "words of a later kubeadm (Novelty)".to_owned(),
            ]
        );
    }

    #[test]
    fn later_failures() {
        let hint = |text: &str| explain(text).hint.unwrap_or_default();
        assert!(hint("error execution phase preflight: couldn't validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get \"https://10.0.0.1:6443/…\": dial tcp 10.0.0.1:6443: connect: connection refused").contains("cannot reach"));
        assert!(hint("error execution phase preflight: couldn't validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID \"abcdef\"").contains("token is not valid"));
        assert!(
            hint("[kubelet-check] The kubelet is not healthy after 4m0.000s")
                .contains("journalctl -u kubelet")
        );
        let said = "error: error execution phase wait-control-plane: cannot obtain client without bootstrap\nTo see the stack trace of this error execute with --v=5 or higher";
        assert_eq!(
            explain(said).message,
            "kubeadm init failed: error execution phase wait-control-plane: cannot obtain client without bootstrap"
        );
        assert!(hint("error execution phase wait-control-plane: failed while waiting for the control plane to start").contains("containers do not come up"));
        let slow = "[certs] Generating \"sa\" key and public key\n[kubelet-start] Starting the kubelet\nerror: error execution phase wait-control-plane: cannot obtain client without bootstrap";
        assert!(hint(slow).contains("containers do not come up"), "{}", hint(slow));
        assert!(hint("error: none of the public keys [\"sha256:…\"] are pinned").contains("another cluster"));
        assert!(hint("whatever").contains("may say more"));
    }
}

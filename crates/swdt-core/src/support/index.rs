//! The first thing that is read: what there is, what is not, and why.

use std::fmt::Write;

use super::{Entry, Missing};

/// What is never in a bundle.
const LEFT_OUT: &str = "\
## Left out on purpose

- Secrets of the cluster, in whatever namespace, and the contents of ConfigMaps but for a few settings of kubeadm,
  CoreDNS and Flannel.
- Of other objects, everything but what is listed in swdt's source as safe: no environment, arguments or mounts of
  containers, no annotations of yours.
- Private keys, kubeconfigs, certificates' keys; whatever is in /etc/kubernetes and /var/lib/kubelet.
- What files on the machines held before swdt (receipts and priors stay where they are).
- Logs of your own pods. Those of kube-system and of the network are here.

What looked like a token, a password, a key or a credential in what remained was replaced by `<… removed>`. Nobody can
promise that nothing else is private: names of machines, addresses, images and paths are here. Look before you send it.
";

pub(super) fn text(head: &str, entries: &[Entry], missing: &[Missing]) -> String {
    let mut text = format!("{head}\n## In it\n\n| file | what | bytes | removed |\n|---|---|---:|---:|\n");
    for entry in entries {
        let cut = if entry.cut { ", its end only" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {}{cut} | {} | {} |",
            entry.path,
            entry.about,
            entry.text.len(),
            entry.removed
        );
    }
    text.push_str("\n## Could not be collected\n\n");
    if missing.is_empty() {
        text.push_str("Everything that was looked for is here.\n");
    }
    for Missing { what, why } in missing {
        let _ = writeln!(text, "- **{what}**: {}", why.replace('\n', " "));
    }
    format!("{text}\n{LEFT_OUT}")
}

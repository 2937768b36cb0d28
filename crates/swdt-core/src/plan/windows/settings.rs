//! Settings of a Windows machine that a node gains from, in phase `prepare`. All of them are undone with the cluster.
//!
//! What is not here: the page file and automatic updates are the owner's business (preflight tells what matters of
//! the first); a DNS suffix helps no pod, whose names the cluster serves; the firewall stays on, with rules.

use swdt_wire::{Facts, Kind, Registry, RegistryValue, Service, WindowsFacts};

use super::super::List;

const EXCLUSIONS: &str = r"SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions";
const POWER: &str = r"SOFTWARE\Policies\Microsoft\Power\PowerSettings";
const HNS: &str = r"SYSTEM\CurrentControlSet\Services\hns\State";
const OVERRIDES: &str = r"SYSTEM\CurrentControlSet\Policies\Microsoft\FeatureManagement\Overrides";

/// Windows' own name of "High performance".
const HIGH_PERFORMANCE: &str = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c";

/// Where a runtime writes and reads many small files: layers of images, and volumes of pods. Scanning each of them
/// on its way makes starting a container several times slower, and a layer that is held open cannot be removed.
const SCANNED_NOT: [(&str, &str); 4] = [
    ("containerd", r"C:\ProgramData\containerd"),
    ("runtime", r"C:\Program Files\containerd"),
    ("kubelet", r"C:\var\lib\kubelet"),
    ("cni", r"C:\opt\cni"),
];

/// A value that one release of Windows needs, as the images of the Cluster API have them: build, name, key, value.
///
/// <https://github.com/kubernetes-sigs/image-builder/blob/main/images/capi/ansible/windows/roles/systemprep/tasks/main.yml>
const BY_BUILD: [(u32, &str, &str, &str, u32); 4] = [
    // Fixes of the host network service in updates of 2022-11, which only a flag turns on.
    (17763, "hns", HNS, "HNSControlFlag", 0x50),
    // Containers could not remove files that others had open.
    (17763, "wcifs", r"SYSTEM\CurrentControlSet\Services\wcifs", "WcifsSOPCountDisabled", 0),
    // A change of the virtual switch in updates of 2025-04 breaks the network of pods; 0 takes it back.
    (20348, "vfp", OVERRIDES, "1114842764", 0),
    // Overlay networks lose packets until updates of 2025-10; 1 turns the fix on before.
    (26100, "vfp", OVERRIDES, "520997518", 1),
];

/// Adds them. What the machine lacks (Defender can be removed, and is on some) is left out once it is known.
pub(super) fn add(list: &mut List, facts: Option<&Facts>) {
    let windows = facts.and_then(|facts| facts.windows.as_ref());
    if has(windows, "WinDefend") {
        // A policy, because it is written natively, counts at once, and goes with its value.
        set(list, "defender/policy", EXCLUSIONS, "Exclusions_Paths", RegistryValue::Number(1));
        for (name, path) in SCANNED_NOT {
            let key = format!(r"{EXCLUSIONS}\Paths");
            set(list, &format!("defender/{name}"), &key, path, RegistryValue::Text("0".into()));
        }
    }
    // Certificates are valid from a moment on. On a machine without a domain Windows asks for the time once a week.
    if has(windows, "W32Time") {
        let time = Service { name: "W32Time".into(), enabled: true, running: true, newer_than: Vec::new() };
        list.add("time", Kind::Service(time));
    }
    // "Balanced", which Windows Server comes with, lets processors sleep between two requests.
    set(list, "power", POWER, "ActivePowerScheme", RegistryValue::Text(HIGH_PERFORMANCE.into()));
    // Without it, pods cannot mount SMB shares by name.
    // https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/
    set(list, "smb-names", HNS, "EnableCompartmentNamespace", RegistryValue::Number(1));
    for (build, name, key, value, number) in BY_BUILD {
        if windows.is_some_and(|windows| windows.build == build) {
            set(list, &format!("build-{build}/{name}"), key, value, RegistryValue::Number(number));
        }
    }
}

/// Before the machine was reached, it is taken for a plain Windows Server, which has both.
fn has(windows: Option<&WindowsFacts>, service: &str) -> bool {
    windows.is_none_or(|windows| windows.services.iter().any(|name| name == service))
}

fn set(list: &mut List, id: &str, key: &str, name: &str, value: RegistryValue) {
    list.add(id, Kind::Registry(Registry { key: key.to_owned(), name: name.to_owned(), value }));
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::plan::tests::windows;

    fn settings(facts: Option<&Facts>) -> String {
        let mut list = List::new("prepare");
        add(&mut list, facts);
        list.resources.iter().fold(String::new(), |mut text, it| {
            let _ = writeln!(text, "{:<28} {}", it.id, serde_json::to_string(&it.kind).unwrap());
            text
        })
    }

    #[test]
    fn settings_of_a_release() {
        insta::assert_snapshot!("windows-settings", settings(Some(&windows(20348))));
    }

    #[test]
    fn each_build_has_what_it_needs_and_no_more() {
        let own = |facts: Option<Facts>| -> Vec<String> {
            let all = settings(facts.as_ref());
            let ids = all.lines().filter_map(|line| line.split(' ').next()?.strip_prefix("prepare/build-"));
            ids.map(str::to_owned).collect()
        };
        assert_eq!(own(Some(windows(17763))), ["17763/hns", "17763/wcifs"]);
        assert_eq!(own(Some(windows(26100))), ["26100/vfp"]);
        assert_eq!(own(None), [""; 0], "before the build is known");
    }

    #[test]
    fn what_the_machine_lacks_is_left_out() {
        assert!(
            settings(None).contains("W32Time"),
            "which every Windows Server has, as long as nobody looked"
        );
        let mut bare = windows(20348);
        bare.windows.as_mut().unwrap().services.clear();
        let settings = settings(Some(&bare));
        assert!(!settings.contains("W32Time") && !settings.contains("Defender"), "{settings}");
    }
}

//! Does a cluster go together? Decided from the spec and from what is known of its machines.

use std::collections::BTreeMap;

use semver::{Prerelease, Version, VersionReq};
use swdt_wire::Facts;

use super::{Rule, Verdict, Versions, When, WindowsRelease, catalog, defaults};
use crate::{
    Error, Result, id,
    spec::{Cni, ComponentName, Node, OsFamily, Spec},
};

const SKEW: &str = "https://kubernetes.io/releases/version-skew-policy/";
const SAME_BUILD: &str = "https://learn.microsoft.com/en-us/virtualization/windowscontainers/deploy-containers/version-compatibility";
const CONTAINERD: &str = "https://github.com/containerd/containerd/blob/main/RELEASES.md#kubernetes-support";

/// Rules that compare versions with each other, which no row of data can say: name, rule, where it was read.
pub const COMPARED: &[(&str, &str, &str)] = &[
    (
        "skew",
        "kubelet and kube-proxy may be up to three minors older than the API, the controller manager and \
      the scheduler one, kubeadm and the API itself none; nothing may be newer",
        SKEW,
    ),
    ("containerd", "containerd must be one that its project lists for the minor of Kubernetes", CONTAINERD),
    ("windows-release", "a Windows node must be of a release in this catalog", SAME_BUILD),
];

/// Something that does not go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule.
    pub rule: String,
    /// How bad it is.
    pub verdict: Verdict,
    /// The node it is about.
    pub node: Option<String>,
    /// The component whose version it is about.
    pub component: Option<ComponentName>,
    /// One sentence.
    pub message: String,
    /// Why.
    pub reason: String,
    /// What to do.
    pub todo: String,
    /// Where the reason was read.
    pub source: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}); {}; see {}", self.message, self.reason, self.todo, self.source)
    }
}

impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        let message = format!("{} ({})", finding.message, finding.reason);
        let error = Self::new(id::VERSIONS_APART, message)
            .hinted(finding.todo)
            .hinted(format!("see {}", finding.source));
        match finding.node {
            Some(node) => error.on(&node),
            None => error,
        }
    }
}

/// Checks a cluster. Facts may be missing: machines that are not made yet are judged by what the spec says.
pub fn check(spec: &Spec, facts: &BTreeMap<String, Facts>) -> Result<Vec<Finding>> {
    check_nodes(&spec.kubernetes, spec.network.cni, &spec.nodes, facts)
}

/// Checks some nodes of a cluster.
pub fn check_nodes<'n>(
    kubernetes: &Version,
    cni: Cni,
    nodes: impl IntoIterator<Item = &'n Node>,
    facts: &BTreeMap<String, Facts>,
) -> Result<Vec<Finding>> {
    let versions = defaults(kubernetes)?;
    let mut findings = Vec::new();
    for node in nodes {
        let judged = Judged { kubernetes, cni, node, versions: &versions, facts: facts.get(&node.name) };
        findings.extend(
            catalog()?.rules.iter().filter(|rule| judged.applies(&rule.when)).map(|rule| judged.found(rule)),
        );
        findings.extend(judged.skew());
        findings.extend(judged.unknown_release());
        findings.extend(judged.containerd());
    }
    Ok(findings)
}

struct Judged<'a> {
    kubernetes: &'a Version,
    cni: Cni,
    node: &'a Node,
    versions: &'a Versions,
    facts: Option<&'a Facts>,
}

impl Judged<'_> {
    /// The version of a component on this node.
    fn version(&self, component: ComponentName) -> Version {
        let chosen = self.node.components.get(&component).and_then(|chosen| chosen.version.clone());
        chosen.unwrap_or_else(|| match (component, self.release()) {
            (ComponentName::Pause, Some(release)) => self.versions.pause_on(release),
            _ => self.versions.of(component.as_str()),
        })
    }

    /// The release of Windows that its machine runs; none where it is not known, or runs something else.
    fn release(&self) -> Option<&'static WindowsRelease> {
        super::windows(build(self.facts?)?).ok().flatten()
    }

    fn applies(&self, when: &When) -> bool {
        let facts = |holds: &dyn Fn(&Facts) -> bool| self.facts.is_some_and(holds);
        let component = |name: &String, ranges: &Vec<VersionReq>| {
            named(name).is_some_and(|component| {
                component.runs_on(self.node.role, self.node.os) && any(ranges, &self.version(component))
            })
        };
        when.os.is_none_or(|os| os == self.node.os)
            && when.arch.as_ref().is_none_or(|arch| facts(&|facts| facts.arch == *arch))
            && (when.kubernetes.is_empty() || any(&when.kubernetes, self.kubernetes))
            && when.components.iter().all(|(name, ranges)| component(name, ranges))
            && (when.kernel.is_empty()
                || facts(&|facts| kernel(&facts.os.kernel).is_some_and(|kernel| any(&when.kernel, &kernel))))
            && when.cgroup.as_ref().is_none_or(|cgroup| facts(&|facts| facts.cgroup.to_string() == *cgroup))
            && when.build.as_ref().is_none_or(|wanted| facts(&|facts| build(facts) == number(wanted)))
            && when.update_from.as_ref().is_none_or(|from| facts(&|facts| update(facts) >= number(from)))
            && when.update_below.as_ref().is_none_or(|below| {
                facts(&|facts| update(facts).is_some_and(|update| Some(update) < number(below)))
            })
            && when.cni.as_ref().is_none_or(|cni| *cni == cni_name(self.cni))
    }

    fn found(&self, rule: &Rule) -> Finding {
        Finding {
            rule: rule.id.clone(),
            verdict: rule.verdict,
            node: Some(self.node.name.clone()),
            component: rule.when.components.keys().find_map(|name| named(name)),
            message: rule.says.clone(),
            reason: rule.reason.clone(),
            todo: rule.todo.clone(),
            source: rule.source.clone(),
        }
    }

    fn refused(
        &self,
        rule: &str,
        component: Option<ComponentName>,
        message: String,
        reason: &str,
        todo: &str,
        source: &str,
    ) -> Finding {
        Finding {
            rule: rule.to_owned(),
            verdict: Verdict::Refuse,
            node: Some(self.node.name.clone()),
            component,
            message,
            reason: reason.to_owned(),
            todo: todo.to_owned(),
            source: source.to_owned(),
        }
    }

    /// What may be older than the API, and by how much.
    fn skew(&self) -> Vec<Finding> {
        let api = self.kubernetes;
        let mut findings = Vec::new();
        for (component, older) in [
            (ComponentName::Kubelet, 3),
            (ComponentName::KubeProxy, 3),
            (ComponentName::KubeControllerManager, 1),
            (ComponentName::KubeScheduler, 1),
            (ComponentName::KubeApiserver, 0),
            (ComponentName::Kubeadm, 0),
        ] {
            let version = self.version(component);
            let behind = api.minor.checked_sub(version.minor);
            let fits = version.major == api.major && behind.is_some_and(|behind| behind <= older);
            if component.runs_on(self.node.role, self.node.os) && !fits {
                let message = format!("{component} {version} does not go with Kubernetes {api}");
                let reason = if older == 0 {
                    "it must be of the same minor".to_owned()
                } else {
                    format!("it must not be newer, and at most {older} minors older")
                };
                findings.push(self.refused(
                    "skew",
                    Some(component),
                    message,
                    &reason,
                    "leave its version away, or choose one nearer",
                    SKEW,
                ));
            }
        }
        findings
    }

    /// A build whose containers nobody makes images for. What is no Server at all, preflight tells.
    fn unknown_release(&self) -> Option<Finding> {
        let facts = self.facts?;
        let server = facts.windows.as_ref().is_some_and(|windows| windows.installation != "Client");
        let build = build(facts).filter(|_| server && self.node.os == OsFamily::Windows)?;
        let releases = &catalog().ok()?.windows;
        if self.release().is_some() {
            return None;
        }
        let known: Vec<_> =
            releases.iter().map(|release| format!("{} ({})", release.name, release.build)).collect();
        let message = format!("{} (build {build}) is no release that can be a node", facts.os.name);
        let reason = "containers need images of the same build, and there are some for few builds only";
        let todo = format!("use one of {}", known.join(", "));
        Some(self.refused("windows-release", None, message, reason, &todo, SAME_BUILD))
    }

    fn containerd(&self) -> Option<Finding> {
        let (version, minor) = (self.version(ComponentName::Containerd), self.versions.minor());
        if any(&minor.containerd, &version) {
            return None;
        }
        let ranges: Vec<_> = minor.containerd.iter().map(ToString::to_string).collect();
        let message = format!("containerd {version} does not go with Kubernetes {}", self.kubernetes);
        let reason = format!("its project lists {} for Kubernetes {}", ranges.join(" or "), minor.minor);
        Some(self.refused(
            "containerd",
            Some(ComponentName::Containerd),
            message,
            &reason,
            "leave its version away, or choose one of those",
            CONTAINERD,
        ))
    }
}

fn named(name: &str) -> Option<ComponentName> {
    ComponentName::ALL.iter().copied().find(|component| component.as_str() == name)
}

/// The word of the configuration.
fn cni_name(cni: Cni) -> &'static str {
    match cni {
        Cni::Flannel => "flannel",
    }
}

/// Is it in one of the ranges? A candidate counts as its release: ranges leave candidates out.
fn any(ranges: &[VersionReq], version: &Version) -> bool {
    let release = Version { pre: Prerelease::EMPTY, ..version.clone() };
    ranges.iter().any(|range| range.matches(&release))
}

/// `6.1.0-18-amd64`, `5.15.0`, `6.18`.
fn kernel(release: &str) -> Option<Version> {
    let numbers = release.split(|c: char| c != '.' && !c.is_ascii_digit()).next()?;
    let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
    Some(Version::new(parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// The build of Windows: `20348`, or `10.0.20348`.
fn build(facts: &Facts) -> Option<u32> {
    if facts.os.family != "windows" {
        return None;
    }
    facts.os.version.split('.').find_map(|part| part.parse().ok().filter(|number| *number > 9999))
}

/// The update level of Windows.
fn update(facts: &Facts) -> Option<u32> {
    facts.windows.as_ref().map(|windows| windows.ubr)
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Component, Connection, Network, Place, Role, Runtime};

    fn node(name: &str, role: Role, os: OsFamily) -> Node {
        Node {
            name: name.into(),
            role,
            os,
            set_hostname: false,
            place: Place::Existing { address: "192.0.2.1".into(), port: None },
            connection: Connection::default(),
            labels: BTreeMap::new(),
            taints: None,
            components: BTreeMap::new(),
        }
    }

    fn spec(kubernetes: &str, nodes: Vec<Node>) -> Spec {
        Spec {
            kubeadm: crate::spec::Kubeadm::default(),
            name: "c".into(),
            kubernetes: kubernetes.parse().unwrap(),
            endpoint: "cp1".into(),
            runtime: Runtime::Containerd,
            network: Network {
                cni: Cni::Flannel,
                pod_cidr: "10.244.0.0/16".parse().unwrap(),
                service_cidr: "10.96.0.0/12".parse().unwrap(),
            },
            nodes,
        }
    }

    fn linux() -> Facts {
        let state: crate::state::State =
            serde_json::from_str(include_str!("../../tests/state/v1.json")).unwrap();
        let mut facts = state.nodes["cp1"].facts.clone().unwrap();
        facts.cgroup = 2;
        facts.os.kernel = "6.1.0-18-amd64".into();
        facts
    }

    /// Build and update level of a Windows Server.
    fn windows(build: u32, ubr: u32) -> Facts {
        let mut facts: Facts =
            serde_json::from_str(include_str!("../../tests/facts/windows-2022.json")).unwrap();
        facts.os.version = build.to_string();
        let windows = facts.windows.as_mut().unwrap();
        (windows.build, windows.ubr) = (build, ubr);
        facts
    }

    fn rules(spec: &Spec, facts: &Facts) -> Vec<String> {
        let facts = spec.nodes.iter().map(|node| (node.name.clone(), facts.clone())).collect();
        check(spec, &facts).unwrap().into_iter().map(|finding| finding.rule).collect()
    }

    fn pin(node: &mut Node, component: ComponentName, version: &str) {
        let chosen = Component { version: version.parse().ok(), source: None };
        node.components.insert(component, chosen);
    }

    #[test]
    fn what_goes_together_is_silent() {
        let spec = spec("1.36.3", vec![node("cp1", Role::ControlPlane, OsFamily::Linux)]);
        assert_eq!(rules(&spec, &linux()), [""; 0]);
        // Nothing known of the machine yet: nothing to complain about.
        assert_eq!(check(&spec, &BTreeMap::new()).unwrap(), []);
    }

    #[test]
    fn cgroup_v1_is_warned_about_since_1_35() {
        let mut facts = linux();
        facts.cgroup = 1;
        let old = spec("1.34.4", vec![node("cp1", Role::ControlPlane, OsFamily::Linux)]);
        let new = spec("1.35.4", old.nodes.clone());
        assert_eq!(rules(&old, &facts), [""; 0]);
        assert_eq!(rules(&new, &facts), ["cgroup-v1"]);
    }

    #[test]
    fn kernels_are_judged_as_kubeadm_does() {
        let spec = spec("1.36.3", vec![node("w", Role::Worker, OsFamily::Linux)]);
        let with = |kernel: &str| {
            let mut facts = linux();
            facts.os.kernel = kernel.into();
            rules(&spec, &facts)
        };
        assert_eq!(with("4.19.0-26-amd64"), ["kernel-too-old", "nftables-kernel"]);
        assert_eq!(with("5.10.0"), ["nftables-kernel"]);
        assert_eq!(with("5.19.0-generic"), ["kernel-without-support"]);
        assert_eq!(with("6.18"), [""; 0]);
    }

    #[test]
    fn windows_releases_are_judged_by_build_and_update_level() {
        let of = |kubernetes: &str| spec(kubernetes, vec![node("win1", Role::Worker, OsFamily::Windows)]);
        for (kubernetes, build, ubr, expected) in [
            ("1.36.3", 20348, 2814, &[][..]),
            ("1.36.3", 20348, 2600, &["updates-2022"][..]),
            ("1.36.3", 20348, 1, &[][..]),
            ("1.36.3", 26100, 1, &["windows-2025"][..]),
            // pause 3.10.1 of that minor has no manifest for 2025, so 3.10.2 is taken.
            ("1.35.4", 26100, 1, &["windows-2025"][..]),
            ("1.36.3", 17763, 5000, &["windows-2019"][..]),
            ("1.35.4", 17763, 5000, &[][..]),
            ("1.35.4", 17763, 1000, &["updates-2019"][..]),
            ("1.35.4", 17763, 1, &["flannel-2019", "updates-2019"][..]),
            // Server 2016, and an annual channel that no base image is published for any more.
            ("1.36.3", 14393, 1, &["windows-release"][..]),
            ("1.36.3", 25398, 1, &["windows-release"][..]),
        ] {
            assert_eq!(rules(&of(kubernetes), &windows(build, ubr)), expected, "{kubernetes} {build}.{ubr}");
        }
        let mut pinned = node("win1", Role::Worker, OsFamily::Windows);
        pin(&mut pinned, ComponentName::Pause, "3.10.1");
        let pinned = spec("1.36.3", vec![pinned]);
        assert_eq!(rules(&pinned, &windows(26100, 1)), ["pause-2025", "windows-2025"]);
        assert_eq!(rules(&pinned, &windows(20348, 3000)), [""; 0]);
    }

    #[test]
    fn a_kubelet_may_be_older_but_never_newer() {
        let with = |version: &str| {
            let mut worker = node("w", Role::Worker, OsFamily::Linux);
            pin(&mut worker, ComponentName::Kubelet, version);
            rules(&spec("1.36.3", vec![worker]), &linux())
        };
        assert_eq!(with("1.33.0"), [""; 0]);
        assert_eq!(with("1.32.0"), ["skew"]);
        assert_eq!(with("1.37.0"), ["skew"]);
    }

    #[test]
    fn containerd_must_be_one_that_its_project_lists() {
        let with = |kubernetes: &str, version: &str| {
            let mut worker = node("w", Role::Worker, OsFamily::Linux);
            pin(&mut worker, ComponentName::Containerd, version);
            rules(&spec(kubernetes, vec![worker]), &linux())
        };
        assert_eq!(with("1.36.3", "2.1.9"), ["containerd"]);
        assert_eq!(with("1.36.3", "2.3.0-rc.1"), [""; 0]);
        assert_eq!(with("1.34.4", "1.7.28"), [""; 0]);
        assert_eq!(with("1.34.4", "2.1.2"), ["containerd"]);
        assert_eq!(with("1.37.0", "1.7.28"), ["runtime-config", "containerd"]);
    }

    #[test]
    fn a_finding_becomes_an_error_that_says_what_to_do_and_where_it_is_written() {
        let mut worker = node("w", Role::Worker, OsFamily::Linux);
        pin(&mut worker, ComponentName::Containerd, "2.1.9");
        let found = check(&spec("1.36.3", vec![worker]), &BTreeMap::new()).unwrap().remove(0);
        let error = Error::from(found);
        assert!(
            error.to_string().starts_with("w: containerd 2.1.9 does not go with Kubernetes 1.36.3"),
            "{error}"
        );
        assert!(error.hints[1].contains("https://"), "{error:?}");
    }
}

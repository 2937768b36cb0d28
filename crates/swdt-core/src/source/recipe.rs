//! What each piece consists of and how it is made: one visible list.

use std::fmt;

use semver::Version;
use serde::{Deserialize, Serialize};

use crate::spec::{ComponentName, OsFamily, Platform};

/// Something that can be resolved: a component, or what goes with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Piece {
    /// A component of a cluster.
    Component(ComponentName),
    /// Flannel's CNI plugin, which has versions of its own.
    FlannelPlugin,
    /// The program inside the images of upstream's tests and of the smoke test.
    Agnhost,
    /// Upstream's own tests of a whole cluster; only where somebody asks for it.
    E2e,
}

impl Piece {
    /// Every piece.
    pub fn all() -> impl Iterator<Item = Self> {
        let components = ComponentName::ALL.iter().copied().map(Self::Component);
        components.chain([Self::FlannelPlugin, Self::Agnhost, Self::E2e])
    }

    /// The piece of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|piece| piece.as_str() == name)
    }

    /// Has it programs for a platform?
    pub fn is_for(self, platform: Platform) -> bool {
        recipe(self).programs(platform).next().is_some()
    }

    /// The names of its programs' files on a platform: `kubelet.exe`.
    pub fn files(self, platform: Platform) -> Vec<String> {
        recipe(self).programs(platform).map(|program| program.file(platform)).collect()
    }

    /// Its name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Component(name) => name.as_str(),
            Self::FlannelPlugin => "flannel-plugin",
            Self::Agnhost => "agnhost",
            Self::E2e => "e2e",
        }
    }
}

impl From<ComponentName> for Piece {
    fn from(name: ComponentName) -> Self {
        Self::Component(name)
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One program of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    /// Its name, without `.exe`.
    pub(super) name: &'static str,
    /// Its Go package: a path below the module, empty for the module itself.
    pub(super) package: &'static str,
    /// The only system it is for.
    pub(super) only: Option<OsFamily>,
    /// A program of tests: `go test -c` makes it.
    pub(super) tests: bool,
}

/// How programs are made from source.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made {
    /// By `go build` from this module.
    Go(Module),
    /// By `go build` from the few lines that swdt carries.
    Own(&'static str),
    /// Not by us: the package of this name on the node's system serves it. And why.
    Package(&'static str, &'static str),
}

/// A Go module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Module {
    /// Its path.
    pub(super) path: &'static str,
    /// Where its source tree lies, for whoever asks for a branch or a commit.
    pub(super) repository: &'static str,
    /// Its directory in that tree.
    pub(super) directory: &'static str,
    /// Needs a C compiler on Linux.
    pub(super) cgo: bool,
    /// Minutes that all of its programs take on two processors when nothing is compiled yet.
    pub(super) minutes: u32,
    /// MiB that they need on disk then: modules, what is compiled, the programs themselves.
    pub(super) mib: u64,
    /// Flags for the linker, so that a program knows its version.
    pub(super) stamp: fn(&Version) -> String,
}

/// A piece: its programs and how they are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    pub(super) made: Made,
    pub(super) programs: &'static [Program],
}

impl Recipe {
    /// The programs for a platform.
    pub(super) fn programs(&self, platform: Platform) -> impl Iterator<Item = &'static Program> {
        self.programs.iter().filter(move |program| program.only.is_none_or(|os| os == platform.os()))
    }
}

impl Program {
    /// The name of its file on a platform.
    pub(super) fn file(&self, platform: Platform) -> String {
        executable(self.name, platform)
    }

    /// Its Go import path.
    pub(super) fn import(&self, module: &str) -> String {
        match self.package {
            "" => module.to_owned(),
            below => format!("{module}/{below}"),
        }
    }

    /// What `go build` calls its file: the last element of the import path that is no major version.
    pub(super) fn built_as(&self, module: &str, platform: Platform) -> String {
        let import = self.import(module);
        let is_major = |word: &&str| {
            word.strip_prefix('v')
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let name = import.rsplit('/').find(|word| !is_major(word)).unwrap_or_default();
        executable(name, platform)
    }
}

fn executable(name: &str, platform: Platform) -> String {
    match platform.os() {
        OsFamily::Linux => name.to_owned(),
        OsFamily::Windows => format!("{name}.exe"),
    }
}

const fn program(name: &'static str, package: &'static str) -> Program {
    Program { name, package, only: None, tests: false }
}

const fn on(os: OsFamily, name: &'static str, package: &'static str) -> Program {
    Program { name, package, only: Some(os), tests: false }
}

const KUBERNETES: Module = Module {
    path: "k8s.io/kubernetes",
    repository: "https://github.com/kubernetes/kubernetes",
    directory: "",
    cgo: false,
    minutes: 9,
    mib: 6000,
    stamp: kubernetes_stamp,
};

const CNI: Module = Module {
    path: "github.com/containernetworking/plugins",
    repository: "https://github.com/containernetworking/plugins",
    directory: "",
    cgo: false,
    minutes: 1,
    mib: 400,
    stamp: |version| {
        format!("-X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v{version}")
    },
};

const CONTAINERD: Module = Module {
    path: "github.com/containerd/containerd/v2",
    repository: "https://github.com/containerd/containerd",
    directory: "",
    cgo: false,
    minutes: 2,
    mib: 1500,
    stamp: |version| format!("-X github.com/containerd/containerd/v2/version.Version=v{version}"),
};

// Not at the version that containerd's go.mod names: 0.15 needs a module that the proxy does not serve.
const HCSSHIM: Module = Module {
    path: "github.com/Microsoft/hcsshim",
    repository: "https://github.com/microsoft/hcsshim",
    directory: "",
    cgo: false,
    minutes: 1,
    mib: 800,
    stamp: |version| format!("-X main.version={version}"),
};

const ETCD: Module = Module {
    path: "go.etcd.io/etcd/server/v3",
    repository: "https://github.com/etcd-io/etcd",
    directory: "server",
    cgo: false,
    minutes: 2,
    mib: 1000,
    stamp: |_| String::new(),
};

const COREDNS: Module = Module {
    path: "github.com/coredns/coredns",
    repository: "https://github.com/coredns/coredns",
    directory: "",
    cgo: false,
    minutes: 4,
    mib: 2000,
    stamp: |_| String::new(),
};

// Its Linux half talks to IPsec's charon and udp_tunnel through C.
const FLANNEL: Module = Module {
    path: "github.com/flannel-io/flannel",
    repository: "https://github.com/flannel-io/flannel",
    directory: "",
    cgo: true,
    minutes: 2,
    mib: 1500,
    stamp: |version| format!("-X github.com/flannel-io/flannel/pkg/version.Version=v{version}"),
};

const CRI_TOOLS: Module = Module {
    path: "sigs.k8s.io/cri-tools",
    repository: "https://github.com/kubernetes-sigs/cri-tools",
    directory: "",
    cgo: false,
    minutes: 1,
    mib: 800,
    stamp: |version| format!("-X sigs.k8s.io/cri-tools/pkg/version.Version=v{version}"),
};

/// Programs that live as long as the program itself.
macro_rules! list {
    ($($program:expr),* $(,)?) => { const { &[$($program),*] } };
}

/// How a piece is made.
pub(super) fn recipe(piece: Piece) -> Recipe {
    use ComponentName as C;
    use OsFamily::{Linux, Windows};
    let (made, programs): (Made, &'static [Program]) = match piece {
        Piece::Component(C::Kubeadm) => (Made::Go(KUBERNETES), list![program("kubeadm", "cmd/kubeadm")]),
        Piece::Component(C::Kubelet) => (Made::Go(KUBERNETES), list![program("kubelet", "cmd/kubelet")]),
        Piece::Component(C::Kubectl) => (Made::Go(KUBERNETES), list![program("kubectl", "cmd/kubectl")]),
        Piece::Component(C::KubeProxy) => {
            (Made::Go(KUBERNETES), list![program("kube-proxy", "cmd/kube-proxy")])
        }
        Piece::Component(C::KubeApiserver) => {
            (Made::Go(KUBERNETES), list![program("kube-apiserver", "cmd/kube-apiserver")])
        }
        Piece::Component(C::KubeControllerManager) => {
            (Made::Go(KUBERNETES), list![program("kube-controller-manager", "cmd/kube-controller-manager")])
        }
        Piece::Component(C::KubeScheduler) => {
            (Made::Go(KUBERNETES), list![program("kube-scheduler", "cmd/kube-scheduler")])
        }
        Piece::Component(C::Etcd) => (Made::Go(ETCD), list![program("etcd", "")]),
        Piece::Component(C::Coredns) => (Made::Go(COREDNS), list![program("coredns", "")]),
        Piece::Component(C::Pause) => (Made::Own(include_str!("pause.go")), list![on(Linux, "pause", "")]),
        Piece::Component(C::Containerd) => (
            Made::Go(CONTAINERD),
            list![
                program("containerd", "cmd/containerd"),
                program("ctr", "cmd/ctr"),
                on(Linux, "containerd-shim-runc-v2", "cmd/containerd-shim-runc-v2"),
            ],
        ),
        Piece::Component(C::Hcsshim) => (
            Made::Go(HCSSHIM),
            list![on(Windows, "containerd-shim-runhcs-v1", "cmd/containerd-shim-runhcs-v1")],
        ),
        Piece::Component(C::Runc) => (
            Made::Package("runc", "building runc needs a C compiler and libseccomp for the node's system"),
            list![on(Linux, "runc", "")],
        ),
        Piece::Component(C::Crictl) => (Made::Go(CRI_TOOLS), list![program("crictl", "cmd/crictl")]),
        Piece::Component(C::CniPlugins) => (
            Made::Go(CNI),
            list![
                on(Linux, "bridge", "plugins/main/bridge"),
                on(Linux, "loopback", "plugins/main/loopback"),
                on(Linux, "portmap", "plugins/meta/portmap"),
                on(Windows, "win-bridge", "plugins/main/windows/win-bridge"),
                on(Windows, "win-overlay", "plugins/main/windows/win-overlay"),
                program("host-local", "plugins/ipam/host-local"),
            ],
        ),
        Piece::Component(C::Flannel) => (Made::Go(FLANNEL), list![program("flanneld", "")]),
        // flannel-io/cni-plugin is not in the module proxy; the same plugin lived here until 0.9.
        Piece::FlannelPlugin => (Made::Go(CNI), list![program("flannel", "plugins/meta/flannel")]),
        Piece::Agnhost => (Made::Go(KUBERNETES), list![program("agnhost", "test/images/agnhost")]),
        // Runs where kubectl runs, so never on Windows.
        Piece::E2e => {
            (Made::Go(KUBERNETES), list![Program { tests: true, ..on(Linux, "e2e.test", "test/e2e") }])
        }
    };
    Recipe { made, programs }
}

/// Without these kubeadm believes to be v0.0.0 and refuses to work.
fn kubernetes_stamp(version: &Version) -> String {
    let (major, minor) = (version.major, version.minor);
    ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]
        .map(|at| {
            format!(
                "-X {at}.gitVersion=v{version} -X {at}.gitMajor={major} -X {at}.gitMinor={minor} \
                 -X {at}.gitTreeState=clean -X {at}.gitCommit=unknown"
            )
        })
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_the_names_that_go_gives_them() {
        let etcd = recipe(Piece::Component(ComponentName::Etcd));
        let program = etcd.programs(Platform::LinuxAmd64).next().unwrap();
        assert_eq!(program.built_as("go.etcd.io/etcd/server/v3", Platform::LinuxAmd64), "server");
        assert_eq!(program.file(Platform::WindowsAmd64), "etcd.exe");
    }

    #[test]
    fn every_piece_has_programs_for_some_platform_and_no_name_twice() {
        let mut names = Vec::new();
        for piece in Piece::all() {
            let recipe = recipe(piece);
            assert!(!recipe.programs.is_empty(), "{piece}");
            names.extend(recipe.programs.iter().map(|program| program.name));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

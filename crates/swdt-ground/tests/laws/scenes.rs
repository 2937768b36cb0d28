//! What is made true on a machine, and what is there before.

use swdt_core::Result;
use swdt_ground::{NodeHalf, TestMachine};
use swdt_wire::{
    Archive, ArchiveFormat, ClientConfig, Content, Dir, EnvPath, File, Firewall, Hostname, KernelModule,
    Kind, Line, Package, PortRange, Protocol, Resource, Secret, Service, Swap, Sysctl, Traces,
};

/// Resources that belong together, and their surroundings.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// A shell script that makes the machine as the scene begins.
    before: &'static str,
    pub(crate) resources: Vec<Resource>,
    /// Bytes that the resources name.
    blobs: Vec<Vec<u8>>,
    /// A shell script that fails if the resources are not true, by other means than ours.
    look: &'static str,
    /// A shell script that takes the scene away.
    after: &'static str,
}

impl Scene {
    /// The same, with bytes that its resources name.
    pub(crate) fn with_blob(mut self, bytes: Vec<u8>) -> Self {
        self.blobs.push(bytes);
        self
    }

    pub(crate) async fn set(&self, machine: &TestMachine) -> Result<()> {
        machine.must(["sh", "-ec", self.before]).await.map(drop)
    }

    pub(crate) async fn clear(&self, machine: &TestMachine) -> Result<()> {
        machine.must(["sh", "-ec", self.after]).await.map(drop)
    }

    pub(crate) async fn look(&self, machine: &TestMachine) -> Result<()> {
        let done = machine.exec(["sh", "-exc", self.look]).await?;
        assert_eq!(done.code, Some(0), "{}: {}{}", self.name, done.stdout, done.stderr);
        Ok(())
    }

    pub(crate) async fn send_blobs(&self, node: &NodeHalf) -> Result<()> {
        for bytes in &self.blobs {
            node.put(bytes).await?;
        }
        Ok(())
    }
}

pub(crate) fn scene(name: &'static str, before: &'static str, kinds: Vec<Kind>, look: &'static str) -> Scene {
    let id = |(number, kind)| Resource::new(format!("{name}/{number}"), kind);
    let resources = kinds.into_iter().enumerate().map(id).collect();
    Scene { name, before, resources, blobs: Vec::new(), look, after: "" }
}

/// At least one of every kind, on a plain machine.
pub(crate) fn of_every_kind() -> Vec<Scene> {
    vec![
        files(),
        scene(
            "dirs",
            "mkdir -p /opt/was; chmod 710 /opt/was; chown daemon:daemon /opt/was; touch /opt/was/theirs",
            vec![dir("/opt/was", 0o755), dir("/srv/new/and/deep", 0o700)],
            "test \"$(stat -c %a%U /opt/was /srv/new/and/deep | tr '\\n' ' ')\" = '755root 700root '",
        ),
        archive(),
        scene(
            "lines",
            "printf '127.0.0.1 localhost' > /etc/hosts",
            vec![line("/etc/hosts", "192.0.2.7 cp1 # swdt laws"), line("/etc/swdt-new/lines", "one")],
            "test \"$(cat /etc/hosts)\" = \"$(printf '127.0.0.1 localhost\\n192.0.2.7 cp1 # swdt laws')\"",
        ),
        scene(
            "hostname",
            "",
            vec![Kind::Hostname(Hostname { name: "cp1.laws".into() })],
            "test \"$(hostname)\" = cp1.laws; test \"$(cat /etc/hostname)\" = cp1.laws",
        ),
        scene(
            "sysctl",
            "sysctl -qw net.ipv4.conf.all.log_martians=0",
            vec![sysctl("net.ipv4.conf.all.log_martians", "1")],
            "test \"$(sysctl -n net.ipv4.conf.all.log_martians)\" = 1; sysctl --system 2>&1 | grep log_martians.*1",
        ),
        // Modules are the host's kernel's, and nspawn does not even show them. So the machine is told that one
        // is built in, and only the file is made; loading and unloading are not tried, for all machines of the
        // host would feel it.
        scene(
            "kernel-module",
            "mkdir -p /lib/modules; mount -t tmpfs none /lib/modules; mkdir /lib/modules/$(uname -r)
             echo kernel/fs/overlayfs/overlay.ko > /lib/modules/$(uname -r)/modules.builtin",
            vec![Kind::KernelModule(KernelModule { name: "overlay".into() })],
            "grep -qx overlay /etc/modules-load.d/swdt-overlay.conf",
        ),
        // Swap in use is the host's as well, and swapoff inside would take it from everybody. So the machine
        // sees none in use; fstab, units and the generator of zram are its own.
        scene(
            "swap",
            "printf 'Filename\\tType\\tSize\\tUsed\\tPriority\\n' > /run/no-swaps; mount --bind /run/no-swaps /proc/swaps
             printf '/swapfile none swap noauto 0 0\\n# theirs\\n' > /etc/fstab
             printf '[Swap]\\nWhat=/swapfile2\\n' > /etc/systemd/system/swapfile2.swap
             printf '[zram0]\\nzram-size = ram\\n' > /etc/systemd/zram-generator.conf; systemctl daemon-reload",
            vec![Kind::Swap(Swap {})],
            "! grep -v ^# /etc/fstab; test \"$(systemctl is-enabled swapfile2.swap)\" = masked
             ! grep '^[[]' /etc/systemd/zram-generator.conf",
        ),
        scene("packages", LOCAL_DEBS, vec![package(&["laws-a"])], "dpkg-query -W laws-a laws-b; cat /etc/laws-b.conf"),
        // What is put on the disk first and then run, as most services are.
        scene(
            "service",
            "",
            vec![
                text(UNIT, 0o644, "[Service]\nExecStart=sleep 2000\n[Install]\nWantedBy=multi-user.target\n"),
                service("ours.service", &[UNIT]),
            ],
            "systemctl is-active ours; systemctl is-enabled ours",
        ),
        scene(
            "nftables",
            "nft -f - <<'END'
table inet mine {
 chain in {
  type filter hook input priority 0; policy drop;
  ct state established,related accept
  iif lo accept
  tcp dport { 22, 10250 } accept
 }
}
END",
            vec![ports()],
            "nft list chain inet mine in | grep 'dport 6443 accept'; nft list chain inet mine in | grep 'dport 30000-32767 accept'",
        ),
        // The look is the program that leaves something; the file is something to be killed at.
        scene(
            "traces",
            "mkdir -p /srv/tool/theirs; chmod 751 /srv/tool; sysctl -qw net.ipv4.conf.all.shared_media=1",
            vec![
                Kind::Traces(Traces {
                    of: "tool".into(),
                    dirs: vec!["/srv/tool".into(), "/srv/other/tool".into()],
                    sysctls: vec!["net.ipv4.conf.all.shared_media".into()],
                }),
                text("/srv/tool/config", 0o644, "ours\n"),
            ],
            "chmod 700 /srv/tool; mkdir -p /srv/tool/left/deep /srv/other/tool/deep; touch /srv/tool/left/file
             sysctl -qw net.ipv4.conf.all.shared_media=0",
        ),
        scene(
            "env-path",
            "",
            vec![Kind::EnvPath(EnvPath { dir: "/opt/laws/bin".into() })],
            "bash -lc 'echo $PATH' | grep /opt/laws/bin",
        ),
        scene(
            "kubeconfig",
            "true",
            vec![client_config("/etc/laws/kubeconfig")],
            "grep -q api.example /etc/laws/kubeconfig; test $(stat -c %a /etc/laws/kubeconfig) = 600",
        ),
    ]
}

/// What a plain machine has not, on one that has it.
pub(crate) fn of_other_tools() -> Vec<Scene> {
    let ufw = scene(
        "ufw",
        "ufw --force reset >/dev/null; rm -f /etc/ufw/*.rules.2*; ufw allow 22/tcp; ufw allow 10250/tcp; ufw --force enable",
        vec![ports()],
        "",
    );
    let firewalld = scene(
        "firewalld",
        "systemctl start firewalld; firewall-cmd --add-port=10250/tcp",
        vec![one_port()],
        "",
    );
    vec![
        Scene { after: "ufw --force disable; nft flush ruleset", ..ufw },
        Scene { after: "systemctl stop firewalld; nft flush ruleset", ..firewalld },
        // The repository of the cases is still there, and apt is not.
        scene(
            "dnf",
            "sed -i s,^baseurl.*,baseurl=file:///srv/swdt/rpm, /etc/yum.repos.d/swdt.repo",
            vec![package(&["swdt-a"])],
            "",
        ),
    ]
}

const UNIT: &str = "/etc/systemd/system/ours.service";

/// Two packages and a repository of them, which is the only one.
const LOCAL_DEBS: &str = r#"
deb() {
  d=/tmp/$1; mkdir -p $d/DEBIAN $d/usr/share/$1 $d/etc /srv/deb
  printf 'Package: %s\nVersion: 1.0\nArchitecture: all\nMaintainer: none <none@example.org>\nDescription: test\n%s' "$1" "$2" > $d/DEBIAN/control
  echo hello > $d/usr/share/$1/hello; echo setting=1 > $d/etc/$1.conf; echo /etc/$1.conf > $d/DEBIAN/conffiles
  dpkg-deb --root-owner-group -b $d /srv/deb/$1.deb; rm -r $d
}
deb laws-a 'Depends: laws-b
'
deb laws-b ''
cd /srv/deb
for f in *.deb; do
  dpkg-deb -f $f; printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' $f $(stat -c %s $f) $(sha256sum $f | cut -d' ' -f1)
done > Packages
rm -rf /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] file:/srv/deb ./' > /etc/apt/sources.list
apt-get -q update
"#;

fn files() -> Scene {
    let bytes = vec![0xa5; 300_000];
    let blob = Content::Blob(swdt_ground::blob(&bytes));
    let secret = Content::Secret(Secret::new("hush\n"));
    let kinds = vec![
        text("/etc/was.conf", 0o644, "ours\n"),
        file("/etc/new/dir/secret", 0o600, secret),
        file("/usr/local/bin/tool", 0o755, blob),
    ];
    let before = "printf theirs > /etc/was.conf; chmod 640 /etc/was.conf; chown daemon:adm /etc/was.conf
                  ln -s ../../../etc/was.conf /usr/local/bin/tool";
    let look = "test \"$(cat /etc/was.conf)\" = ours; test \"$(stat -c %a%U%G /etc/was.conf)\" = 644rootroot
                test \"$(cat /etc/new/dir/secret)\" = hush; test ! -L /usr/local/bin/tool
                test $(stat -c %s /usr/local/bin/tool) = 300000; ! grep -r hush /var/lib/swdt";
    scene("files", before, kinds, look).with_blob(bytes)
}

/// An archive of three files, as bytes.
pub(crate) fn packed() -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, mode) in [("top/bin/one", 0o755), ("top/bin/two", 0o755), ("top/readme", 0o644)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(name.len() as u64);
        header.set_mode(mode);
        tar.append_data(&mut header, name, name.as_bytes()).expect("memory is written to");
    }
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).expect("memory is written to")
}

fn archive() -> Scene {
    let bytes = packed();
    let archive = Archive {
        blob: swdt_ground::blob(&bytes),
        format: ArchiveFormat::TarGz,
        into: "/opt/archive".into(),
        strip: 1,
        only: vec!["bin".into()],
    };
    let before =
        "mkdir -p /opt/archive/bin; echo theirs > /opt/archive/bin/one; chmod 700 /opt/archive/bin/one";
    let look = "test \"$(cat /opt/archive/bin/one)\" = top/bin/one; test -x /opt/archive/bin/two; test ! -e /opt/archive/readme";
    scene("archive", before, vec![Kind::Archive(archive)], look).with_blob(bytes)
}

pub(crate) fn file(path: &str, mode: u32, content: Content) -> Kind {
    Kind::File(File { path: path.into(), content, mode })
}

pub(crate) fn text(path: &str, mode: u32, text: &str) -> Kind {
    file(path, mode, Content::Text(text.into()))
}

pub(crate) fn dir(path: &str, mode: u32) -> Kind {
    Kind::Dir(Dir { path: path.into(), mode })
}

pub(crate) fn line(path: &str, line: &str) -> Kind {
    Kind::Line(Line { path: path.into(), line: line.into() })
}

fn sysctl(key: &str, value: &str) -> Kind {
    Kind::Sysctl(Sysctl { key: key.into(), value: value.into() })
}

fn package(names: &[&str]) -> Kind {
    Kind::Package(Package { names: names.iter().map(|&name| name.into()).collect() })
}

fn service(name: &str, newer_than: &[&str]) -> Kind {
    let newer_than = newer_than.iter().map(|&path| path.into()).collect();
    Kind::Service(Service { name: name.into(), enabled: true, running: true, newer_than })
}

/// One that scenes have open, and one of each protocol that they have not.
pub(crate) fn ports() -> Kind {
    let range = |protocol, from, to| PortRange { protocol, from, to };
    let (one, open) = (range(Protocol::Tcp, 6443, 6443), range(Protocol::Tcp, 10250, 10250));
    Kind::Firewall(Firewall { ports: vec![one, open, range(Protocol::Udp, 30000, 32767)] })
}

/// Every word to firewalld takes a second, twice a port: one closed port is enough.
fn one_port() -> Kind {
    Kind::Firewall(Firewall { ports: vec![PortRange { protocol: Protocol::Tcp, from: 6443, to: 6443 }] })
}

/// A kubeconfig whose token ends in the year 2100.
pub(crate) fn client_config(path: &str) -> Kind {
    Kind::ClientConfig(ClientConfig {
        path: path.into(),
        server: "https://api.example:6443".into(),
        authority: "Q0E=".into(),
        namespace: "kube-system".into(),
        account: "laws".into(),
        token: Some(Secret::new("e30.eyJleHAiOjQxMDI0NDQ4MDB9.c2ln")),
        renew_days: 30,
    })
}

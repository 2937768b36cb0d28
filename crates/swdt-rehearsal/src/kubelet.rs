//! The kubelet of a rehearsal: the released one but for two lines that Wine cannot bear.

use swdt_core::source::Patch;

/// The changes; `docs/ground.md` lists them.
pub const PATCHES: &[Patch] = &[
    // Wine 10 has no AF_UNIX, and a kubelet that cannot listen for device plugins ends itself.
    Patch {
        module: "k8s.io/kubernetes",
        file: "pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go",
        old: r#"net.Listen("unix", s.SocketPath())"#,
        new: r#"net.Listen("tcp", "127.0.0.1:0")"#,
    },
    // Wine 10 has no symbolic links, and the link to the current certificate must be one. A copy serves as well, and
    // the next certificate replaces it.
    Patch {
        module: "k8s.io/client-go",
        file: "util/certificate/certificate_store.go",
        old: "if err := s.updateSymlink(certPath); err != nil {",
        new: "if pair, err := os.ReadFile(certPath); err != nil { return nil, err } else if err := os.WriteFile(\
              filepath.Join(s.certDirectory, s.filename(currentPair)), pair, 0600); err != nil {",
    },
];

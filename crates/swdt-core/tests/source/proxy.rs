//! A Go module proxy on loopback: small modules under great names, and what a proxy may do wrong.

use std::io::{Cursor, Write};

use swdt_core::{
    Error,
    source::{Artifact, Piece, Settings, Want, lock::Lock},
    spec::{ComponentName, Platform, Source},
};

use super::{Desk, build::keep_go, kubelet, server::Server, want};

const PLUGINS: &str = "github.com/containernetworking/plugins";

/// Puts a module of these files into the proxy.
fn publish(server: &Server, module: &str, version: &str, files: &[(&str, &str)]) {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let base = format!("/{module}/@v/{version}");
    for (name, text) in files {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(format!("{module}@{version}/{name}"), options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
        if *name == "go.mod" {
            server.put(&format!("{base}.mod"), text.as_bytes());
        }
    }
    server.put(&format!("{base}.zip"), &zip.finish().unwrap().into_inner());
    server.put(&format!("{base}.info"), format!(r#"{{"Version": "{version}"}}"#).as_bytes());
}

/// Go asks this proxy and nobody else, also not for checksums.
fn only(server: &Server) -> impl FnOnce(&mut Settings) {
    let proxy = server.url("");
    move |settings| {
        settings.go_env = [("GOPROXY", proxy.as_str()), ("GOSUMDB", "off")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    }
}

async fn resolve(desk: &Desk, server: &Server, want: &Want) -> Result<Vec<Artifact>, Error> {
    let sources = desk.sources_with(only(server));
    let supply = sources.resolve_one(want, &mut Lock::default()).await?;
    Ok(supply.programs().to_vec())
}

fn plugin(reference: &str) -> Want {
    let source = Source::Build { repository: None, reference: reference.into() };
    want(Piece::FlannelPlugin, "0.9.1", Some(source))
}

fn main(says: &str) -> String {
    format!("package main\n\nfunc main() {{ println(\"{says}\") }}\n")
}

#[tokio::test]
async fn a_tag_is_built_through_the_module_proxy_and_is_the_same_every_time() {
    let server = Server::start();
    let go_mod = format!("module {PLUGINS}\n\ngo 1.21\n");
    publish(
        &server,
        PLUGINS,
        "v0.9.1",
        &[("go.mod", &go_mod), ("plugins/meta/flannel/main.go", &main("plugin"))],
    );
    server.put(&format!("/{PLUGINS}/@v/list"), b"v0.9.0\nv0.9.1\n");
    let mut digests = Vec::new();
    for _ in 0..2 {
        let desk = Desk::new();
        keep_go(&desk);
        let found = resolve(&desk, &server, &plugin("v0.9.1")).await.unwrap();
        assert_eq!(found[0].name, "flannel");
        digests.push(found[0].sha256.clone());
        // The second time nothing is built.
        desk.said.lock().unwrap().clear();
        resolve(&desk, &server, &plugin("v0.9.1")).await.unwrap();
        assert!(!desk.said("building"));
    }
    assert_eq!(digests[0], digests[1]);

    let desk = Desk::new();
    keep_go(&desk);
    let error = resolve(&desk, &server, &plugin("v0.9.99")).await.unwrap_err();
    assert_eq!(error.id(), "version-unknown", "{error:?}");
    assert!(error.to_string().contains("knows no version 0.9.99 of"), "{error}");
    assert!(error.hints[0].contains("0.9.0, 0.9.1"), "{error:?}");
}

/// A tree as the module proxy gives it lacks its staging directories: what stands beside it is used, what does
/// not is the published module. This is how a patched kubelet is built for Windows.
#[tokio::test]
async fn an_unpacked_module_is_built_with_the_neighbours_it_has() {
    let (desk, server) = (Desk::new(), Server::start());
    keep_go(&desk);
    let library =
        |name: &str, says: &str| format!("package {name}\n\nfunc Says() string {{ return \"{says}\" }}\n");
    publish(
        &server,
        "k8s.io/api",
        "v0.36.3",
        &[("go.mod", "module k8s.io/api\n\ngo 1.21\n"), ("api.go", &library("api", "published"))],
    );
    desk.write(
        "src/go.mod",
        b"module k8s.io/kubernetes\n\ngo 1.21\n\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/client-go v0.0.0\n)\n\n\
          replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/client-go => ../client-go\n)\n",
    );
    desk.write(
        "src/cmd/kubelet/main.go",
        b"package main\n\nimport (\n\tapi \"k8s.io/api\"\n\tclient \"k8s.io/client-go\"\n)\n\n\
          func main() { print(api.Says() + \" and \" + client.Says()) }\n",
    );
    desk.write("client-go/go.mod", b"module k8s.io/client-go\n\ngo 1.21\n");
    let tree = Source::Checkout { path: desk.path().join("src") };
    for says in ["patched", "patched again"] {
        desk.write("client-go/client.go", library("client", says).as_bytes());
        let found = resolve(&desk, &server, &kubelet(tree.clone())).await.unwrap();
        let output = std::process::Command::new(&found[0].path).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("published and {says}"));
    }
    let windows = Want { platform: Platform::WindowsAmd64, ..kubelet(tree.clone()) };
    assert_eq!(resolve(&desk, &server, &windows).await.unwrap()[0].name, "kubelet.exe");
    let error =
        resolve(&desk, &server, &want(ComponentName::Coredns, "1.14.2", Some(tree))).await.unwrap_err();
    assert!(error.to_string().contains("is the module k8s.io/kubernetes, not github.com/coredns"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_answers_with_a_page_is_told() {
    let (desk, server) = (Desk::new(), Server::start());
    keep_go(&desk);
    server.put(&format!("/{PLUGINS}/@v/v0.9.1.info"), b"<!DOCTYPE html><title>Log in</title>");
    let error = resolve(&desk, &server, &plugin("v0.9.1")).await.unwrap_err();
    assert!(error.hints[0].contains("HTML page"), "{error:?}");
}

/// No Go on this host, and what the proxy gives instead is not the Go that is known: refused, nothing kept.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[tokio::test]
async fn a_toolchain_that_is_not_the_known_one_is_refused() {
    let (desk, server) = (Desk::new(), Server::start());
    let version = format!("v0.0.1-go{}.linux-amd64", swdt_core::catalog::toolchain().unwrap().version);
    publish(&server, "golang.org/toolchain", &version, &[("bin/go", "#!/bin/sh\nexit 0\n")]);
    let sources = desk.sources_with(|settings| {
        only(&server)(settings);
        settings.go = Some("/nonexistent/go".into());
    });
    let error = sources.resolve_one(&plugin("v0.9.1"), &mut Lock::default()).await.unwrap_err();
    assert!(error.to_string().contains("is not the Go that is known"), "{error}");
    assert!(desk.said("there is no Go on this host"));
    assert!(!desk.path().join("cache/go").join(version.trim_start_matches("v0.0.1-")).exists());
}

/// A compiler that meets a full disk, after the room looked enough.
#[cfg(unix)]
#[tokio::test]
async fn a_disk_that_fills_up_while_building_is_told_with_figures() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    let go = desk.write(
        "go",
        b"#!/bin/sh\ncase $1 in env) echo go1.26.8;; *) echo 'write x: no space left on device' >&2; exit 1;; esac\n",
    );
    std::fs::set_permissions(&go, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sources = desk.sources_with(|settings| settings.go = Some(go));
    let error = sources.resolve_one(&plugin("v0.9.1"), &mut Lock::default()).await.unwrap_err();
    assert_eq!(error.id(), "disk-full", "{error:?}");
    assert!(error.message.contains("is full; ") && error.message.contains("MiB are free now"), "{error}");
    assert!(error.hints.iter().any(|hint| hint.contains("swdt source prune")), "{error:?}");
}

/// What Go compiled is cut to the bound after a build.
#[tokio::test]
async fn compiled_packages_stay_within_their_bound() {
    let (desk, server) = (Desk::new(), Server::start());
    let go_mod = format!("module {PLUGINS}\n\ngo 1.21\n");
    publish(
        &server,
        PLUGINS,
        "v0.9.1",
        &[("go.mod", &go_mod), ("plugins/meta/flannel/main.go", &main("plugin"))],
    );
    let sources = desk.sources_with(|settings| {
        only(&server)(settings);
        settings.go_cache_mib = 1;
    });
    sources.resolve_one(&plugin("v0.9.1"), &mut Lock::default()).await.unwrap();
    assert!(desk.said("of what Go compiled; 1 MiB are kept"), "{:?}", desk.said);
}

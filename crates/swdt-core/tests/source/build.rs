//! `build` and `checkout`: real Go, small modules.

use std::{fs, process::Command, sync::OnceLock};

use swdt_core::{
    source::{Settings, Want, lock::Lock},
    spec::{ComponentName, Platform, Source},
};

use super::{Desk, kubelet, want};

/// What Go compiled is kept between tests. Modules are not: some of them are not what their names say.
pub(super) fn keep_go(desk: &Desk) {
    static MADE: OnceLock<std::path::PathBuf> = OnceLock::new();
    let kept = MADE.get_or_init(|| {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("source-go-build");
        fs::create_dir_all(&path).unwrap();
        path
    });
    fs::create_dir_all(desk.path().join("cache/go")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(kept, desk.path().join("cache/go/build")).unwrap();
}

/// A source tree that could be Kubernetes, but for its size.
fn tree(desk: &Desk, says: &str) -> Source {
    desk.write("src/go.mod", b"module k8s.io/kubernetes\n\ngo 1.21\n");
    let main = format!("package main\n\nimport \"fmt\"\n\nfunc main() {{ fmt.Println(\"{says}\") }}\n");
    desk.write("src/cmd/kubelet/main.go", main.as_bytes());
    Source::Checkout { path: desk.path().join("src") }
}

#[tokio::test]
async fn a_source_tree_is_built_and_again_when_it_changed() {
    let desk = Desk::new();
    keep_go(&desk);
    let run = async |says: &str| {
        let found = desk.resolve(&kubelet(tree(&desk, says))).await.unwrap().remove(0);
        let output = Command::new(&found.path).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), says);
        found
    };
    let one = run("one").await;
    assert!(desk.said("building kubelet"));
    // Not touched: not built.
    desk.said.lock().unwrap().clear();
    let source = Source::Checkout { path: desk.path().join("src") };
    assert_eq!(desk.resolve(&kubelet(source)).await.unwrap()[0].sha256, one.sha256);
    assert!(!desk.said("building"));
    let two = run("a longer word").await;
    assert_ne!(one.sha256, two.sha256);
}

#[tokio::test]
async fn a_source_tree_is_built_for_windows() {
    let desk = Desk::new();
    keep_go(&desk);
    let want = Want { platform: Platform::WindowsAmd64, ..kubelet(tree(&desk, "windows")) };
    let found = desk.resolve(&want).await.unwrap();
    assert_eq!(found[0].name, "kubelet.exe");
    assert!(fs::read(&found[0].path).unwrap().starts_with(b"MZ"));
}

#[tokio::test]
async fn a_source_tree_that_does_not_compile_fails_with_the_compilers_words() {
    let desk = Desk::new();
    keep_go(&desk);
    let source = tree(&desk, "one");
    desk.write("src/cmd/kubelet/main.go", b"package main\n\nfunc main() { nonsense() }\n");
    let error = desk.resolve(&kubelet(source)).await.unwrap_err();
    assert!(error.output.iter().any(|line| line.contains("undefined: nonsense")), "{error:?}");
}

/// A branch is fetched with git and built; through a repository on this host.
#[tokio::test]
async fn a_branch_of_a_repository_is_built() {
    let desk = Desk::new();
    keep_go(&desk);
    tree(&desk, "branch");
    let repository = desk.path().join("src");
    for args in [
        &["init", "--quiet", "--initial-branch=feature"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x"],
    ] {
        assert!(Command::new("git").arg("-C").arg(&repository).args(args).status().unwrap().success());
    }
    let build = |reference: &str| {
        let repository = Some(repository.display().to_string());
        kubelet(Source::Build { repository, reference: reference.into() })
    };
    let found = desk.resolve(&build("feature")).await.unwrap();
    assert!(found[0].from.contains("at feature"), "{}", found[0].from);
    let error = desk.resolve(&build("nothing")).await.unwrap_err();
    assert!(error.hints[0].contains("`nothing` a tag, branch or commit"), "{error:?}");
    let error = desk.resolve(&build("--upload-pack=x")).await.unwrap_err();
    assert!(error.to_string().contains("neither a repository nor a revision"), "{error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn pause_is_our_own_and_ends_when_asked() {
    let desk = Desk::new();
    keep_go(&desk);
    let found = desk.resolve(&want(ComponentName::Pause, "3.10.2", None)).await.unwrap();
    // Whoever asks before it listens kills it; a slow machine gets more time.
    let ended_well = (0..6).any(|attempt| {
        let mut pause = Command::new(&found[0].path).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50 << attempt));
        assert!(pause.try_wait().unwrap().is_none());
        assert!(Command::new("kill").arg(pause.id().to_string()).status().unwrap().success());
        pause.wait().unwrap().code() == Some(0)
    });
    assert!(ended_well);
}

#[tokio::test]
#[ignore = "downloads a Go toolchain of 70 MB"]
async fn a_host_without_go_gets_one_that_is_checked() {
    let desk = Desk::new();
    let sources = desk.sources_with(|settings: &mut Settings| settings.go = Some("/nonexistent/go".into()));
    let supply = sources.resolve_one(&kubelet(tree(&desk, "fetched")), &mut Lock::default()).await.unwrap();
    let output = Command::new(&supply.programs()[0].path).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "fetched");
    assert!(desk.said("there is no Go on this host"));
}

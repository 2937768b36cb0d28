//! Sources as their users see them: what is asked for, what comes, what is said, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod build;
mod download;
mod local;
mod lock;
mod proxy;
mod server;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use sha2::{Digest, Sha256};
use swdt_core::{
    Error,
    event::{EventKind, Reporter},
    source::{Artifact, Piece, Settings, Sources, Supply, Want, lock::Lock},
    spec::{ComponentName, Platform, Source},
};

/// A cache of its own, and everything that is said.
struct Desk {
    dir: tempfile::TempDir,
    said: Arc<Mutex<Vec<String>>>,
}

impl Desk {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), said: Arc::default() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn sources(&self) -> Sources {
        self.sources_with(|_| ())
    }

    fn sources_with(&self, change: impl FnOnce(&mut Settings)) -> Sources {
        let mut settings = Settings::new(self.path().join("cache"));
        change(&mut settings);
        let said = self.said.clone();
        let reporter = Reporter::new(move |_, kind| {
            if let EventKind::Doing { what: text } | EventKind::Warning { message: text } = kind {
                said.lock().unwrap().push(text);
            }
        });
        Sources::new(settings, reporter).unwrap()
    }

    /// Resolves one want, with a lock of its own.
    async fn resolve(&self, want: &Want) -> Result<Vec<Artifact>, Error> {
        let supply = self.sources().resolve_one(want, &mut Lock::default()).await?;
        Ok(supply.programs().to_vec())
    }

    fn said(&self, word: &str) -> bool {
        self.said.lock().unwrap().iter().any(|line| line.contains(word))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn want(piece: impl Into<Piece>, version: &str, source: Option<Source>) -> Want {
    Want { piece: piece.into(), platform: Platform::LinuxAmd64, version: version.parse().unwrap(), source }
}

fn kubelet(source: Source) -> Want {
    want(ComponentName::Kubelet, "1.36.3", Some(source))
}

/// What looks like a program for Linux on x86-64.
fn program(text: &str) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..4].copy_from_slice(b"\x7fELF");
    (bytes[16], bytes[18]) = (2, 62);
    bytes.extend(text.as_bytes());
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// runc cannot be built here, and no server can be reached: the node's own package serves, and it is said why.
#[tokio::test]
async fn where_nothing_else_serves_runc_the_package_of_the_node_does() {
    let desk = Desk::new();
    // A proxy that is not there: nothing outside is asked.
    let sources = desk.sources_with(|settings| settings.proxy = Some("http://127.0.0.1:9".into()));
    let want = want(ComponentName::Runc, "1.5.2", None);
    let mut lock = Lock::default();
    let supply = sources.resolve_one(&want, &mut lock).await.unwrap();
    let Supply::Package { name, why } = &supply else { panic!("{supply:?}") };
    assert_eq!(*name, "runc");
    assert!(why.contains("github.com cannot be reached"), "{why}");
    assert!(desk.said("the node's own package `runc` is used"));
    // Pinned: a later run asks nobody.
    desk.said.lock().unwrap().clear();
    assert_eq!(desk.sources().resolve_one(&want, &mut lock).await.unwrap(), supply);
    assert!(desk.said.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_cannot_be_built_and_was_named_so_fails() {
    let desk = Desk::new();
    let source = Source::Build { repository: None, reference: "v1.5.2".into() };
    let error = desk.resolve(&want(ComponentName::Runc, "1.5.2", Some(source))).await.unwrap_err();
    assert!(error.to_string().contains("runc cannot be built here"), "{error}");
    assert!(error.hints[0].contains("package `runc`"), "{error:?}");
}

#[tokio::test]
async fn a_platform_without_programs_is_told() {
    let desk = Desk::new();
    let want = Want { platform: Platform::WindowsAmd64, ..want(ComponentName::Pause, "3.10.2", None) };
    let error = desk.resolve(&want).await.unwrap_err();
    assert!(error.to_string().contains("pause has no programs for windows/amd64"), "{error}");
}

/// All problems at once, and before anything is built.
#[tokio::test]
async fn every_want_that_fails_is_told() {
    let desk = Desk::new();
    let nowhere = |name: &str| Source::Checkout { path: desk.path().join(name) };
    let wants = [kubelet(nowhere("a")), want(ComponentName::Etcd, "3.6.8", Some(nowhere("b")))];
    let error = desk.sources().resolve(&wants, &mut Lock::default()).await.unwrap_err();
    assert_eq!(error.others.len(), 1, "{error:?}");
}

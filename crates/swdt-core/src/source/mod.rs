//! Where bytes come from: one file a source, a content-addressed cache under all of them.
//!
//! | source | gives |
//! |---|---|
//! | `bundle` | what was packed earlier, for use without a network |
//! | `release` | official downloads, checksums checked, resumed where they broke off |
//! | `build` | programs built through the Go module proxy, at any tag |
//! | `checkout` | programs built from a source tree on this host, again when it changed |
//! | `files`, `url` | the user's own build, from a file or a server |
//!
//! A source that the user named is used or fails; nothing shadows it. Where none is named the first of `bundle`,
//! `release` and `build` that can serve does, and it is said which and why the others could not.

mod binary;
mod build;
mod bundle;
mod cache;
mod checkout;
mod files;
mod go;
mod http;
pub mod image;
pub mod lock;
mod part;
mod recipe;
mod release;
mod resolve;
mod toolchain;
mod url;

use std::path::PathBuf;

use semver::Version;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

pub use bundle::write as write_bundle;
pub use cache::Cache;
use go::Go;
use http::Http;
use recipe::Made;
pub use recipe::Piece;

use crate::{
    Error, ErrorKind, Result,
    event::Reporter,
    spec::{Platform, Source},
};

/// What the sources need to know of the host; `swdt` reads it from the environment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The cache directory.
    pub cache: PathBuf,
    /// Bundles to look into where no source is named.
    pub bundles: Vec<PathBuf>,
    /// `HTTPS_PROXY`.
    pub proxy: Option<String>,
    /// `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// The first entry of `GOPROXY`, if it is an address.
    pub go_proxy: Option<String>,
    /// The installed Go; `go` when absent.
    pub go: Option<PathBuf>,
}

impl Settings {
    /// A cache directory, and the usual for everything else.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            cache: cache.into(),
            bundles: Vec::new(),
            proxy: None,
            no_proxy: None,
            go_proxy: None,
            go: None,
        }
    }
}

/// What is wanted: a piece in a version for a platform, from a source or from wherever it can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// What.
    pub piece: Piece,
    /// For which platform.
    pub platform: Platform,
    /// In which version.
    pub version: Version,
    /// From where; used or failed, when named.
    pub source: Option<Source>,
}

/// A program that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// The name of the program's file, `kubeadm`, `kubeadm.exe`.
    pub name: String,
    /// Where it lies on this host.
    pub path: PathBuf,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Where it came from, in words.
    pub from: String,
}

/// What serves a want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supply {
    /// Programs on this host, to be brought to the node.
    Programs(Vec<Artifact>),
    /// The package of this name on the node's own system; and why nothing better was found.
    Package {
        /// `runc`.
        name: &'static str,
        /// In words.
        why: String,
    },
}

impl Supply {
    /// The programs; none where a package serves.
    pub fn programs(&self) -> &[Artifact] {
        match self {
            Self::Programs(artifacts) => artifacts,
            Self::Package { .. } => &[],
        }
    }
}

/// All sources together. One for a run: it remembers which servers could not be reached.
#[derive(Debug)]
pub struct Sources {
    ctx: Context,
    bundles: Vec<PathBuf>,
}

/// What every source works with.
struct Context {
    cache: Cache,
    http: Http,
    reporter: Reporter,
    wanted: toolchain::Wanted,
    go: OnceCell<Go>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("cache", &self.cache).field("go", &self.go).finish_non_exhaustive()
    }
}

impl Context {
    /// The Go that builds everything; found or fetched at first use.
    async fn go(&self) -> Result<Go> {
        let found = self.go.get_or_try_init(|| Go::find(&self.cache, &self.wanted, &self.reporter)).await;
        found.cloned()
    }

    /// Its version, known before it is there.
    fn go_version(&self) -> &Version {
        &self.wanted.version
    }
}

impl Sources {
    /// The sources of this host.
    pub fn new(settings: Settings, reporter: Reporter) -> Result<Self> {
        let http = Http::new(settings.proxy.as_deref(), settings.no_proxy.as_deref())?;
        let toolchain = crate::catalog::toolchain()?;
        let wanted = toolchain::Wanted {
            program: settings.go.unwrap_or_else(|| "go".into()),
            version: toolchain.version.clone(),
            proxy: settings.go_proxy.unwrap_or_else(|| "https://proxy.golang.org".to_owned()),
            sums: toolchain.sums.clone(),
            http: http.clone(),
        };
        let cache = Cache::new(&settings.cache);
        let ctx = Context { cache, http, reporter, wanted, go: OnceCell::new() };
        Ok(Self { ctx, bundles: settings.bundles })
    }

    /// The store.
    pub fn cache(&self) -> &Cache {
        &self.ctx.cache
    }
}

/// Runs code that blocks where it disturbs nobody.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Error::new(ErrorKind::Internal, format!("a source gave up: {error}"))))
}

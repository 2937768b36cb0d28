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
pub(crate) mod bundle;
mod cache;
mod checkout;
mod files;
pub(crate) mod go;
pub(crate) mod http;
pub mod image;
pub mod lock;
mod look;
mod part;
mod patch;
mod prune;
mod recipe;
pub(crate) mod release;
mod resolve;
mod space;
pub(crate) mod toolchain;
mod url;
pub mod wants;
pub(crate) mod wrapper;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use semver::Version;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

pub use bundle::write as write_bundle;
pub use cache::Cache;
pub(crate) use cache::digest_of;
use go::Go;
use http::Http;
pub use look::{Looked, early};
pub use patch::Patch;
pub use prune::{Prunable, Scope};
use recipe::Made;
pub use recipe::Piece;

use crate::{
    Error, Result,
    event::Reporter,
    id,
    spec::{Platform, Source, Spec},
};

/// What the sources need to know of the host; `swdt` reads it from the environment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The cache directory.
    pub cache: PathBuf,
    /// Bundles to look into where no source is named.
    pub bundles: Vec<PathBuf>,
    /// `HTTPS_PROXY`: for addresses that begin with https.
    pub proxy: Option<String>,
    /// `HTTP_PROXY`: for those that begin with http.
    pub http_proxy: Option<String>,
    /// `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// The user's own settings of Go that decide where modules come from: `GOPROXY`, `GONOSUMDB`, `GOFLAGS`, …
    pub go_env: BTreeMap<String, String>,
    /// Variables of the environment that hold passwords: nothing that is started here is told them.
    pub secret_variables: Vec<String>,
    /// The installed Go; `go` when absent.
    pub go: Option<PathBuf>,
    /// Compiled packages are cut to so many MiB after a build, the longest unused first.
    pub go_cache_mib: u64,
    /// What the kubelet of a rehearsed Windows has that the released one has not; empty when swdt has no rehearsals.
    pub patches: &'static [Patch],
}

/// What one version of Kubernetes leaves behind is twice that; what a second one can use of it is less.
const GO_CACHE_MIB: u64 = 3072;

impl Settings {
    /// The same for a cluster: what it names as passwords is kept from builds.
    #[must_use]
    pub fn of(&self, spec: &Spec) -> Self {
        Self { secret_variables: spec.secret_variables(), ..self.clone() }
    }

    /// A cache directory, and the usual for everything else.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            cache: cache.into(),
            bundles: Vec::new(),
            proxy: None,
            http_proxy: None,
            no_proxy: None,
            go_env: BTreeMap::new(),
            secret_variables: Vec::new(),
            go: None,
            go_cache_mib: GO_CACHE_MIB,
            patches: &[],
        }
    }

    /// The first module proxy that is an address.
    fn module_proxy(&self) -> String {
        let named = self.go_env.get("GOPROXY").into_iter().flat_map(|list| list.split([',', '|']));
        let mut addresses = named.map(str::trim).filter(|word| word.starts_with("http"));
        addresses.next().unwrap_or("https://proxy.golang.org").to_owned()
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
    go_cache_mib: u64,
    patches: &'static [Patch],
    /// Keeps others from removing what this run relies on.
    in_use: OnceLock<cache::Held>,
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

    /// Flags that decide about bytes, for keys: the linker's, and the user's own.
    fn flags(&self, link: String) -> String {
        match self.wanted.env.get("GOFLAGS") {
            Some(own) if !own.is_empty() => format!("{link} GOFLAGS={own}"),
            _ => link,
        }
    }

    /// From now on, and as long as this lives, nobody prunes the cache.
    fn use_cache(&self) -> Result<()> {
        if self.in_use.get().is_none() {
            let _ = self.in_use.set(self.cache.in_use()?);
        }
        Ok(())
    }
}

impl Sources {
    /// The sources of this host.
    pub fn new(settings: Settings, reporter: Reporter) -> Result<Self> {
        let http = Http::new(&settings)?;
        let toolchain = crate::catalog::toolchain()?;
        let proxy = settings.module_proxy();
        let wanted = toolchain::Wanted {
            program: settings.go.unwrap_or_else(|| "go".into()),
            version: toolchain.version.clone(),
            sums: toolchain.sums.clone(),
            http: http.clone(),
            proxy,
            env: settings.go_env,
            hidden: settings.secret_variables,
        };
        let cache = Cache::new(&settings.cache);
        let ctx = Context {
            cache,
            http,
            reporter,
            wanted,
            go: OnceCell::new(),
            go_cache_mib: settings.go_cache_mib,
            patches: settings.patches,
            in_use: OnceLock::new(),
        };
        Ok(Self { ctx, bundles: settings.bundles })
    }

    /// Takes one program of the user's own into the store.
    pub fn take(&self, file: &str, path: &Path, platform: Platform) -> Result<Artifact> {
        check_program(file, path, platform)?;
        let blob = self.ctx.cache.add_file(path)?;
        Ok(Artifact::new(file.to_owned(), blob, format!("file {}", path.display())))
    }

    /// The store.
    pub fn cache(&self) -> &Cache {
        &self.ctx.cache
    }
}

/// A file of this checksum (SHA-256 or SHA-512, in hex), fetched if it is not here. Blocks; `watch` is told how many bytes
/// are here, and of how many, and may end it.
pub(crate) fn fetch_image(
    settings: &Settings,
    url: &str,
    checksum: &str,
    watch: impl Fn(u64, Option<u64>) -> Result<()> + Send + Sync + 'static,
) -> Result<PathBuf> {
    let expected = http::Checksum::parse(checksum)
        .ok_or_else(|| Error::new(id::VALUE_INVALID, format!("`{checksum}` is no SHA-256 and no SHA-512")))?;
    let http = Http::new(settings)?.watched(Arc::new(watch));
    http.checked(&Cache::new(&settings.cache), url, &expected).map(|blob| blob.path)
}

/// A small text, such as a file of checksums. Blocks.
pub(crate) fn fetch_text(settings: &Settings, url: &str) -> Result<String> {
    Http::new(settings)?.text(url)
}

/// Keeps variables from a program that has no business with them.
pub(crate) fn hide(command: &mut std::process::Command, variables: &[String]) {
    for name in variables {
        command.env_remove(name);
    }
}

/// Refuses a file that is no program for this platform.
pub fn check_program(file: &str, path: &Path, platform: Platform) -> Result<()> {
    binary::check(path, file, platform, &path.display().to_string())
}

/// Runs code that blocks where it disturbs nobody.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Error::new(id::INTERNAL, format!("a source gave up: {error}"))))
}

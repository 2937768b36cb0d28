//! A ground: a cluster directory of its own, gone when the test is.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use swdt_core::{
    Error, Result,
    event::Reporter,
    id,
    interrupt::Interrupt,
    keys,
    machine::{Context, Machines, Recipe},
    source::Settings,
    spec::{Connection, MachineSpec, Node, OsFamily, Place, ProviderName, Role},
};

use crate::{TestMachine, janitor, owner::Owner};

/// Where tests keep what can be made again: `SWDT_CACHE_DIR`, or `~/.cache/swdt`.
pub fn cache_dir() -> PathBuf {
    env::var_os("SWDT_CACHE_DIR")
        .map_or_else(|| env::home_dir().unwrap_or_else(|| "/root".into()).join(".cache/swdt"), PathBuf::from)
}

/// Test machines of one test, on a network of their own.
#[derive(Debug)]
pub struct Ground {
    dir: PathBuf,
    ctx: Arc<Shared>,
}

/// What a ground and its machines both need.
pub(crate) struct Shared {
    pub(crate) ctx: Context,
    pub(crate) machines: Machines,
    pub(crate) key: PathBuf,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("cluster_dir", &self.ctx.cluster_dir).finish_non_exhaustive()
    }
}

impl Ground {
    /// A new, empty ground. Removes what dead tests left, and sees to its own removal first.
    pub async fn open(cache: &Path) -> Result<Self> {
        Self::with_recipe(cache, Recipe::default()).await
    }

    /// The same, with further Debian packages in every machine. They are part of the cached root, so the
    /// mirror is asked only once.
    pub async fn with_packages(cache: &Path, packages: &'static [&'static str]) -> Result<Self> {
        Self::with_recipe(cache, Recipe { packages, ..Recipe::default() }).await
    }

    /// The same, with another root in every machine.
    pub async fn with_recipe(cache: &Path, recipe: Recipe) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        janitor::sweep(cache).await?;
        janitor::watch(cache)?;
        let id = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = runs_dir(cache).join(&id);
        {
            // A sweep that sees the directory must see its owner too.
            let _lock = janitor::lock(cache)?;
            fs::create_dir_all(&dir).map_err(|error| cannot("make", &dir, &error))?;
            Owner::me().save(&dir)?;
        }
        let key = dir.join("id_ed25519");
        let ctx = Context { authorized_key: keys::ensure(&key)?, recipe, ..context(cache, &dir) };
        let machines = Machines::new(ctx.clone());
        Ok(Self { dir, ctx: Arc::new(Shared { ctx, machines, key }) })
    }

    /// A booted Debian machine of that name; the same one when asked again.
    pub async fn machine(&self, name: &str) -> Result<TestMachine> {
        TestMachine::boot(self.ctx.clone(), self.node(name)).await
    }

    /// A booted machine of that name that behaves as Windows does; the same one when asked again.
    pub async fn windows_machine(&self, name: &str) -> Result<TestMachine> {
        TestMachine::boot(self.ctx.clone(), self.node_by(ProviderName::Rehearsal, name)).await
    }

    /// The machine of that name as a node of a specification: 2 processors, 2 GiB.
    pub fn node(&self, name: &str) -> Node {
        self.node_by(ProviderName::Nspawn, name)
    }

    fn node_by(&self, provider: ProviderName, name: &str) -> Node {
        let os = if provider == ProviderName::Rehearsal { OsFamily::Windows } else { OsFamily::Linux };
        Node {
            labels: std::collections::BTreeMap::new(),
            taints: None,
            components: std::collections::BTreeMap::new(),
            name: name.to_owned(),
            role: Role::Worker,
            os,
            set_hostname: true,
            place: Place::Machine(MachineSpec { provider, cpus: 2, memory_mib: 2048, vm: None }),
            connection: Connection {
                user: Some(provider.user(os).into()),
                key: Some(self.ctx.key.clone()),
                ..Connection::default()
            },
        }
    }

    /// The ground's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What core's provider was told.
    pub fn context(&self) -> &Context {
        &self.ctx.ctx
    }

    /// Core's own door to the machines.
    pub fn machines(&self) -> &Machines {
        &self.ctx.machines
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let (machines, dir) = (self.ctx.machines.clone(), self.dir.clone());
        // Not on this thread: a test's runtime must not be blocked from inside.
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let removed =
                runtime.is_ok_and(|runtime| runtime.block_on(machines.destroy_cluster(&[])).is_ok());
            // What could not be removed keeps its directory, so the next sweep tries again.
            if removed {
                let _ = fs::remove_dir_all(&dir);
            }
        });
        let _ = removal.join();
    }
}

/// Where grounds are.
pub(crate) fn runs_dir(cache: &Path) -> PathBuf {
    cache.join("ground/runs")
}

/// The context of the ground in that directory; for a janitor, who never logs in.
pub(crate) fn context(cache: &Path, dir: &Path) -> Context {
    let id = dir.file_name().unwrap_or_default().to_string_lossy();
    Context {
        cluster: format!("ground-{id}"),
        cluster_dir: dir.join("cluster"),
        cache_dir: cache.to_owned(),
        host_dir: cache.join("ground/host"),
        authorized_key: String::new(),
        recipe: Recipe::default(),
        rehearsal: Some(swdt_rehearsal::rehearsal(|| swdt_rehearsal::stand_ins(&programs_dir()?))),
        sources: Settings::new(cache.to_owned()),
        windows_program: None,
        program: programs_dir().map(|dir| dir.join("swdt")).unwrap_or_default(),
        reporter: Reporter::silent(),
        interrupt: Interrupt::default(),
    }
}

/// Where `cargo xtask agents` puts what it builds: tests are in `deps/`, programs one above.
pub(crate) fn programs_dir() -> Result<PathBuf> {
    let exe = env::current_exe().map_err(|error| cannot("find", "this program".as_ref(), &error))?;
    Ok(exe.ancestors().nth(2).map(Path::to_owned).unwrap_or_default())
}

pub(crate) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(id::INTERNAL, format!("cannot {what} {}: {error}", path.display()))
}

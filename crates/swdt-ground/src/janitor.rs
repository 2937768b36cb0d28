//! Takes away the grounds of processes that died without doing so themselves.
//!
//! The janitor is a process of its own session, so Ctrl-C does not reach it. Its standard input is a pipe
//! from the test process: when that ends, in whatever way, the pipe does too, and the janitor sweeps.

use std::{
    env,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use swdt_core::{Error, Result, id, machine::Machines};

use crate::{
    ground::{cannot, context, runs_dir},
    owner::Owner,
};

const PROGRAM: &str = "ground-janitor";

/// One sweep, or one new ground, at a time.
pub(crate) fn lock(cache: &Path) -> Result<File> {
    let dir = cache.join("ground");
    fs::create_dir_all(&dir).map_err(|error| cannot("make", &dir, &error))?;
    let path = dir.join("lock");
    let file = File::create(&path).map_err(|error| cannot("open", &path, &error))?;
    file.lock().map_err(|error| cannot("lock", &path, &error))?;
    Ok(file)
}

/// Removes the grounds whose owners are dead.
pub async fn sweep(cache: &Path) -> Result<()> {
    let locked = cache.to_owned();
    let lock = tokio::task::spawn_blocking(move || lock(&locked)).await;
    let _lock = lock.map_err(|error| Error::new(id::INTERNAL, error.to_string()))??;
    for entry in fs::read_dir(runs_dir(cache)).into_iter().flatten().flatten() {
        let dir = entry.path();
        if Owner::of(&dir).is_some_and(|owner| owner.lives()) {
            continue;
        }
        Machines::new(context(cache, &dir)).destroy_cluster(&[]).await?;
        fs::remove_dir_all(&dir).map_err(|error| cannot("remove", &dir, &error))?;
    }
    Ok(())
}

/// Starts the janitor of this process, once.
pub(crate) fn watch(cache: &Path) -> Result<()> {
    static PIPE: OnceLock<Result<ChildStdin, String>> = OnceLock::new();
    let started = PIPE.get_or_init(|| start(cache).map_err(|error| error.to_string()));
    started.as_ref().map(drop).map_err(|error| Error::new(id::INTERNAL, error))
}

fn start(cache: &Path) -> Result<ChildStdin> {
    let program = program()?;
    let mut command = Command::new("setsid");
    command.arg(&program).arg(cache).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().map_err(|error| cannot("run", &program, &error))?;
    child.stdin.ok_or_else(|| Error::new(id::INTERNAL, "the janitor has no standard input"))
}

/// The janitor's program. Cargo builds the binaries of a crate for its own tests only, so the tests of
/// other crates may have to build it.
fn program() -> Result<PathBuf> {
    let exe = env::current_exe().map_err(|error| cannot("find", Path::new(PROGRAM), &error))?;
    let beside = exe.ancestors().skip(1).take(2).map(|dir| dir.join(PROGRAM)).collect::<Vec<_>>();
    let found = || beside.iter().find(|path| path.is_file()).cloned();
    if let Some(path) = found() {
        return Ok(path);
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--bin", PROGRAM, "--manifest-path", manifest])
        .status();
    found().filter(|_| built.is_ok_and(|status| status.success())).ok_or_else(|| {
        Error::new(id::PROGRAM_MISSING, "the janitor of test machines is not built")
            .hinted("cargo build --package swdt-ground")
    })
}

/// The janitor's whole life: waits for the end of its input, then sweeps.
pub async fn main(cache: &Path) -> Result<()> {
    let waited = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await;
    drop(waited);
    // The pipe closes while the process is still dying; its grounds are orphans a moment later.
    tokio::time::sleep(Duration::from_millis(300)).await;
    sweep(cache).await
}

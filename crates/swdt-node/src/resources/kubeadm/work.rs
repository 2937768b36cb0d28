//! kubeadm at work: what it is told, and that nothing of it stays behind.

use std::{fs, io, path::Path};

use super::hints;
use crate::{Ctx, Error, Result, disk, faults, state::State};

/// One call of kubeadm.
pub(super) struct Work<'a> {
    /// What to do.
    pub(super) arguments: &'a [&'a str],
    /// Configuration documents; may hold the token.
    pub(super) config: &'a str,
    /// Preflight errors to ignore.
    pub(super) ignore: &'a [String],
}

impl Work<'_> {
    /// Runs kubeadm to its good end, or leaves the mark.
    pub(super) fn run(&self, ctx: &Ctx) -> Result<()> {
        if !ctx.has_program("kubeadm") {
            return Err(Error::new("there is no kubeadm on this machine")
                .hinted("the step that installs it was skipped or failed"));
        }
        let config = Config::write(ctx, self.config)?;
        let path = config.state.kubeadm_config();
        understood(ctx, &path)?;
        mark(ctx)?;
        let mut argv = vec!["kubeadm".to_owned()];
        argv.extend(self.arguments.iter().map(|&word| word.to_owned()));
        argv.extend(["--config".to_owned(), path.to_string_lossy().into_owned()]);
        if !self.ignore.is_empty() {
            argv.push(format!("--ignore-preflight-errors={}", self.ignore.join(",")));
        }
        let worked = ctx.change(&argv.iter().map(String::as_str).collect::<Vec<_>>());
        drop(config);
        worked.map_err(|error| hints::explained(ctx, self.arguments[0], error))?;
        faults::point("after-kubeadm");
        unmark(ctx)
    }
}

/// `init` and `join` only mumble about a field they do not know; this command refuses it.
fn understood(ctx: &Ctx, config: &Path) -> Result<()> {
    let said = ctx.query(&["kubeadm", "config", "validate", "--config", &config.to_string_lossy()])?;
    if said.ok() {
        return Ok(());
    }
    let line =
        said.stderr.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("it does not say why");
    Err(Error::new(format!("kubeadm does not understand its configuration: {line}"))
        .hinted("compare what your file has under `kubeadm` with the reference of that Kubernetes version"))
}

/// The configuration on disk, for as long as kubeadm needs it. A killed run leaves it to the next one, which
/// removes it before anything else ([`State::remove_secrets`]).
struct Config {
    state: State,
}

impl Config {
    fn write(ctx: &Ctx, text: &str) -> Result<Self> {
        let config = Self { state: State::of(ctx) };
        disk::replace_file(&config.state.kubeadm_config(), text.as_bytes(), 0o600, None)?;
        Ok(config)
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // What could not be removed now is removed by the next run.
        let _ = self.state.remove_secrets();
    }
}

/// Was kubeadm started, and not brought to a good end?
pub(super) fn unfinished(ctx: &Ctx) -> bool {
    State::of(ctx).kubeadm_unfinished().exists()
}

/// Says that what follows is not finished.
pub(super) fn mark(ctx: &Ctx) -> Result<()> {
    disk::replace_file(&State::of(ctx).kubeadm_unfinished(), b"", 0o600, None)
}

/// Says that it is.
pub(super) fn unmark(ctx: &Ctx) -> Result<()> {
    let path = State::of(ctx).kubeadm_unfinished();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &path, &error)),
        _ => Ok(()),
    }
}

//! What must hold of every kind of resource, for tests anywhere: in a scratch root, and with the
//! real program on real machines by the same names.
//!
//! * made true, a resource is satisfied;
//! * made true twice, the second time writes nothing;
//! * made true and undone, the machine is as it was;
//! * killed at any point, it can still be made true, and undone.
//!
//! A resource may be refused, with an error; then it must leave nothing behind.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use swdt_wire::{NodeEventKind, Outcome, Resource, Status, Summary};

#[cfg(feature = "faults")]
use crate::faults::{self, Action, Fault};
use crate::{Ctx, Events, Result, disk, engine, receipts::Receipts, resources::behaviour, state::State};

/// Every path below a root with its type, mode, owner, bytes or link target; our own state left out.
pub fn fingerprint(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    let state = Ctx::new(root).state().to_owned();
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            if path == state {
                continue;
            }
            let mut print = format!("{:o} {}:{} ", meta.mode(), meta.uid(), meta.gid());
            if meta.is_file() {
                print += &disk::sha256_file(&path).unwrap_or_default();
            } else if meta.is_symlink() {
                let _ = write!(print, "{:?}", fs::read_link(&path));
                // The bits of a link mean nothing.
                print = print.split_off(7);
            } else {
                waiting.push(path.clone());
            }
            all.insert(path.strip_prefix(root).unwrap_or(&path).to_owned(), print);
        }
    }
    all
}

/// What became of the laws for one scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The resources were made true.
    Made,
    /// They were refused, and nothing was left behind.
    Refused,
}

/// A scratch machine as some scene sets it up, and what is to be made true there.
pub struct Case<'a> {
    /// Where scratch roots go.
    pub base: &'a Path,
    /// Sets up a fresh root.
    pub scene: &'a dyn Fn(&Ctx),
    /// An earlier version of the resources, made true first; may be empty.
    pub earlier: &'a [Resource],
    /// The resources.
    pub resources: &'a [Resource],
}

impl Case<'_> {
    /// Tries every law. The error says which one is broken, and how.
    pub fn hold(&self) -> Result<Held, String> {
        let (root, before) = self.fresh()?;
        let first = apply(&root, self.resources);
        if first.failure.is_some() {
            undone(&root, &before, "refused and undone")?;
            return Ok(Held::Refused);
        }
        self.satisfied(&root, "applied")?;
        let after = fingerprint(&root);
        let second = apply(&root, self.resources);
        if second.writes != 0 || second.failure.is_some() || fingerprint(&root) != after {
            return Err(format!("applied twice: the second time {second:?}"));
        }
        undone(&root, &before, "applied and undone")?;
        apply(&root, self.resources);
        self.satisfied(&root, "undone and applied")?;
        undone(&root, &before, "undone, applied and undone")?;
        #[cfg(feature = "faults")]
        self.killed()?;
        Ok(Held::Made)
    }

    /// Killed anywhere, then made true or undone.
    #[cfg(feature = "faults")]
    fn killed(&self) -> Result<(), String> {
        let points =
            ["before-receipt", "after-receipt", "mid-apply", "after-kubeadm", "after-apply", "after-done"];
        for point in points {
            for nth in 1.. {
                let what = format!("killed at {point} {nth}");
                let (root, before) = self.fresh()?;
                if !struck(point, nth, || apply(&root, self.resources)) {
                    break;
                }
                let summary = apply(&root, self.resources);
                if summary.failure.is_some() {
                    return Err(format!("{what}: {summary:?}"));
                }
                self.satisfied(&root, &what)?;
                undone(&root, &before, &what)?;

                let (root, before) = self.fresh()?;
                struck(point, nth, || apply(&root, self.resources));
                undone(&root, &before, &format!("{what} and undone at once"))?;
            }
        }
        for point in ["mid-revert", "after-revert"] {
            for nth in 1.. {
                let what = format!("killed at {point} {nth}");
                let (root, before) = self.fresh()?;
                apply(&root, self.resources);
                if !struck(point, nth, || revert(&root, false).0) {
                    break;
                }
                undone(&root, &before, &what)?;

                let (root, before) = self.fresh()?;
                apply(&root, self.resources);
                struck(point, nth, || revert(&root, false).0);
                apply(&root, self.resources);
                self.satisfied(&root, &format!("{what} and applied"))?;
                undone(&root, &before, &format!("{what}, applied and undone"))?;
            }
        }
        Ok(())
    }

    fn fresh(&self) -> Result<(PathBuf, BTreeMap<PathBuf, String>), String> {
        let root = self.base.join("root");
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("var/lib")).map_err(|error| error.to_string())?;
        let _ = fs::set_permissions(&root, fs::Permissions::from_mode(0o755));
        (self.scene)(&Ctx::new(&root));
        let before = fingerprint(&root);
        if !self.earlier.is_empty() {
            apply(&root, self.earlier);
        }
        Ok((root, before))
    }

    fn satisfied(&self, root: &Path, when: &str) -> Result<(), String> {
        for resource in self.resources {
            match behaviour(&resource.kind).check(&Ctx::new(root)) {
                Ok(Status::Satisfied) => {}
                other => return Err(format!("{when}: {} is {other:?}", resource.id)),
            }
        }
        Ok(())
    }
}

/// Makes resources true in a scratch root.
pub fn apply(root: &Path, resources: &[Resource]) -> Summary {
    work(root, |job, receipts| engine::apply(job, receipts, "laws", resources)).0
}

/// Undoes everything in a scratch root; also says what was kept.
pub fn revert(root: &Path, force: bool) -> (Summary, Vec<String>) {
    work(root, |job, receipts| engine::revert(job, receipts, force))
}

fn work(root: &Path, act: impl FnOnce(&engine::Job, &mut Receipts) -> Summary) -> (Summary, Vec<String>) {
    let ctx = Ctx::new(root);
    let (said, kept) = std::sync::mpsc::channel();
    let events = Events::from(1, move |event| {
        if let NodeEventKind::Done { outcome: Outcome::Kept(why), .. } = &event.kind {
            let _ = said.send(why.clone());
        }
    });
    let state = State::of(&ctx);
    let opened = state.ensure("runs").and_then(|_| Receipts::open(state.receipts(), "law"));
    let summary = match opened {
        Ok(mut receipts) => act(&engine::Job { ctx: &ctx, events, cancelled: &|| false }, &mut receipts),
        Err(error) => crate::detach::failed(crate::detach::unusable(error)),
    };
    drop(ctx);
    (summary, kept.try_iter().collect())
}

fn undone(root: &Path, before: &BTreeMap<PathBuf, String>, when: &str) -> Result<(), String> {
    let (summary, kept) = revert(root, false);
    if summary.failure.is_some() || !kept.is_empty() {
        return Err(format!("{when}: {summary:?}, kept {kept:?}"));
    }
    let after = fingerprint(root);
    if after == *before {
        return Ok(());
    }
    let mut text = format!("{when}: the machine is not as it was:");
    for (path, print) in before.iter().filter(|(path, print)| after.get(*path) != Some(*print)) {
        let _ = write!(text, "\n- {} {print}", path.display());
    }
    for (path, print) in after.iter().filter(|(path, print)| before.get(*path) != Some(*print)) {
        let _ = write!(text, "\n+ {} {print}", path.display());
    }
    Err(text)
}

/// Works until a fault strikes; says whether it did.
#[cfg(feature = "faults")]
fn struck(point: &str, nth: u32, act: impl FnOnce() -> Summary) -> bool {
    let fault = Fault { at: "*".into(), point: point.into(), nth, action: Action::Panic, file: None };
    faults::arm(Some(fault));
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).is_err();
    faults::arm(None);
    died
}

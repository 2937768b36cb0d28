//! Digests of large files, so that a look need not read hundreds of megabytes again.
//!
//! A stamp says what a file was like (place, size, times) when its bytes had a digest. Whoever changes the file
//! changes that too, except within one tick of the file system's clock. So a file is only stamped when its last
//! change is further in the past than such a tick: any later change then gets another time.
//!
//! Only runs that change the machine write stamps; a look uses them and writes nothing.

use std::{
    collections::BTreeMap,
    fs, thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use swdt_wire::{Content, File, Kind, Resource};

use crate::{
    Ctx, Result, disk, faults,
    os::{self, Stat},
    state::State,
};

/// Longer than a tick of any kernel.
const TICK: Duration = Duration::from_millis(50);
/// The same for file systems that count whole seconds; some of them only even ones.
const COARSE_TICK: Duration = Duration::from_secs(3);

/// A file when its bytes had a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    sha256: String,
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

type Stamps = BTreeMap<String, Stamp>;

impl Stamp {
    fn new(sha256: String, stat: &Stat) -> Self {
        Self {
            sha256,
            device: stat.device(),
            inode: stat.identity(),
            size: stat.len(),
            modified: stat.modified(),
            changed: stat.changed(),
        }
    }
}

/// SHA-256 of a file: as stamped if it did not change since, or else of its bytes.
pub fn sha256(ctx: &Ctx, absolute: &str) -> Result<String> {
    let path = ctx.path(absolute);
    let stamped = load(ctx).remove(absolute);
    let unchanged =
        |stamp: &Stamp| os::stat(&path).is_ok_and(|stat| Stamp::new(stamp.sha256.clone(), &stat) == *stamp);
    match stamped.filter(unchanged) {
        Some(stamp) => Ok(stamp.sha256),
        None => disk::sha256_file(&path),
    }
}

/// Stamps the large files among these resources. It only saves time later, so failures are of no interest.
pub fn record(ctx: &Ctx, resources: &[Resource]) {
    let before = load(ctx);
    let mut stamps = before.clone();
    for resource in resources {
        if let Kind::File(File { path, content: Content::Blob(_), .. }) = &resource.kind {
            match stamp(ctx, path) {
                Some(stamp) => stamps.insert(path.clone(), stamp),
                None => stamps.remove(path),
            };
        }
    }
    if stamps != before
        && let Ok(text) = serde_json::to_vec(&stamps)
    {
        let _ = disk::replace_file(&State::of(ctx).stamps(), &text, 0o600, None);
    }
}

fn stamp(ctx: &Ctx, absolute: &str) -> Option<Stamp> {
    let path = ctx.path(absolute);
    let look = || os::stat(&path).ok().filter(Stat::is_file);
    thread::sleep(unsettled(&look()?, faults::clock())?);
    let stat = look()?;
    if unsettled(&stat, faults::clock())? > Duration::ZERO {
        return None;
    }
    let stamp = Stamp::new(sha256(ctx, absolute).ok()?, &stat);
    // It may have changed while it was read.
    (Stamp::new(stamp.sha256.clone(), &look()?) == stamp).then_some(stamp)
}

/// How long it takes until a change would get another time than the last one. None if the clock went back, or if
/// it takes longer than is worth waiting for.
fn unsettled(stat: &Stat, now: SystemTime) -> Option<Duration> {
    let (seconds, nanoseconds) = stat.changed().max(stat.modified());
    let changed = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
    let age = now.duration_since(UNIX_EPOCH + changed).ok()?;
    let (tick, worth) = if nanoseconds == 0 { (COARSE_TICK, Duration::ZERO) } else { (TICK, TICK) };
    Some(tick.saturating_sub(age)).filter(|wait| *wait <= worth)
}

fn load(ctx: &Ctx) -> Stamps {
    let text = fs::read(State::of(ctx).stamps()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use swdt_wire::Blob;

    use super::*;

    fn scratch() -> (tempfile::TempDir, Ctx, Vec<Resource>) {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        State::of(&ctx).ensure("runs").unwrap();
        fs::write(ctx.path("/f"), "one").unwrap();
        let content = Content::Blob(Blob { sha256: disk::sha256_hex(b"one"), size: 3 });
        let file = Resource::new("a/f", Kind::File(File { path: "/f".into(), content, mode: 0o644 }));
        (root, ctx, vec![file])
    }

    #[test]
    fn an_unchanged_file_is_not_read_again() {
        let (_root, ctx, file) = scratch();
        record(&ctx, &file);
        let mut stamps = load(&ctx);
        assert_eq!(stamps["/f"].sha256, disk::sha256_hex(b"one"));
        // A digest that reading could not give shows that nothing was read.
        stamps.get_mut("/f").unwrap().sha256 = "stamped".into();
        fs::write(State::of(&ctx).stamps(), serde_json::to_vec(&stamps).unwrap()).unwrap();
        assert_eq!(sha256(&ctx, "/f").unwrap(), "stamped");
    }

    #[test]
    fn a_changed_file_is_read_again_even_with_its_old_times() {
        let (_root, ctx, file) = scratch();
        record(&ctx, &file);
        let modified = fs::metadata(ctx.path("/f")).unwrap().modified().unwrap();
        fs::write(ctx.path("/f"), "two").unwrap();
        let times = fs::FileTimes::new().set_modified(modified);
        fs::File::options().write(true).open(ctx.path("/f")).unwrap().set_times(times).unwrap();
        assert_eq!(sha256(&ctx, "/f").unwrap(), disk::sha256_hex(b"two"));
        fs::remove_file(ctx.path("/f")).unwrap();
        assert!(sha256(&ctx, "/f").is_err());
        record(&ctx, &file);
        assert!(load(&ctx).is_empty());
    }

    #[test]
    fn a_file_is_not_stamped_in_the_tick_of_its_change() {
        let (_root, ctx, _) = scratch();
        let stat = os::stat(&ctx.path("/f")).unwrap();
        let (seconds, nanoseconds) = stat.changed();
        let changed = UNIX_EPOCH + Duration::new(seconds.unsigned_abs(), u32::try_from(nanoseconds).unwrap());
        assert_eq!(unsettled(&stat, changed), Some(TICK));
        assert_eq!(unsettled(&stat, changed + TICK), Some(Duration::ZERO));
        assert_eq!(unsettled(&stat, changed - TICK), None, "the clock went back");
    }
}

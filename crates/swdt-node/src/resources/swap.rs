//! No swap: none in use, none in fstab, no swap unit, no zram generator.

use std::{collections::BTreeSet, fs};

use swdt_wire::{PathPrior, Prior, Status, Swap};

use super::{Behaviour, Reverted, foreign, path, service, small};
use crate::{Ctx, Result};

const FSTAB: &str = "/etc/fstab";
/// Before each line of fstab that we switch off.
const MARK: &str = "#swdt# ";
/// An own file here overrules the one of the package; without a section it makes no device.
const ZRAM: &str = "/etc/systemd/zram-generator.conf";
const ZRAM_TEXT: &str =
    "# No swap in RAM: written by swdt, which puts back what was here when the cluster is destroyed.\n";
/// Where a unit is masked.
const MASKS: &str = "/etc/systemd/system";
/// Where units come from.
const UNITS: [&str; 7] = [
    MASKS,
    "/run/systemd/generator",
    "/run/systemd/generator.early",
    "/run/systemd/generator.late",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
/// Services that make swap without a swap unit.
const SERVICES: [&str; 3] = ["dphys-swapfile.service", "zram-config.service", "zramswap.service"];

impl Behaviour for Swap {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let differs = |what: String| Ok(Status::Differs(what));
        if let Some((swap, _)) = active(ctx)?.first() {
            return differs(format!("{swap} is in use"));
        }
        let fstab = ctx.read(FSTAB)?.unwrap_or_default();
        if commented(&fstab) != fstab {
            return differs(format!("{FSTAB} has swap"));
        }
        if let Some(unit) = units(ctx)?.first() {
            return differs(format!("{unit} is not masked"));
        }
        if zram_generator(ctx) { small::check(ctx, ZRAM, ZRAM_TEXT) } else { Ok(Status::Satisfied) }
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let units = units(ctx)?;
        let masks = units.iter().map(|unit| path::capture(ctx, &mask(unit))).collect::<Result<_>>()?;
        let (fstab, zram) = (path::capture(ctx, FSTAB)?, path::capture(ctx, ZRAM)?);
        Ok(Prior::Swap { fstab, zram, active: active(ctx)?, units, masks })
    }

    /// Swap that somebody added since is switched off as well, and has to come back as well.
    fn prior_again(&self, ctx: &Ctx, first: &Prior) -> Result<Prior> {
        let mut all = first.clone();
        let Prior::Swap { active: swaps, units: names, masks, .. } = &mut all else {
            return Err(foreign("swap"));
        };
        for swap in active(ctx)? {
            if !swaps.iter().any(|(path, _)| *path == swap.0) {
                swaps.push(swap);
            }
        }
        for unit in units(ctx)? {
            if !names.contains(&unit) {
                masks.push(path::capture(ctx, &mask(&unit))?);
                names.push(unit);
            }
        }
        Ok(all)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let before = ctx.writes();
        let fstab = ctx.read(FSTAB)?.unwrap_or_default();
        write_fstab(ctx, &fstab, &commented(&fstab))?;
        for unit in units(ctx)? {
            path::make_parents(ctx, &mask(&unit))?;
            ctx.link(&mask(&unit), "/dev/null", ctx.owner())?;
        }
        if zram_generator(ctx) {
            small::apply(ctx, ZRAM, ZRAM_TEXT)?;
        }
        if ctx.writes() != before {
            service::reload(ctx)?;
        }
        for (swap, _) in active(ctx)? {
            ctx.change(&["swapoff", "--", &swap]).map_err(|error| {
                error.hinted("what is swapped out must fit into memory: stop something big first")
            })?;
        }
        Ok(())
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Swap { fstab, zram, active: swaps, masks, .. } = prior else {
            return Err(foreign("swap"));
        };
        let before = ctx.writes();
        let mut kept = revert_fstab(ctx, fstab)?;
        kept = kept.and(small::revert(ctx, zram, ZRAM_TEXT, force)?);
        for prior in masks {
            kept = kept.and(path::revert(ctx, prior, masked(ctx, &prior.path)?, force)?);
        }
        if ctx.writes() != before {
            service::reload(ctx)?;
        }
        let now = active(ctx)?;
        for (swap, priority) in
            swaps.iter().filter(|(swap, _)| ctx.live() && now.iter().all(|(is, _)| is != swap))
        {
            let priority = priority.to_string();
            // The kernel gives out negative ones by itself, and takes none.
            let argv: &[&str] = if priority.starts_with('-') {
                &["swapon", "--", swap]
            } else {
                &["swapon", "-p", &priority, "--", swap]
            };
            if let Err(error) = ctx.change(argv) {
                kept = kept.and(Reverted::Kept(format!("{swap} stays off until the next restart: {error}")));
            }
        }
        Ok(kept)
    }
}

/// Swap in use: path and priority. A scratch root uses none.
fn active(ctx: &Ctx) -> Result<Vec<(String, i32)>> {
    if !ctx.live() {
        return Ok(Vec::new());
    }
    Ok(parse_swaps(&ctx.read_trimmed("/proc/swaps")?.unwrap_or_default()))
}

pub(crate) fn parse_swaps(text: &str) -> Vec<(String, i32)> {
    let swap = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let path = fields.first()?.replace("\\040", " ");
        Some((path, fields.last()?.parse().unwrap_or(-1)))
    };
    text.lines().skip(1).filter_map(swap).collect()
}

/// The text of fstab without swap.
pub(crate) fn commented(text: &[u8]) -> Vec<u8> {
    let is_swap = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        !line.trim_start().starts_with('#') && line.split_whitespace().nth(2) == Some("swap")
    };
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| [if is_swap(line) { MARK.as_bytes() } else { b"" }, line].concat()).collect()
}

/// The text of fstab without our marks.
pub(crate) fn uncommented(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| line.strip_prefix(MARK.as_bytes()).unwrap_or(line)).copied().collect()
}

fn write_fstab(ctx: &Ctx, before: &[u8], text: &[u8]) -> Result<()> {
    let (Some(meta), true) = (path::look(ctx, FSTAB)?, before != text) else { return Ok(()) };
    ctx.write(FSTAB, text, meta.mode() & 0o777, Some(meta.owner()))
}

/// Where others changed fstab after us, only our marks go.
fn revert_fstab(ctx: &Ctx, prior: &PathPrior) -> Result<Reverted> {
    let text = ctx.read(FSTAB)?.unwrap_or_default();
    let before = path::prior_bytes(ctx, prior)?.unwrap_or_default();
    if text == commented(&before) || path::is_prior(ctx, prior)? {
        path::restore(ctx, prior)?;
    } else {
        write_fstab(ctx, &text, &uncommented(&text))?;
    }
    Ok(Reverted::Yes)
}

/// Units that would make swap and are not masked. Those made from fstab go with its lines.
fn units(ctx: &Ctx) -> Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for dir in UNITS {
        for entry in fs::read_dir(ctx.path(dir)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let swap = std::path::Path::new(&name).extension().is_some_and(|it| it == "swap");
            if (!swap && !SERVICES.contains(&name.as_str())) || entry.path().is_dir() {
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            if !text.lines().any(|line| line.trim() == "SourcePath=/etc/fstab") && !masked(ctx, &mask(&name))?
            {
                found.insert(name);
            }
        }
    }
    Ok(found.into_iter().collect())
}

fn mask(unit: &str) -> String {
    format!("{MASKS}/{unit}")
}

fn masked(ctx: &Ctx, at: &str) -> Result<bool> {
    let link = path::look(ctx, at)?.is_some_and(|meta| meta.is_symlink());
    Ok(link && path::link_target(ctx, at)? == "/dev/null")
}

/// Is there a generator that turns a configuration into swap at boot?
fn zram_generator(ctx: &Ctx) -> bool {
    ["/usr/lib/systemd/system-generators/zram-generator", "/usr/lib/systemd/zram-generator.conf", ZRAM]
        .iter()
        .any(|file| ctx.path(file).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_swap_lines_are_marked_and_they_come_back() {
        let before = "UUID=1 / ext4 defaults 0 1\n/swap.img none swap sw 0 0\n# /x none swap sw\n\tLABEL=s\tnone\tswap\tsw";
        let after = commented(before.as_bytes());
        let text = String::from_utf8(after.clone()).unwrap();
        assert_eq!(text.matches(MARK).count(), 2, "{text}");
        assert_eq!(commented(&after), after);
        assert_eq!(uncommented(&after), before.as_bytes());
    }

    #[test]
    fn the_kernels_list_is_read() {
        let text = "Filename\tType\tSize\tUsed\tPriority\n/swap\\040file   file  1024 0 -2\n/dev/zram0 partition 1 0 100\n";
        assert_eq!(parse_swaps(text), [("/swap file".to_owned(), -2), ("/dev/zram0".to_owned(), 100)]);
    }

    #[test]
    fn a_mask_of_our_own_counts() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        for (dir, name, text) in [
            ("run/systemd/generator", "swapfile.swap", "[Unit]\nSourcePath=/etc/fstab\n"),
            ("run/systemd/generator.late", "dev-sda2.swap", "[Swap]\n"),
            ("usr/lib/systemd/system", "zramswap.service", "[Service]\n"),
        ] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
            fs::write(root.path().join(dir).join(name), text).unwrap();
        }
        assert_eq!(units(&ctx).unwrap(), ["dev-sda2.swap", "zramswap.service"]);
        let prior = Swap {}.prior(&ctx).unwrap();
        Swap {}.apply(&ctx, &prior).unwrap();
        assert!(units(&ctx).unwrap().is_empty());
        assert!(matches!(prior, Prior::Swap { masks, .. } if masks.iter().all(|it| it.was.is_none())));
    }
}

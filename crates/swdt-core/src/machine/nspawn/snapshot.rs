//! Machines as they were: what the machine wrote, and what it is known by, copied while it is stopped.
//!
//! ```text
//! <given>/machine.json             the ledger entry and the address
//! <given>/ssh_host_ed25519_key
//! <given>/upper/ volumes/          what the machine wrote
//! ```
//!
//! The root below the overlay is shared, is never written to and is named in the entry, so it is not copied. Where the
//! file system can share blocks (btrfs, XFS), the copy shares them.

use std::{fs, path::Path, process::Stdio};

use super::{
    Nspawn, cgroup::Hierarchies, end, ledger::Entry, machine_spec, mounts, names::MachineNames, network,
    recipe, root, windows,
};
use crate::{
    Error, Result, id,
    machine::{
        Context, Snapshots,
        files::{self, failed},
        record::{Saved, Stage, flush},
        tool,
    },
    spec::Node,
};

const HOST_KEY: &str = "ssh_host_ed25519_key";
/// What the machine wrote, by its names in the machine's directory.
const TREES: [&str; 2] = ["upper", "volumes"];

impl Snapshots for Nspawn {
    fn size(&self, ctx: &Context, node: &str) -> Result<u64> {
        let names = MachineNames::of(ctx, node);
        TREES.iter().map(|tree| files::size(&names.dir.join(tree))).sum()
    }

    fn save(&self, ctx: &Context, node: &str, to: &Path) -> Result<u64> {
        let names = MachineNames::of(ctx, node);
        let entry = Entry::load(&names)?.filter(|entry| entry.stage == Stage::Ready);
        let address = network::load(ctx)?.and_then(|network| network.address(node));
        let (Some(entry), Some(address)) = (entry, address) else {
            return Err(Error::new(id::MACHINE_NOT_MADE, "there is no such machine to save"));
        };
        ctx.reporter.for_node(node).doing("copying the machine");
        mounts::unmount_below(&names.merged())?;
        files::make_dir(to)?;
        for tree in TREES {
            copy(&names.dir.join(tree), &to.join(tree))?;
        }
        copy_key(&names.host_key(), &to.join(HOST_KEY))?;
        Saved { entry, address }.save(to)?;
        flush(to)?;
        files::size(to)
    }

    fn check(&self, ctx: &Context, node: &Node, from: &Path) -> Result<()> {
        let Saved::<Entry> { entry, .. } = Saved::load(from)?;
        let recipe = recipe(ctx, windows(ctx, machine_spec(node)?)?);
        if root::path(ctx, &entry.root).is_dir() || entry.root == root::key(recipe) {
            return Ok(());
        }
        let message = format!(
            "the machine stands on the root {}, which is gone from the cache; another version of swdt made it",
            entry.root
        );
        Err(Error::new(id::SNAPSHOT_DAMAGED, message)
            .hinted("restore the snapshot with the cache directory it was saved with"))
    }

    fn restore(&self, ctx: &Context, node: &str, from: &Path) -> Result<()> {
        let names = MachineNames::of(ctx, node);
        let Saved::<Entry> { mut entry, address } = Saved::load(from)?;
        ctx.reporter.for_node(node).doing("putting the machine back");
        // Not whole until the end, whoever looks meanwhile.
        entry.stage = Stage::Creating;
        entry.save(&names)?;
        end(&Hierarchies::find(), &names)?;
        // The overlay's scratch space belongs to the old files.
        mounts::remove_tree(&names.work())?;
        for tree in TREES {
            let place = names.dir.join(tree);
            mounts::remove_tree(&place)?;
            copy(&from.join(tree), &place)?;
        }
        copy_key(&from.join(HOST_KEY), &names.host_key())?;
        network::reserve(ctx, node, address)?;
        flush(&names.dir)?;
        entry.stage = Stage::Ready;
        entry.save(&names)
    }
}

/// Copies a tree with everything the overlay and containers need: owners, links, devices, attributes.
fn copy(from: &Path, to: &Path) -> Result<()> {
    // Dies with us, so that nobody writes where a successor clears up.
    let mut command =
        tool::command("setpriv", ["--pdeathsig", "KILL", "cp", "--recursive", "--no-dereference"]);
    command.args([
        "--preserve=mode,ownership,timestamps,links,xattr",
        "--reflink=auto",
        "--no-target-directory",
    ]);
    command.arg("--").arg(from).arg(to).stdin(Stdio::null());
    tool::output(&mut command).map(drop)
}

fn copy_key(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).map_err(|error| failed("read", from, &error))?;
    files::write_whole(to, &bytes)
}

//! Machines as they were: disk, EFI variables and TPM, and what the machine is known by, copied while it is stopped.
//!
//! The base below the disk is shared, is never written to and is named in the entry, so it is not copied. Where the file
//! system can share blocks (btrfs, XFS), the copy shares them.

use std::{path::Path, process::Stdio};

use super::{Qemu, end, image, ledger::Entry, names::MachineNames};
use crate::{
    Error, Result, id,
    machine::{
        Context, Snapshots, files, network,
        record::{Saved, Stage, flush},
        tool,
    },
    spec::Node,
};

/// What is copied, where it is there: the firmware of the old kind has no variables, and most machines have no TPM.
const PARTS: [&str; 5] = ["disk.qcow2", "seed.iso", "vars.fd", "tpm", "ssh_host_ed25519_key"];

impl Snapshots for Qemu {
    fn size(&self, ctx: &Context, node: &str) -> Result<u64> {
        let names = MachineNames::of(ctx, node);
        PARTS.iter().map(|part| files::size(&names.dir.join(part))).sum()
    }

    fn save(&self, ctx: &Context, node: &str, to: &Path) -> Result<u64> {
        let names = MachineNames::of(ctx, node);
        let entry = Entry::load(&names)?.filter(|entry| entry.stage == Stage::Ready);
        let address = network::load(ctx)?.and_then(|network| network.address(node));
        let (Some(entry), Some(address)) = (entry, address) else {
            return Err(Error::new(id::MACHINE_NOT_MADE, "there is no such machine to save"));
        };
        ctx.reporter.for_node(node).doing("copying the machine");
        files::make_dir(to)?;
        copy_parts(&names.dir, to)?;
        Saved { entry, address }.save(to)?;
        files::size(to)
    }

    fn check(&self, ctx: &Context, _: &Node, from: &Path) -> Result<()> {
        let Saved::<Entry> { entry, .. } = Saved::load(from)?;
        image::stands(ctx, &entry).map_err(|error| {
            Error::new(id::SNAPSHOT_DAMAGED, error.message)
                .hinted("restore the snapshot with the cache directory it was saved with")
        })
    }

    fn restore(&self, ctx: &Context, node: &str, from: &Path) -> Result<()> {
        let names = MachineNames::of(ctx, node);
        let Saved::<Entry> { mut entry, address } = Saved::load(from)?;
        ctx.reporter.for_node(node).doing("putting the machine back");
        // Not whole until the end, whoever looks meanwhile.
        entry.stage = Stage::Creating;
        entry.save(&names)?;
        end(&names, std::time::Duration::ZERO)?;
        for part in PARTS {
            remove(&names.dir.join(part))?;
        }
        copy_parts(from, &names.dir)?;
        // What it said after that moment it has not said: a first boot of Windows is followed by its words.
        files::remove_file(&names.console())?;
        network::reserve(ctx, node, address)?;
        entry.stage = Stage::Ready;
        entry.save(&names)
    }
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        return std::fs::remove_dir_all(path).map_err(|error| files::failed("remove", path, &error));
    }
    files::remove_file(path)
}

/// Copies what is there; it is on the disk before anything says so.
fn copy_parts(from: &Path, to: &Path) -> Result<()> {
    for part in PARTS.iter().map(|part| from.join(part)).filter(|part| part.exists()) {
        // Dies with us, so that nobody writes where a successor clears up.
        let mut command =
            tool::command("setpriv", ["--pdeathsig", "KILL", "cp", "--recursive", "--reflink=auto"]);
        command.args(["--sparse=always", "--preserve=mode,timestamps", "--"]).arg(&part).arg(to);
        tool::output(command.stdin(Stdio::null()))?;
    }
    flush(to)
}

//! What the provider asks for: the base of an image, the seed of a machine, its first boot, and the end of what was begun.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use swdt_media::answer::{self, ComputerName, From};

use super::{
    super::{
        accelerator,
        arguments::{Accelerator, Devices, Runtime},
        firmware,
        image::{self, Base},
        ledger::Entry,
        names::{self, MachineNames},
        plug::Plugged,
        process,
        room::{self, Room},
    },
    base::{BaseKey, media_hash},
    follow::{End, Follow, Limits, eject},
    install::{self, Install, blank},
};
use crate::{
    Error, ErrorKind, Result, id,
    machine::{
        Context,
        record::Stage,
        windows::{
            media::{self, Looked, Media},
            seed::{Becomes, Locale, Seed},
        },
    },
    spec::{Firmware, Image, VmSpec, WindowsImage, WindowsSource},
};

/// What Setup is given while it installs: it unpacks some gigabytes.
const CPUS: u32 = 2;
const MEMORY_MIB: u64 = 4096;
/// What it writes besides the files of the disc: what they unpack by themselves, and its own memory on disk.
const MORE_MIB: u64 = 4096;
/// What a disc holds that does not say it, a desktop included.
const UNTOLD_MIB: u64 = 12 * 1024;

/// What devices a machine from that image has: those that it has drivers for.
pub(in crate::machine::qemu) fn devices(image: &WindowsImage) -> Devices {
    if image.virtio.is_some() { Devices::Virtio } else { Devices::Inbox }
}

fn locale(looked: &Looked) -> Locale {
    match &looked.media {
        Media::Disc { edition, .. } => Locale::of(&edition.language),
        Media::Disk { .. } => Locale::of("en-US"),
    }
}

/// A disc that was looked at, and the base that it becomes.
struct Wanted {
    looked: Looked,
    iso: PathBuf,
    base: Base,
}

impl Wanted {
    /// Looks at everything that an image names; tells all that is wrong at once. None for a disk, which is a base already.
    fn of(ctx: &Context, node: &str, image: &WindowsImage, vm: &VmSpec) -> Result<Option<Self>> {
        let uefi = vm.firmware != Firmware::Bios;
        let mut errors = Vec::new();
        let looked = media::look(image, uefi).map_err(|error| errors.push(error)).ok();
        // Needed for the seed in any case, and told before an hour is spent.
        errors.extend(program(ctx).err());
        if let Some(error) = Error::all(errors) {
            return Err(error);
        }
        let Some((iso, looked)) = looked.and_then(|looked| match &looked.media {
            Media::Disc { iso, .. } => Some((iso.clone(), looked)),
            Media::Disk { .. } => None,
        }) else {
            return Ok(None);
        };
        let reporter = ctx.reporter.for_node(node);
        let key = BaseKey {
            media: &media_hash(&iso, &ctx.cache_dir.join("qemu/media"), &reporter, &ctx.interrupt)?,
            looked: &looked,
            uefi,
            disk_gib: vm.disk_gib,
            locale: &locale(&looked),
            openssh: image.openssh.as_ref().map(|package| package.sha256.as_str()),
        }
        .name();
        let base = Base { path: image::path(ctx, &key), key };
        Ok(Some(Self { looked, iso, base }))
    }
}

/// What is to be installed before machines can be made.
#[derive(Debug, Default)]
pub(in crate::machine::qemu) struct Setup {
    /// Everything that is wrong with the media.
    pub(in crate::machine::qemu) errors: Vec<Error>,
    /// What it takes of the host.
    pub(in crate::machine::qemu) wanted: Room,
    /// What it took already: an earlier run began it.
    pub(in crate::machine::qemu) held: Room,
}

/// Everything that is wrong with the media of these machines, and what it takes to install them, all at once. What
/// several of them name is looked at once.
pub(in crate::machine::qemu) fn require(ctx: &Context, machines: &[(&str, &VmSpec)]) -> Setup {
    let (mut errors, mut bases) = (Vec::new(), BTreeMap::new());
    let mut seen: Vec<(&VmSpec, Option<Error>)> = Vec::new();
    for (node, vm) in machines {
        let Image::Windows(image) = &vm.image else { continue };
        let known = seen.iter().find(|(other, _)| other == vm).map(|(_, error)| error.clone());
        let error = known.unwrap_or_else(|| {
            let error = match Wanted::of(ctx, node, image, vm) {
                Ok(Some(wanted)) if !image::is_whole(&wanted.base.path).unwrap_or(false) => {
                    install::held(&names::base(), &wanted.base.path)
                        .map(|held| bases.insert(wanted.base.key, (room_for(&wanted.looked), held)))
                        .err()
                }
                Ok(_) => None,
                Err(error) => Some(error),
            };
            seen.push((*vm, error.clone()));
            error
        });
        errors.extend(error.map(|error| error.on(node)));
    }
    let (wanted, held): (Vec<Room>, Vec<Room>) = bases.into_values().unzip();
    Setup { errors, wanted: wanted.into_iter().sum(), held: held.into_iter().sum() }
}

/// What an installation takes of the host.
fn room_for(looked: &Looked) -> Room {
    let files_mib = match &looked.media {
        Media::Disc { edition, .. } if edition.size > 0 => edition.size >> 20,
        _ => UNTOLD_MIB,
    };
    Room::exactly(MEMORY_MIB, files_mib + MORE_MIB)
}

/// The base of an image, installed if it is not there.
pub(in crate::machine::qemu) fn base(
    ctx: &Context,
    node: &str,
    image: &WindowsImage,
    vm: &VmSpec,
) -> Result<Base> {
    let Wanted { looked, iso, base } = match (Wanted::of(ctx, node, image, vm)?, &image.source) {
        (Some(wanted), _) => wanted,
        // A disk that sysprep sealed is a base as it is.
        (None, WindowsSource::Vhdx { path }) => return image::of_file(ctx, path),
        (None, WindowsSource::Iso { .. }) => {
            return Err(Error::new(id::INTERNAL, "a disc becomes no base"));
        }
    };
    let uefi = match vm.firmware {
        Firmware::Bios => None,
        // Bases are made without Secure Boot; what is on Microsoft's disc is signed all the same.
        Firmware::Uefi | Firmware::SecureBoot => {
            firmware::find(false).map(|pair| Some((pair.code, pair.vars)))?
        }
    };
    let reporter = ctx.reporter.for_node(node);
    let accelerator = accelerator::choose(ctx)?;
    Install {
        to: base.path.clone(),
        run: names::make_common_run_dir()?,
        cluster: &ctx.cluster_dir,
        node,
        iso: &iso,
        uefi,
        limits: Limits::of(accelerator == Accelerator::Tcg),
        accelerator,
        devices: devices(image),
        cpus: CPUS,
        memory_mib: MEMORY_MIB,
        blank_disk: &|disk| {
            room::enough(&[(&ctx.cache_dir, room_for(&looked))])?;
            blank(disk, vm.disk_gib)
        },
        seed: &|to| base_seed(ctx, &looked, vm.firmware, to),
        reporter: &reporter,
        interrupt: &ctx.interrupt,
    }
    .base()?;
    Ok(base)
}

fn base_seed(ctx: &Context, looked: &Looked, firmware: Firmware, to: &Path) -> Result<()> {
    let Media::Disc { edition, .. } = &looked.media else {
        return Err(Error::new(id::INTERNAL, "a sealed disk is not installed"));
    };
    let firmware = match firmware {
        Firmware::Bios => answer::Firmware::Bios,
        Firmware::Uefi | Firmware::SecureBoot => answer::Firmware::Uefi,
    };
    Seed {
        from: From::Disc { index: edition.index, firmware },
        name: ComputerName::new("swdt-base").map_err(|error| internal(&error))?,
        locale: locale(looked),
        product_key: looked.product_key.clone(),
        desktop: !edition.core,
        becomes: Becomes::Base,
        program: &program(ctx)?,
        openssh: looked.openssh.clone(),
        drivers: looked.drivers.clone(),
    }
    .write(to)
}

fn program(ctx: &Context) -> Result<Arc<[u8]>> {
    ctx.windows_program.clone().ok_or_else(|| {
        Error::new(id::NODE_PROGRAM_MISSING, "the node program for Windows is not beside `swdt`")
            .hinted("in a clone of the sources, `cargo xtask agents` builds it")
    })
}

fn internal(error: &swdt_media::Error) -> Error {
    Error::new(id::INTERNAL, error.to_string())
}

/// The seed of one machine, over a base. Drivers and OpenSSH are in a base of ours already; what is on a disk of somebody
/// else shows at its first boot.
pub(in crate::machine::qemu) fn seed(
    ctx: &Context,
    names: &MachineNames,
    plugged: &Plugged,
    image: &WindowsImage,
) -> Result<()> {
    // What its base was made from need not start any more.
    let looked = media::look(image, false)?;
    Seed {
        from: From::SealedDisk,
        name: ComputerName::new(&names.node).map_err(|error| internal(&error))?,
        locale: locale(&looked),
        product_key: looked.product_key.clone(),
        desktop: matches!(&looked.media, Media::Disc { edition, .. } if !edition.core),
        becomes: Becomes::Node {
            authorized_key: &ctx.authorized_key,
            host_key: &names.host_key(),
            network: answer::Network {
                mac: plugged.card.mac.clone(),
                address: plugged.address,
                gateway: plugged.gateway,
                dns: plugged.dns.clone(),
            },
        },
        program: &program(ctx)?,
        openssh: looked.openssh.filter(|_| matches!(looked.media, Media::Disk { .. })),
        drivers: Vec::new(),
    }
    .write(&names.seed())
}

/// Looks on at a machine's first boot, for as long as it has its seed; then the seed goes. A first boot that failed is
/// not tried again: the machine is made anew by the next run.
pub(in crate::machine::qemu) fn first_boot(
    ctx: &Context,
    names: &MachineNames,
    entry: &Entry,
    emulated: bool,
) -> Result<()> {
    if !names.seed().exists() {
        return Ok(());
    }
    let runtime = names.runtime();
    let follow = Follow {
        runtime: &runtime,
        console_log: &names.console(),
        disk: &names.disk(),
        screenshot: names.screenshot(),
        limits: Limits::of(emulated),
        reporter: &ctx.reporter.for_node(&names.node),
        interrupt: &ctx.interrupt,
    };
    match follow.to_the_end() {
        Ok(End::Ready) => eject(&runtime, 1, &names.seed()),
        Ok(End::Sealed) => Err(Error::new(id::INTERNAL, "a node was sealed")),
        // Nobody looks on for now; it goes on.
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        Err(error) if process::runs(&runtime) => {
            let mut entry = entry.clone();
            entry.stage = Stage::Creating;
            entry.save(names)?;
            Err(error.hinted("it is left running, to be looked at; the next run makes it anew"))
        }
        // Somebody ended it, or the host was restarted: it goes on where it was.
        Err(error) => Err(error.hinted("run the command again: it is started again and goes on")),
    }
}

/// The machine that installs the Windows a node waits for.
pub(in crate::machine::qemu) fn under_way(ctx: &Context, node: &str) -> Option<Runtime> {
    install::under_way(&names::base(), &image::bases_dir(ctx), &ctx.cluster_dir, node)
}

/// Installations of this cluster that nobody looks on at, for people to read.
pub(in crate::machine::qemu) fn traces(ctx: &Context) -> Vec<String> {
    let dirs = install::abandoned(&image::bases_dir(ctx), &ctx.cluster_dir);
    dirs.iter().map(|dir| format!("installation {}", dir.display())).collect()
}

/// Ends them. What others look on at is theirs, and bases stay.
pub(in crate::machine::qemu) fn abandon(ctx: &Context) -> Result<()> {
    let dirs = install::abandoned(&image::bases_dir(ctx), &ctx.cluster_dir);
    dirs.iter().try_for_each(|dir| install::abandon(&names::base(), dir))
}

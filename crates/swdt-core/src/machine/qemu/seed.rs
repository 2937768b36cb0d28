//! The disc that a Linux machine reads at its first start: its name, its keys, its address.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

use secrecy::SecretString;
use swdt_media::cloud::{Network, Seed};

use super::{names::MachineNames, plug::Plugged};
use crate::{
    Error, Result, id, keys,
    machine::{Context, files::failed, names::short_hash},
    spec::{OsFamily, ProviderName},
};

/// Writes the disc. It holds the machine's private host key, so nobody else may read it.
pub(super) fn write(ctx: &Context, names: &MachineNames, plugged: &Plugged) -> Result<()> {
    let public = keys::ensure(&names.host_key())?;
    let key = names.host_key();
    let private = fs::read_to_string(&key).map_err(|error| failed("read", &key, &error))?;
    let seed = Seed {
        hostname: names.node.clone(),
        user: ProviderName::Qemu.user(OsFamily::Linux).to_owned(),
        authorized_key: ctx.authorized_key.trim().to_owned(),
        host_key: SecretString::from(private),
        // A machine made anew has a new key, and so is another instance.
        instance: format!("swdt-{}", short_hash(&[&public])),
        host_key_public: public,
        network: Network {
            mac: plugged.card.mac.clone(),
            address: plugged.address,
            gateway: plugged.gateway,
            dns: plugged.dns.clone(),
        },
    };
    let path = names.seed();
    let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path);
    let file = file.map_err(|error| failed("write", &path, &error))?;
    seed.disc().write(file).map_err(|error| {
        Error::new(id::MACHINE_FILE_FAILED, format!("cannot write {}: {error}", path.display()))
    })
}

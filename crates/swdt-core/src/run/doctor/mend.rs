//! `doctor --fix`: does what a finding named, and nothing else.

use std::path::Path;

use super::super::{CreateOptions, Host, Sink, create, start_node};
use crate::{Error, Result, doctor::Remedy, event::Reporter, id, machine::HostPackages};

/// Mends one thing. Asking beforehand is the caller's.
pub async fn mend(host: &Host, remedy: &Remedy, sink: Sink) -> Result<()> {
    match remedy {
        Remedy::Install(packages) => HostPackages::of(packages.clone()).install(),
        Remedy::Raise(setting, value) => {
            let path = Path::new("/proc/sys").join(setting);
            std::fs::write(&path, value.to_string()).map_err(|error| cannot("set", &path, &error))
        }
        Remedy::Private(path) => private(path),
        Remedy::Start(cluster, name) => {
            let spec = host.dirs.cluster(cluster).load_spec()?;
            let gone = || Error::new(id::NO_SUCH_NODE, format!("the cluster {cluster} has no node {name}"));
            let node = spec.node(name).ok_or_else(gone)?;
            start_node(host, &spec, node, &Reporter::silent()).await.map(drop)
        }
        Remedy::Converge(cluster) => {
            let dir = host.dirs.cluster(cluster);
            let (spec, config) = (dir.load_spec()?, dir.read_config()?);
            create(host, &spec, &config, &CreateOptions::default(), sink).await
        }
    }
}

#[cfg(unix)]
fn private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, mode).map_err(|error| cannot("change the mode of", path, &error))
}

#[cfg(not(unix))]
fn private(_: &Path) -> Result<()> {
    Ok(())
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(id::FILE_FAILED, format!("cannot {what} {}: {error}", path.display()))
        .hinted("run swdt as root, for example with sudo")
}

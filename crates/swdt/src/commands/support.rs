//! `swdt cluster support-bundle`

use std::path::Path;

use swdt_core::{Error, ErrorKind, Result, id, run};

use super::{block_on, chosen};
use crate::{
    args::{Format, Global},
    host, out,
    render::{Volume, bytes, count},
};

pub(super) fn run(global: &Global, output: Option<&Path>, format: Format) -> Result<()> {
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    let path = output.map_or_else(|| run::bundle_name(&spec).into(), Path::to_owned);
    let path = host::absolute(&path)?;
    if path.exists() {
        let message = format!("{} is there already", path.display());
        return Err(Error::new(id::FILE_EXISTS, message).hinted("choose another name, or remove it first"));
    }
    if global.volume() != Volume::Quiet && !format.json() {
        out::error_line(&format!("asking {}", count(spec.nodes.len() as u64, "machine")));
    }
    let collected = block_on(run::support_bundle(&host, &spec, &path, env!("CARGO_PKG_VERSION")))?;
    if format.json() {
        let mut document = serde_json::json!(collected);
        document["cluster"] = spec.name.into();
        out::line(&document.to_string());
    } else if global.volume() != Volume::Quiet {
        for missing in &collected.missing {
            out::error_line(&format!("not collected: {}: {}", missing.what, missing.why));
        }
        out::line(&format!(
            "{}: {} in {}; look at index.md in it before you send it",
            path.display(),
            count(collected.files as u64, "file"),
            bytes(collected.bytes)
        ));
    }
    Ok(())
}

/// After a failure that more than the message may be needed for.
pub(super) fn offered(error: Error) -> Error {
    use ErrorKind::{Cluster, Internal, Machine, Resource};
    if matches!(error.kind(), Resource | Cluster | Machine | Internal) {
        return error
            .hinted("`swdt cluster support-bundle` collects what helps to find the cause, without secrets");
    }
    error
}

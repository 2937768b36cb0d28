//! `swdt config …`

use std::path::Path;

use swdt_core::{Error, ErrorKind, Result, spec::Spec};

use crate::{
    args::{Format, OutputFormat},
    host, out,
    render::count,
};

/// Reads and checks a configuration file.
pub(super) fn read(path: &Path) -> Result<(Spec, Vec<u8>)> {
    let bytes = std::fs::read(path).map_err(|error| {
        Error::new(ErrorKind::Config, format!("cannot read {}: {error}", path.display()))
            .hinted("give the path of a file that describes a cluster; the `examples` directory has some")
    })?;
    let spec = load(&path.to_string_lossy(), &bytes, &base_dir(path)?)?;
    Ok((spec, bytes))
}

/// Relative paths in a file are relative to the file.
pub(super) fn base_dir(path: &Path) -> Result<std::path::PathBuf> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::new(ErrorKind::Config, format!("{}: {error}", path.display())))?;
    Ok(absolute.parent().unwrap_or(Path::new("/")).to_owned())
}

pub(super) fn load(name: &str, bytes: &[u8], base: &Path) -> Result<Spec> {
    swdt_core::config::load(name, bytes, host::home().as_deref(), base).map_err(Error::from)
}

/// Says whether a file is right; every problem at once if not.
pub(super) fn validate(path: &Path, format: Format) -> Result<u8> {
    let (spec, _) = read(path)?;
    if format.format == Some(OutputFormat::Json) {
        out::line(&serde_json::json!({ "valid": true, "cluster": spec.name, "nodes": spec.nodes.len() }).to_string());
    } else {
        out::line(&format!(
            "{} is right: cluster {}, Kubernetes {}, {}",
            path.display(),
            spec.name,
            spec.kubernetes,
            count(spec.nodes.len() as u64, "node")
        ));
    }
    Ok(0)
}

pub(super) fn schema(output: Option<&Path>) -> Result<()> {
    let text = format!("{:#}\n", swdt_core::config::schema());
    match output {
        None => out::raw(text.as_bytes()),
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Error::new(ErrorKind::Usage, format!("cannot write {}: {error}", path.display()))
        })?,
    }
    Ok(())
}

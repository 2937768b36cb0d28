//! `swdt get …`

use std::path::{Path, PathBuf};

use swdt_core::{Error, Result, id, kube::kubeconfig, remote::Chunk, run};

use super::{
    block_on, chosen,
    streams::{self, Input},
};
use crate::{
    args::{Global, KubeconfigFormat, KubeconfigPlace, KubectlFormat, Namespaces},
    host, out,
    render::Volume,
};

/// Error output of kubectl that is kept.
const COMPLAINTS: usize = 64 << 10;

/// Lists objects as kubectl does.
pub(super) fn objects(
    global: &Global,
    kind: &str,
    names: &[String],
    namespaces: Option<&Namespaces>,
    format: KubectlFormat,
) -> Result<()> {
    let mut arguments = vec!["get".to_owned(), kind.to_owned()];
    if let Some(Namespaces { namespace, all_namespaces }) = namespaces {
        arguments.extend(namespace.iter().map(|name| format!("--namespace={name}")));
        arguments.extend(all_namespaces.then(|| "--all-namespaces".to_owned()));
    }
    arguments.extend(format.name().map(|name| format!("--output={name}")));
    arguments.push("--".to_owned());
    arguments.extend(names.iter().cloned());
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    block_on(async {
        let running = run::kube(&host, &spec).await?.start(&arguments, None).await?;
        let mut complaints = Vec::new();
        let mut take = |chunk: Chunk| match chunk {
            Chunk::Stderr(bytes) => {
                complaints.extend(bytes.iter().take(COMPLAINTS.saturating_sub(complaints.len())));
                Ok(None)
            }
            other => streams::show(other),
        };
        let code = streams::pass(running, Input::None, &mut take).await?;
        if code == 0 {
            // `No resources found` is no error.
            out::raw_error(&complaints);
            return Ok(());
        }
        let text = String::from_utf8_lossy(&complaints);
        Err(Error::new(id::KUBECTL_FAILED, format!("kubectl could not get the {kind}"))
            .with_output(text.lines().map(ToOwned::to_owned).collect()))
    })
}

/// Prints, writes or merges the kubeconfig.
pub(super) fn kubeconfig(global: &Global, place: &KubeconfigPlace, format: KubeconfigFormat) -> Result<()> {
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    let (made, silent) = block_on(run::kubeconfig(&host, &spec))?;
    let text = if format.json() { made.json() } else { made.yaml() };
    let told = match (&place.output, &place.merge) {
        (Some(path), _) => {
            kubeconfig::write(path, &made, &text, place.force)?;
            Some(format!("written to {}; use it with KUBECONFIG={}", path.display(), path.display()))
        }
        (None, Some(file)) => {
            let path = file.clone().map_or_else(users_own, Ok)?;
            kubeconfig::merge_into(&path, &made, place.current)?;
            let how = if place.current {
                "kubectl uses it now".to_owned()
            } else {
                format!("use it with `kubectl --context {}`", made.name())
            };
            Some(format!("context {} is in {}; {how}", made.name(), path.display()))
        }
        (None, None) => {
            out::raw(text.expose().as_bytes());
            None
        }
    };
    if global.volume() != Volume::Quiet {
        if let Some(told) = told {
            out::error_line(&told);
        }
        if let Some(server) = silent {
            out::error_line(&format!(
                "warning: {server} does not answer here; `swdt kubectl` goes through SSH and works"
            ));
        }
    }
    Ok(())
}

/// The kubeconfig that kubectl writes to: of those in KUBECONFIG the first that exists, or the last.
fn users_own() -> Result<PathBuf> {
    let list = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty());
    if let Some(list) = list {
        let paths: Vec<PathBuf> =
            std::env::split_paths(&list).filter(|path| *path != Path::new("")).collect();
        let found = paths.iter().find(|path| path.exists()).or(paths.last());
        if let Some(path) = found {
            return Ok(path.clone());
        }
    }
    let home = host::home().ok_or_else(|| {
        Error::new(id::HOME_UNKNOWN, "cannot find your home directory")
            .hinted("name the file: `--merge FILE`")
    })?;
    Ok(home.join(".kube/config"))
}

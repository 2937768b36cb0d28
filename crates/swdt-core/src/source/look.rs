//! Looking without fetching: what would serve a want, whether it is there, and what is wrong with it already.

use std::{fs, path::Path};

use serde::Serialize;

use super::{Artifact, Sources, Want, binary, cache::digest_of, files, lock::Lock, patch, recipe::recipe};
use crate::{Error, Result, files::failed, id, spec::Source};

/// What is known of a want before anybody is asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Looked {
    /// What would serve it, in words.
    pub source: String,
    /// Is everything of it on this host?
    pub here: bool,
    /// The programs, where they are there.
    pub programs: Vec<Artifact>,
}

impl Sources {
    /// Looks at one want; asks no server and builds nothing.
    pub fn look(&self, want: &Want, lock: &Lock) -> Result<Looked> {
        let cached = match lock.pinned(want, self.cache())? {
            Some(pinned) => Some(pinned),
            None => match &want.source {
                Some(Source::Files(paths)) => {
                    paths.get(&want.platform).map(|path| on_disk(want, path)).transpose()?
                }
                Some(Source::Url(downloads)) => match downloads.get(&want.platform) {
                    Some(download) => self.cache().blob(&download.sha256)?.map(|blob| {
                        let recipe = recipe(want.piece);
                        let name = recipe.programs(want.platform).next().map(|one| one.file(want.platform));
                        vec![Artifact::new(name.unwrap_or_default(), blob, download.url.clone())]
                    }),
                    None => None,
                },
                _ => self.at_hand(want)?,
            },
        };
        let source = match (&want.source, &cached) {
            (Some(source), _) => words(source, want),
            (None, Some(programs)) => programs.first().map_or_else(String::new, |one| one.from.clone()),
            (None, None) if patch::is_rehearsed(&want.version) => "build".to_owned(),
            (None, None) => "release, else build".to_owned(),
        };
        Ok(Looked { source, here: cached.is_some(), programs: cached.unwrap_or_default() })
    }
}

/// What is wrong with what the user named on this host, all of it, before a machine is touched.
pub fn early(wants: &[Want]) -> Vec<Error> {
    let wrong = |want: &Want| match &want.source {
        Some(Source::Files(paths)) => {
            let path = paths.get(&want.platform)?;
            on_disk(want, path).and_then(|programs| {
                let check = |one: &Artifact| binary::check(&one.path, &one.name, want.platform, &one.from);
                programs.iter().try_for_each(check)
            })
        }
        .err(),
        Some(Source::Checkout { path }) if !path.is_dir() => Some(
            Error::new(id::SOURCE_TREE_WRONG, format!("there is no source tree at {}", path.display()))
                .hinted("name the directory that has go.mod in it"),
        ),
        Some(Source::Bundle { path }) => fs::metadata(path).err().map(|error| failed("read", path, &error)),
        _ => None,
    };
    let mut errors: Vec<Error> = Vec::new();
    for error in wants.iter().filter_map(|want| Some(wrong(want)?.at(&super::resolve::label(want)))) {
        if errors.iter().all(|known| known.to_string() != error.to_string()) {
            errors.push(error);
        }
    }
    errors
}

fn on_disk(want: &Want, path: &Path) -> Result<Vec<Artifact>> {
    let artifact = |(name, path): (String, std::path::PathBuf)| {
        let meta = fs::metadata(&path).map_err(|error| failed("read", &path, &error))?;
        let (sha256, from) = (digest_of(&path)?, format!("file {}", path.display()));
        Ok(Artifact { name, path, sha256, size: meta.len(), from })
    };
    files::places(want, path)?.into_iter().map(artifact).collect()
}

fn words(source: &Source, want: &Want) -> String {
    match source {
        Source::Release { mirror: None } => "release".to_owned(),
        Source::Release { mirror: Some(mirror) } => format!("release at {mirror}"),
        Source::Files(paths) => paths
            .get(&want.platform)
            .map_or_else(|| "files".to_owned(), |path| format!("file {}", path.display())),
        Source::Url(downloads) => {
            downloads.get(&want.platform).map_or_else(|| "url".to_owned(), |download| download.url.clone())
        }
        Source::Checkout { path } => format!("built from {}", path.display()),
        Source::Build { repository: None, reference } => format!("build of {reference}"),
        Source::Build { repository: Some(repository), reference } => {
            format!("build of {reference} of {repository}")
        }
        Source::Bundle { path } => format!("bundle {}", path.display()),
    }
}

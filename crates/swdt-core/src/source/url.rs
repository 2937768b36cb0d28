//! Downloads that the user named, with the checksum they must have.

use super::{Artifact, Context, Want, blocking, http::Checksum, recipe::recipe};
use crate::{Error, Result, id, spec::Download};

/// The one program of the piece.
pub(super) async fn obtain(ctx: &Context, want: &Want, download: &Download) -> Result<Vec<Artifact>> {
    let programs: Vec<_> = recipe(want.piece).programs(want.platform).collect();
    let [program] = programs[..] else {
        let names: Vec<_> = programs.iter().map(|program| program.file(want.platform)).collect();
        let message =
            format!("{} is several programs ({}); an address names one", want.piece, names.join(", "));
        return Err(Error::new(id::SOURCE_LACKS, message).hinted("use `source: files` with a directory"));
    };
    let expected = Checksum::parse(&download.sha256).ok_or_else(|| {
        Error::new(id::VALUE_INVALID, format!("`{}` is no SHA-256", download.sha256))
            .hinted("write 64 hexadecimal digits")
    })?;
    let (cache, http, url) = (ctx.cache.clone(), ctx.http.clone(), download.url.clone());
    // What has this digest is the file, wherever it came from.
    if let Some(blob) = cache.blob(&download.sha256)? {
        return Ok(vec![Artifact::new(program.file(want.platform), blob, url)]);
    }
    ctx.reporter.doing(format!("fetching {url}"));
    let blob = blocking({
        let url = url.clone();
        move || http.checked(&cache, &url, &expected)
    })
    .await?;
    Ok(vec![Artifact::new(program.file(want.platform), blob, url)])
}

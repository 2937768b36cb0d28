//! `swdt image …`

use swdt_core::{
    Error, id,
    image::{Reference, Wanted},
    run::{self, How},
};

use super::{block_on, chosen, node, resumable};
use crate::{
    args::{Format, Global},
    failure::Failed,
    host, out,
    render::{self, Table},
};

pub(super) fn load(
    global: &Global,
    what: &str,
    nodes: &[String],
    name: Option<&str>,
    format: Format,
) -> Result<(), Failed> {
    let wanted = Wanted::parse(what)?;
    let name = name.map(Reference::parse).transpose()?;
    if name.is_some() && matches!(wanted, Wanted::Reference(_)) {
        let error = Error::new(id::ARGUMENTS_CONFLICT, "`--as` names the image of an archive");
        return Err(error.hinted("an image that nodes pull has its name already").into());
    }
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    let mut chosen = Vec::new();
    for name in nodes {
        let (_, node) = node::find(global, &host.dirs, name)?;
        if !chosen.contains(&node) {
            chosen.push(node);
        }
    }
    if chosen.is_empty() {
        chosen.clone_from(&spec.nodes);
    }
    let sink: run::Sink =
        if format.json() { Box::new(|_| ()) } else { render::renderer(format, global.volume()) };
    let loaded = block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::load_image(&host, &spec, &chosen, &wanted, name, sink).await
    })
    .map_err(resumable)?;
    if format.json() {
        out::line(&serde_json::json!({ "cluster": spec.name, "loaded": loaded }).to_string());
        return Ok(());
    }
    let mut table = Table::new(["NODE", "IMAGE", "HOW", "DIGEST"]);
    for image in loaded {
        let how = match image.how {
            How::Imported => "imported",
            How::Pulled => "pulled",
            How::ThereAlready => "there already",
        };
        table.row([image.node, image.image, how.to_owned(), image.digest]);
    }
    out::end_live();
    out::line(&table.coloured(out::width()));
    Ok(())
}

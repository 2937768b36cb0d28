//! `swdt test …`

use swdt_core::{run, smoke};

use super::{block_on, chosen};
use crate::{
    args::{Format, Global},
    failure::Failed,
    host, out,
    render::{self, Table, duration},
};

/// Runs the smoke test again. What was tried goes to standard output, also when something failed.
pub(super) fn smoke(global: &Global, format: Format) -> Result<(), Failed> {
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    let sink: run::Sink =
        if format.json() { Box::new(|_| ()) } else { render::renderer(format, global.volume()) };
    let checks = block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::smoke_test(&host, &spec, sink).await
    })?;
    let verdict = smoke::verdict(&checks);
    if format.json() {
        let document = serde_json::json!({ "cluster": spec.name, "ok": verdict.is_ok(), "checks": checks });
        out::line(&document.to_string());
    } else {
        let mut table = Table::new(["CHECK", "TOOK", "SEEN", "TRIED"]);
        for check in &checks {
            let seen = check.seen.lines().next().unwrap_or_default();
            let seen = if check.ok { seen.to_owned() } else { format!("FAILED {seen}") };
            table.row([check.name.clone(), duration(check.took_ms), seen, check.tried.clone()]);
        }
        out::end_live();
        out::line(&table.text(out::width()));
    }
    Ok(verdict?)
}

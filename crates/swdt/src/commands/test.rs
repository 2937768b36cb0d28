//! `swdt test …`

use swdt_core::{
    run::{
        self,
        e2e::{self, Choice},
    },
    smoke::{self, Check, Verdict},
};

use super::{block_on, chosen};
use crate::{
    args::{E2eOptions, Format, Global},
    failure::Failed,
    host, out,
    render::{self, Table, Volume, duration},
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
            let (took, seen) = match check.verdict {
                Verdict::Passed => (duration(check.took_ms), seen.to_owned()),
                Verdict::Failed => (duration(check.took_ms), format!("FAILED {seen}")),
                Verdict::Skipped => ("-".to_owned(), seen.to_owned()),
            };
            table.row([check.name.clone(), took, seen, check.tried.clone()]);
        }
        out::end_live();
        out::line(&table.coloured(out::width()));
        out::line(&told(&checks));
    }
    Ok(verdict?)
}

/// How many of which sort; what was not tried counts as neither.
fn told(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let all = [(Verdict::Passed, "passed"), (Verdict::Failed, "failed"), (Verdict::Skipped, "not tried")];
    let counted = all.map(|(verdict, word)| (count(verdict), word));
    let there = counted.iter().filter(|(count, word)| *count > 0 || *word == "passed");
    there.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Runs tests of Kubernetes' own. What was tried goes to standard output, also when something failed.
pub(super) fn e2e(global: &Global, options: &E2eOptions) -> Result<(), Failed> {
    let host = host::host(global, false)?;
    let dir = host.dirs.cluster(&chosen(global, &host.dirs)?);
    let spec = dir.load_spec()?;
    let reports = match &options.reports {
        Some(path) => host::absolute(path)?,
        None => dir.root().join("e2e"),
    };
    let choice = Choice {
        focus: options.focus.clone(),
        skip: options.skip.clone(),
        timeout: options.timeout.clone(),
        reports,
    };
    let json = options.format.json();
    let sink: run::Sink =
        if json { Box::new(|_| ()) } else { render::renderer(options.format, global.volume()) };
    let loud = !json && global.volume() == Volume::Verbose;
    // Which test runs now; all they say is in the log.
    let mut show = |line: &str| {
        if loud
            || (!json && global.volume() != Volume::Quiet && line.starts_with('[') && line.contains("[It]"))
        {
            out::error_line(line);
        }
    };
    let tried = block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        e2e::e2e(&host, &spec, &choice, sink, &mut show).await
    })?;
    let verdict = e2e::verdict(&tried);
    let junit = choice.reports.join("junit.xml");
    if json {
        let document = serde_json::json!({ "cluster": spec.name, "ok": verdict.is_ok(), "junit": junit, "tests": tried });
        out::line(&document.to_string());
    } else {
        let mut table = Table::new(["RESULT", "TOOK", "TEST"]);
        for one in &tried {
            let result = if one.ok { "passed" } else { "FAILED" };
            table.row([result.to_owned(), duration(one.took_ms), one.name.clone()]);
        }
        out::end_live();
        out::line(&table.coloured(out::width()));
        out::line(&format!("report: {}", junit.display()));
    }
    Ok(verdict?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_tried_is_not_counted_as_passed() {
        let check =
            |verdict| Check { name: "a".into(), tried: "b".into(), seen: "c".into(), verdict, took_ms: 1 };
        let mut checks = vec![check(Verdict::Passed), check(Verdict::Passed)];
        assert_eq!(told(&checks), "2 passed");
        checks.extend([check(Verdict::Skipped), check(Verdict::Failed), check(Verdict::Skipped)]);
        assert_eq!(told(&checks), "2 passed, 1 failed, 2 not tried");
        assert!(smoke::verdict(&checks).is_err() && smoke::verdict(&checks[..3]).is_ok());
    }
}

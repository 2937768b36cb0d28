//! Exactly this line, once, in a file that others write to as well.

use swdt_wire::{Line, PathPrior, Prior, Status};

use super::{Behaviour, Reverted, foreign, path};
use crate::{Ctx, Error, Result, os::NEWLINE};

impl Behaviour for Line {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        path::absolute(&self.path)?;
        if self.line.is_empty() || self.line.contains(['\n', '\r', '\0']) {
            return Err(Error::new(format!("{:?} is no line", self.line)));
        }
        path::no_dir_in_the_way(ctx, &self.path)?;
        let text = ctx.read(&self.path)?.unwrap_or_default();
        Ok(match count(&text, &self.line) {
            1 => Status::Satisfied,
            0 => Status::Differs("the line is missing".into()),
            count => Status::Differs(format!("the line stands there {count} times")),
        })
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let present = count(&ctx.read(&self.path)?.unwrap_or_default(), &self.line) > 0;
        Ok(Prior::Line { file: path::capture(ctx, &self.path)?, present })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        path::make_parents(ctx, &self.path)?;
        let text = ctx.read(&self.path)?.unwrap_or_default();
        write(ctx, &self.path, &with_line(&text, &self.line))
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Line { file, present } = prior else { return Err(foreign("line")) };
        let Some(text) = ctx.read(&self.path)? else { return path::revert(ctx, file, false, force) };
        let before = path::prior_bytes(ctx, file)?;
        if text == with_line(&before.unwrap_or_default(), &self.line) || path::is_prior(ctx, file)? {
            path::restore(ctx, file)?;
            return Ok(Reverted::Yes);
        }
        // Others wrote to the file after us, which is what it is for: only our line goes.
        if *present {
            return Ok(Reverted::Yes);
        }
        take_out(ctx, self, &text, file)?;
        Ok(Reverted::Yes)
    }
}

/// Removes the line and nothing else.
fn take_out(ctx: &Ctx, it: &Line, text: &[u8], prior: &PathPrior) -> Result<()> {
    let rest = lines(text).filter(|line| !is(line, &it.line)).collect::<Vec<_>>().concat();
    if rest.is_empty() && prior.was.is_none() {
        return path::restore(ctx, prior);
    }
    if rest == text { Ok(()) } else { write(ctx, &it.path, &rest) }
}

/// The text with the line in it once: where it stands first, otherwise at the end.
pub(crate) fn with_line(text: &[u8], line: &str) -> Vec<u8> {
    let mut seen = false;
    let mut with: Vec<u8> = lines(text)
        .filter(|part| !is(part, line) || !std::mem::replace(&mut seen, true))
        .collect::<Vec<_>>()
        .concat();
    if !seen {
        if !with.is_empty() && !with.ends_with(b"\n") {
            with.extend_from_slice(NEWLINE.as_bytes());
        }
        with.extend_from_slice(line.as_bytes());
        with.extend_from_slice(NEWLINE.as_bytes());
    }
    with
}

pub(crate) fn count(text: &[u8], line: &str) -> usize {
    lines(text).filter(|part| is(part, line)).count()
}

/// Lines with their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn is(part: &[u8], line: &str) -> bool {
    let part = part.strip_suffix(NEWLINE.as_bytes()).or(part.strip_suffix(b"\n")).unwrap_or(part);
    part == line.as_bytes()
}

/// Writes the file with the mode and owner it has.
fn write(ctx: &Ctx, at: &str, text: &[u8]) -> Result<()> {
    match path::look(ctx, at)? {
        Some(meta) if meta.is_file() => ctx.write(at, text, meta.mode(), Some(meta.owner())),
        _ => ctx.write(at, text, 0o644, Some(ctx.owner())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_stands_there_once() {
        for (before, after) in [
            ("", "x\n"),
            ("a", "a\nx\n"),
            ("a\n", "a\nx\n"),
            ("x", "x"),
            ("x\nb\nx\n", "x\nb\n"),
            ("xx\n x\n", "xx\n x\nx\n"),
        ] {
            assert_eq!(String::from_utf8(with_line(before.as_bytes(), "x")).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn lines_others_add_later_stay() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        let file = root.path().join("hosts");
        std::fs::write(&file, "a").unwrap();
        let line = Line { path: "/hosts".into(), line: "x".into() };
        let prior = line.prior(&ctx).unwrap();
        line.apply(&ctx, &prior).unwrap();
        std::fs::write(&file, "a\nx\nb\n").unwrap();
        assert_eq!(line.revert(&ctx, &prior, false).unwrap(), Reverted::Yes);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\nb\n");
    }
}

//! Events become text. Renderers only consume; they decide nothing.

mod json;
mod live;
mod plain;

use std::io::IsTerminal;

use swdt_core::event::Event;

use crate::args::{Format, Global, OutputFormat};

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Volume {
    Quiet,
    Normal,
    Verbose,
}

impl Global {
    pub(crate) fn volume(&self) -> Volume {
        match (self.quiet, self.verbose) {
            (true, _) => Volume::Quiet,
            (_, true) => Volume::Verbose,
            _ => Volume::Normal,
        }
    }
}

/// The renderer that fits the terminal and the flags.
pub(crate) fn renderer(format: Format, volume: Volume) -> Box<dyn FnMut(&Event) + Send> {
    match format.format {
        Some(OutputFormat::Json) => Box::new(json::render),
        Some(OutputFormat::Plain) => plain::renderer(volume),
        // Verbose output scrolls; a live display would fight with it.
        None if std::io::stderr().is_terminal() && volume == Volume::Normal => live::renderer(),
        None => plain::renderer(volume),
    }
}

/// A renderer for events of the past: everything scrolls.
pub(crate) fn replay(format: Format, volume: Volume) -> Box<dyn FnMut(&Event) + Send> {
    match format.format {
        Some(OutputFormat::Json) => Box::new(json::render),
        _ => plain::renderer(volume),
    }
}

/// `850 ms`, `12.3 s`, `4 min 05 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// `1 node`, `2 nodes`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!(duration(7), "7 ms");
        assert_eq!(duration(12_345), "12.3 s");
        assert_eq!(duration(245_000), "4 min 05 s");
        assert_eq!(count(1, "write"), "1 write");
        assert_eq!(count(0, "write"), "0 writes");
    }
}

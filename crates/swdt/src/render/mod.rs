//! Events become text. Renderers only consume; they decide nothing.

mod forecast;
mod json;
pub(crate) mod keys;
mod lane;
mod live;
mod plain;
mod resource;
mod table;
mod tally;
mod words;

use swdt_core::event::{Event, EventKind};

pub(crate) use resource::describe;
pub(crate) use swdt_core::words::wrapped;
pub(crate) use table::Table;
pub(crate) use words::{bytes, count, duration};

use crate::{
    args::{Format, Global},
    out,
};

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

/// Takes events, shows them.
pub(crate) type Renderer = Box<dyn FnMut(&Event) + Send>;

/// The renderer that fits the terminal and the flags.
pub(crate) fn renderer(format: Format, volume: Volume) -> Renderer {
    // Verbose output scrolls; a live display would fight with it.
    if volume == Volume::Normal && !format.json() && !format.plain() && live::possible() {
        return live::renderer();
    }
    scrolling(format, volume)
}

/// A renderer for events of the past: everything scrolls, and why a run failed is told, too; whoever runs a command is
/// told that by the command itself.
pub(crate) fn replay(format: Format, volume: Volume) -> Renderer {
    let mut render = scrolling(format, volume);
    Box::new(move |event| {
        render(event);
        if let EventKind::Finished { error: Some(error), .. } = &event.kind
            && !format.json()
            && volume != Volume::Quiet
        {
            out::line(&format!("error: {error}"));
        }
    })
}

fn scrolling(format: Format, volume: Volume) -> Renderer {
    if format.json() { Box::new(json::render) } else { plain::renderer(volume) }
}

/// Events as a run reports them, for the tests of renderers.
#[cfg(test)]
mod recorded;

//! One JSON document a line, for programs.

use swdt_core::event::Event;

use crate::out;

pub(super) fn render(event: &Event) {
    if let Ok(line) = serde_json::to_string(event) {
        out::line(&line);
    }
}

//! What is wrong with an answer, and what was found by looking.

use ratatui::text::Line;
use swdt_core::{Error, run::Seen};

use super::{Drawn, INDENT, wrapped};
use crate::{field::Field, looks::Known, nodes::gibibytes, pages::Page};

/// Moves while somebody looks.
const SPINNER: [&str; 6] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"];

impl Drawn<'_> {
    /// Everything there is to say about the answer of a question.
    pub(super) fn verdicts(&self, at: usize, field: &Field) -> Vec<Line<'static>> {
        let style = self.style;
        let mut lines = Vec::new();
        // What nobody has answered yet is no mistake.
        let open = field.unanswered(&self.model.document);
        for wrong in self.model.verdict.about(&self.model.document, self.fields, at).filter(|_| !open) {
            lines.extend(wrapped(&format!("✗ {}", wrong.message), self.width, INDENT, style.bad()));
            lines.extend(wrapped(&format!("→ {}", wrong.hint), self.width, INDENT, style.quiet()));
        }
        if let Some(doubt) = &field.doubt {
            lines.extend(wrapped(&format!("! {doubt}"), self.width, INDENT, style.doubt()));
        }
        if let (Page::Node(number), true) = (self.model.page, field.path.ends_with(".address")) {
            lines.extend(self.machine(number, INDENT));
        }
        lines
    }

    /// What was found of the machine of a node.
    pub(super) fn machine(&self, number: usize, indent: &'static str) -> Vec<Line<'static>> {
        let (model, style) = (self.model, self.style);
        let spinner = SPINNER[model.beat % SPINNER.len()];
        let line = |text: String, face| wrapped(&text, self.width, indent, face);
        let mut lines = match model.known(number) {
            None => return Vec::new(),
            Some(Known::Entering) => line(format!("{spinner} trying to log in …"), style.quiet()),
            Some(Known::Entered(place)) => line(format!("✓ {place} lets you in"), style.good()),
            Some(Known::Looking) => line(format!("{spinner} looking what it is …"), style.quiet()),
            Some(Known::Seen(seen)) => self.seen(number, seen, indent),
            Some(Known::Failed(error)) => self.failed(error, indent),
        };
        let name = model.verdict.nodes.get(number).and_then(|node| Some(node.as_ref()?.name.as_str()));
        for note in model.notes().iter().filter(|note| Some(note.node.as_str()) == name) {
            let (sign, face) = if note.stops { ("✗", style.bad()) } else { ("!", style.doubt()) };
            lines.extend(line(format!("{sign} {}", note.text), face));
        }
        lines
    }

    fn seen(&self, number: usize, seen: &Seen, indent: &'static str) -> Vec<Line<'static>> {
        let facts = &seen.facts;
        let build =
            facts.windows.as_ref().map(|windows| format!(" (build {}.{})", windows.build, windows.ubr));
        let text = format!(
            "✓ {}{}, {} processors, {}",
            facts.os.name,
            build.unwrap_or_default(),
            facts.cpus,
            gibibytes(facts.memory_mib)
        );
        let mut lines = wrapped(&text, self.width, indent, self.style.good());
        let own = self.model.candidate(number).map(|candidate| candidate.cluster);
        if let Some(other) = seen.cluster.as_ref().filter(|other| Some(*other) != own.as_ref()) {
            let text = format!("✗ it is a node of the cluster {other} already");
            lines.extend(wrapped(&text, self.width, indent, self.style.bad()));
        }
        lines
    }

    fn failed(&self, error: &Error, indent: &'static str) -> Vec<Line<'static>> {
        let style = self.style;
        let mut lines = wrapped(&format!("! {}", error.message), self.width, indent, style.doubt());
        let trust =
            self.model.unknown_host_key().map(|_| "if it is the same, Ctrl-T writes it into the file");
        for hint in error.hints.iter().map(String::as_str).take(1).chain(trust) {
            lines.extend(wrapped(&format!("→ {hint}"), self.width, indent, style.quiet()));
        }
        lines
    }
}

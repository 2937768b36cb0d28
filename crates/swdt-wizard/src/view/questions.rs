//! The questions of a page: one line each, and all about the one that is being answered.

mod outcome;

use std::ops::Range;

use ratatui::{
    style::Style as Face,
    text::{Line, Span},
};
use swdt_core::spec::Spec;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{CURSOR, STRONG, Style};
use crate::{
    field::{Action, Choice, Field, Kind},
    finish,
    looks::Known,
    model::Model,
    nodes,
    pages::Page,
};

/// Columns for the label of a question.
const LABEL: usize = 13;
/// What stands before everything that belongs to the question above it.
const INDENT: &str = "  ";

/// All lines of the page, and those of the question that is being answered. Where there is room, questions stand apart
/// and the page says what it is about.
pub(super) fn lines(
    model: &Model,
    style: Style,
    width: usize,
    height: usize,
) -> (Vec<Line<'static>>, Range<usize>) {
    let mut page = Drawn { model, style, width, fields: &model.fields(), roomy: true };
    let drawn = page.lines();
    if drawn.0.len() <= height {
        return drawn;
    }
    page.roomy = false;
    page.lines()
}

/// A page as it is drawn.
struct Drawn<'a> {
    model: &'a Model,
    style: Style,
    width: usize,
    fields: &'a [Field],
    /// There is room for more than must be.
    roomy: bool,
}

impl Drawn<'_> {
    fn lines(&self) -> (Vec<Line<'static>>, Range<usize>) {
        let mut lines = vec![Line::default()];
        lines.extend(self.opening());
        let mut focus = 0..0;
        for (at, field) in self.fields.iter().enumerate() {
            let begin = lines.len();
            match field.kind {
                Kind::Action(action) => lines.extend(self.action(at, field, action)),
                _ if at == self.model.focus => lines.extend(self.question(at, field)),
                _ => lines.extend(self.line(at, field)),
            }
            if at == self.model.focus {
                focus = begin..lines.len();
            }
        }
        lines.extend(self.closing());
        (lines, focus)
    }

    /// A question that is being answered.
    fn question(&self, at: usize, field: &Field) -> Vec<Line<'static>> {
        let style = self.style;
        let mut title = vec![Span::styled("● ", style.title()), Span::styled(field.label, style.title())];
        if let Kind::Choice(choices) = &field.kind
            && choices.len() > 1
        {
            title.push(Span::styled("  ←→ choose", style.quiet()));
        }
        let mut lines = vec![Line::from(title)];
        match &field.kind {
            Kind::Choice(choices) => {
                lines.extend(self.choices(field, choices));
                lines.extend(self.roomy.then(Line::default));
            }
            _ => lines.extend(self.input(field)),
        }
        lines.extend(self.verdicts(at, field));
        lines.extend(wrapped(&field.why, self.width, INDENT, style.quiet()));
        lines.push(Line::default());
        lines
    }

    /// A question that is not: its answer, and whether it is one.
    fn line(&self, at: usize, field: &Field) -> Vec<Line<'static>> {
        let (style, told) = (self.style, field.told(&self.model.document));
        let wrong = self.model.verdict.about(&self.model.document, self.fields, at).next();
        let open = wrong.is_some() && field.unanswered(&self.model.document);
        let mark = match wrong {
            Some(_) if open => Span::styled("○ ", style.doubt()),
            Some(_) => Span::styled("✗ ", style.bad()),
            None => Span::styled("· ", style.quiet()),
        };
        let face = if told.said { Face::new() } else { style.quiet() };
        let text = match told.text {
            _ if open => "still to be said".to_owned(),
            text if text.is_empty() => "…".to_owned(),
            text => text,
        };
        let text = shortened(&text, self.width.saturating_sub(LABEL + 2));
        let mut lines = vec![Line::from(vec![
            mark,
            Span::raw(format!("{:LABEL$}", field.label)),
            Span::styled(text, face),
        ])];
        if wrong.is_none()
            && let Some(doubt) = &field.doubt
        {
            lines.extend(wrapped(&format!("! {doubt}"), self.width, INDENT, style.doubt()));
        }
        if self.roomy {
            lines.push(Line::default());
        }
        lines
    }

    /// What is typed, in a bubble. Of a long answer, the part around the cursor.
    fn input(&self, field: &Field) -> Vec<Line<'static>> {
        let style = self.style;
        let room = self.width.saturating_sub(6).max(1);
        let letters: Vec<char> = field.answer(&self.model.document).chars().collect();
        let at = self.model.cursor.min(letters.len());
        let from = (at + 1).saturating_sub(room);
        let shown: Vec<char> = letters.iter().copied().skip(from).take(room).collect();
        let at = at - from;
        let text = |letters: &[char]| letters.iter().collect::<String>();
        let under = shown.get(at).copied().unwrap_or(' ');
        let behind = shown.get(at + 1..).map(text).unwrap_or_default();
        let mut inside =
            vec![Span::raw(text(&shown[..at])), Span::styled(under.to_string(), CURSOR), Span::raw(behind)];
        if letters.is_empty() {
            let default = field.told(&self.model.document).text;
            inside.push(Span::styled(shortened(&default, room.saturating_sub(1)), style.quiet()));
        }
        let used: usize = inside.iter().map(|span| span.content.width()).sum();
        let border = |left: &str, right: &str| {
            Line::styled(format!("{INDENT}{left}{}{right}", "─".repeat(room + 2)), style.frame())
        };
        let mut middle = vec![Span::styled(format!("{INDENT}│ "), style.frame())];
        middle.extend(inside);
        middle.push(Span::raw(" ".repeat(room.saturating_sub(used))));
        middle.push(Span::styled(" │", style.frame()));
        vec![border("╭", "╮"), Line::from(middle), border("╰", "╯")]
    }

    fn choices(&self, field: &Field, choices: &[Choice]) -> Vec<Line<'static>> {
        let style = self.style;
        let chosen = field.chosen(&self.model.document);
        let longest = choices.iter().map(|choice| choice.label.width()).max().unwrap_or(0);
        let mut lines: Vec<Line<'static>> = Vec::new();
        if chosen.is_none() {
            let text = format!("{INDENT}◉ {}", field.answer(&self.model.document));
            lines.push(Line::styled(shortened(&text, self.width), style.title()));
        }
        for (at, choice) in choices.iter().enumerate() {
            let (mark, face) = if Some(at) == chosen { ("◉", style.title()) } else { ("○", Face::new()) };
            let label = shortened(&choice.label, self.width.saturating_sub(4));
            let about = self.width.saturating_sub(longest + 6);
            let mut spans = vec![Span::styled(format!("{INDENT}{mark} {label}"), face)];
            if choice.about.width() <= about {
                let space = " ".repeat(longest.saturating_sub(label.width()) + 2);
                spans.push(Span::styled(format!("{space}{}", choice.about), style.quiet()));
                lines.push(Line::from(spans));
            } else {
                lines.push(Line::from(spans));
                lines.extend(wrapped(&choice.about, self.width, "    ", style.quiet()));
            }
        }
        lines
    }

    /// A line that Enter acts on.
    fn action(&self, at: usize, field: &Field, action: Action) -> Vec<Line<'static>> {
        match action {
            Action::EditNode(number) => return self.node(at, number),
            Action::Visit(wrong) => return self.to_do(at, wrong),
            _ => {}
        }
        let style = self.style;
        let sign = match action {
            Action::AddNode(_) => "+",
            Action::RemoveNode(_) => "−",
            Action::GoOn | Action::WriteAndCreate => "→",
            _ => "✓",
        };
        let focused = at == self.model.focus;
        let face = if focused { style.chosen() } else { Face::new() };
        // A line apart from questions; nodes and the open question end with one of their own.
        let above = at.checked_sub(1).filter(|above| *above != self.model.focus);
        let follows = !self.roomy && above.is_some_and(|above| self.fields[above].act().is_none());
        let mut lines = if follows { vec![Line::default()] } else { Vec::new() };
        lines.push(Line::styled(format!(" {sign} {} ", field.label), face));
        if focused {
            lines.extend(wrapped(&field.why, self.width, "   ", style.quiet()));
        }
        lines
    }

    /// A node in the list: what it is, and how it stands.
    fn node(&self, at: usize, number: usize) -> Vec<Line<'static>> {
        let (model, style) = (self.model, self.style);
        let [name, role, system, place] = nodes::told(&model.document, number);
        let wrong = model.verdict.about(&model.document, self.fields, at).next();
        let (mark, mark_face) = match (wrong, model.known(number)) {
            (Some(wrong), _) if wrong.open => ("○", style.doubt()),
            (Some(_), _) => ("✗", style.bad()),
            (None, Some(Known::Failed(_))) => ("!", style.doubt()),
            (None, _) => ("✓", style.good()),
        };
        let face = if at == model.focus { style.chosen() } else { STRONG };
        let name = shortened(&name, self.width.saturating_sub(4));
        let rest = shortened(&format!(" {role}, {system}"), self.width.saturating_sub(name.width() + 4));
        let place = shortened(&place, self.width.saturating_sub(3));
        let mut lines = vec![
            Line::from(vec![
                Span::styled(mark, mark_face),
                Span::raw(" "),
                Span::styled(format!(" {name} "), face),
                Span::raw(rest),
            ]),
            Line::styled(format!("   {place}"), style.quiet()),
        ];
        // That there is no address yet was just said.
        if let Some(wrong) = wrong.filter(|wrong| !wrong.open) {
            lines.extend(wrapped(&wrong.message, self.width, "   ", style.bad()));
        }
        lines.extend(self.machine(number, "   "));
        lines.push(Line::default());
        lines
    }

    /// Something wrong, on the last page.
    fn to_do(&self, at: usize, wrong: usize) -> Vec<Line<'static>> {
        let Some(wrong) = self.model.verdict.wrong.get(wrong) else { return Vec::new() };
        let focused = at == self.model.focus;
        let (mark, face) = if wrong.open { ("○", self.style.doubt()) } else { ("✗", self.style.bad()) };
        let face = if focused { self.style.chosen() } else { face };
        let name = wrong.node.map(|node| format!("{}: ", nodes::told(&self.model.document, node)[0]));
        let text = format!("{mark} {}{}", name.unwrap_or_default(), wrong.message);
        let mut lines = wrapped(&text, self.width, "", face);
        if focused {
            lines.extend(wrapped(&wrong.hint, self.width, INDENT, self.style.quiet()));
        }
        lines
    }

    /// What stands above the questions.
    fn opening(&self) -> Vec<Line<'static>> {
        let model = self.model;
        let mut lines = match &model.verdict.spec {
            _ if model.page != Page::Finish => {
                let about = if self.roomy { model.page.about() } else { "" };
                wrapped(about, self.width, "", self.style.quiet())
            }
            Some(spec) if model.verdict.wrong.is_empty() => self.summary(spec),
            _ => wrapped("Something is still to be said. Enter goes there.", self.width, "", STRONG),
        };
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines
    }

    /// The cluster as it will be, what will be done for it, and what is known to be in the way.
    fn summary(&self, spec: &Spec) -> Vec<Line<'static>> {
        let style = self.style;
        let mut lines = vec![Line::styled(shortened(&spec.name, self.width), style.title())];
        for (label, text) in finish::facts(spec) {
            let room = self.width.saturating_sub(LABEL + 2);
            let mut label = format!("{INDENT}{label:LABEL$}");
            for text in wrapped(&text, room, "", Face::new()) {
                let mut line = vec![Span::styled(label, style.quiet())];
                line.extend(text);
                lines.push(Line::from(line));
                label = " ".repeat(LABEL + 2);
            }
        }
        lines.push(Line::default());
        lines.push(Line::styled("What will happen", STRONG));
        for text in finish::steps(spec) {
            lines.extend(wrapped(&format!("· {text}"), self.width, INDENT, Face::new()));
        }
        for note in self.model.notes() {
            let (sign, face) = if note.stops { ("✗", style.bad()) } else { ("!", style.doubt()) };
            lines.extend(wrapped(&format!("{sign} {}: {}", note.node, note.text), self.width, "", face));
        }
        lines
    }

    /// What is wrong with the nodes as a whole, below their list.
    fn closing(&self) -> Vec<Line<'static>> {
        if self.model.page != Page::Nodes {
            return Vec::new();
        }
        let document = &self.model.document;
        let Some(lines) = document.lines("nodes") else { return Vec::new() };
        let wrong = self.model.verdict.wrong.iter().filter(|wrong| {
            let here = wrong.line.is_some_and(|line| lines.contains(&line));
            here && crate::judge::owner(wrong, document, self.fields).is_none()
        });
        let told = |wrong: &crate::judge::Wrong| {
            let mut lines = vec![Line::default()];
            lines.extend(wrapped(&format!("✗ {}", wrong.message), self.width, "", self.style.bad()));
            lines.extend(wrapped(&wrong.hint, self.width, INDENT, self.style.quiet()));
            lines
        };
        wrong.flat_map(told).collect()
    }
}

/// Text in lines of that width, each with the same beginning; below a sign, the others stand beside it.
fn wrapped(text: &str, width: usize, indent: &'static str, face: Face) -> Vec<Line<'static>> {
    let signed = text
        .chars()
        .next()
        .is_some_and(|sign| !sign.is_alphanumeric() && text[sign.len_utf8()..].starts_with(' '));
    let hanging = if signed { format!("{indent}  ") } else { indent.to_owned() };
    let mut lines = Vec::new();
    let mut line = String::from(indent);
    for word in text.split_whitespace().flat_map(|word| pieces(word, width.saturating_sub(hanging.width()))) {
        if line.width() + word.width() > width && line.width() > hanging.width() {
            let full = std::mem::replace(&mut line, hanging.clone());
            lines.push(full);
        }
        line.push_str(&word);
        line.push(' ');
    }
    lines.push(line);
    let lines = lines.iter().filter(|line| !line.trim().is_empty());
    lines.map(|line| Line::styled(shortened(line.trim_end(), width), face)).collect()
}

/// A word that is wider than a line in several: a fingerprint that is cut cannot be compared.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for letter in word.chars() {
        let last = pieces.last().map_or(0, |piece| piece.width());
        if last > 0 && last + letter.width().unwrap_or(0) > width {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

/// As much of a text as fits, with a sign that there was more.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = text.to_owned();
    while short.width() + 1 > width && short.pop().is_some() {}
    short.push('…');
    short
}

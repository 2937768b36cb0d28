//! Says in plain words what the YAML parser stumbled over.

use granit_parser::{ErrorKind, ScanError};

use super::problem::{Problem, Span};
use crate::id;

/// What to do about a file that nests too deep.
pub(super) const TOO_DEEP_HINT: &str = "a cluster file needs fewer than ten levels; is this the right file?";

/// The message about a file that nests too deep.
pub(super) fn too_deep() -> String {
    "the file nests too deep".to_owned()
}

/// The problem behind an error of the parser.
pub(super) fn explain(text: &str, error: &ScanError) -> Problem {
    let offset = error.marker().byte_offset().unwrap_or(text.len());
    let span = place(text, offset);
    let line = line_at(text, span.start);
    let indent = &line[..line.len() - line.trim_start().len()];
    let problem = |message: &str, hint: &str| Problem::new(id::YAML_SYNTAX, span, message).hint(hint);
    let unsupported =
        |message: &str, hint: &str| Problem::new(id::YAML_UNSUPPORTED, span, message).hint(hint);
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => unsupported(&too_deep(), TOO_DEEP_HINT),
        ErrorKind::DirectiveDisallowed => {
            unsupported("directives (`%…`) are not used in this file", "remove the line")
        }
        _ if indent.contains('\t') => {
            problem("YAML does not allow tabs for indentation", "indent with spaces, two for each level")
        }
        ErrorKind::InvalidQuotedScalarIndent | ErrorKind::DocumentIndicatorInQuotedScalar => problem(
            "a quote that was opened above is not closed before this",
            "close it with the same kind of quote",
        ),
        ErrorKind::UnclosedQuotedScalar => {
            problem("a quote is opened but never closed", "close it with the same kind of quote")
        }
        ErrorKind::UnclosedFlowCollection { open } => problem(
            &format!("`{open}` is opened but never closed"),
            if *open == '{' { "close it with `}`" } else { "close it with `]`" },
        ),
        // In a list or map on one line that goes on where the next key should be.
        ErrorKind::InvalidColonPlacement | ErrorKind::InvalidFlowScalarIndent => problem(
            "a `[` or `{` that began earlier is not closed before this",
            "close it with `]` or `}`, or quote the text if its `:` is part of it",
        ),
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::ExpectedFlowMappingSeparator => problem(
            "a `{ … }` that began earlier is not closed properly",
            "separate its entries with `,` and close it with `}`",
        ),
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => problem(
            "a `[ … ]` that began earlier is not closed properly",
            "separate its items with `,` and close it with `]`",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            problem("this line is not `key: value`", "a key is followed by a colon and a space")
        }
        ErrorKind::MappingValueNotAllowed => problem(
            "a `key:` cannot start here",
            "put it on its own line, or quote the value if its colon is part of it",
        ),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation
        | ErrorKind::BlockSequenceEntryNotAllowed => problem(
            "this line does not fit the indentation of the lines above",
            "lines of the same level start in the same column",
        ),
        ErrorKind::ExpectedDocumentStart => problem(
            "this line cannot follow what is above it",
            "a file is one map: all its keys start in the same column",
        ),
        other => problem(
            &format!("this is not valid YAML: {other}"),
            "text with one of `: # { } [ ] , & * ! | > % @` in it needs quotes; brackets and quotes are closed where they began",
        ),
    }
}

/// The number of the line with this byte, from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// The parser often notices at the start of the next line, or at the end of the file: an empty place says
/// nothing, so go back to the last character that is written.
fn place(text: &str, offset: usize) -> Span {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let rest = text[offset..].lines().next().unwrap_or_default();
    let word = rest.trim_start_matches(' ');
    if !word.is_empty() {
        let start = offset + rest.len() - word.len();
        let length = word.find(char::is_whitespace).unwrap_or(word.len()).max(1);
        return Span::new(start, start + length);
    }
    let end = text[..offset].trim_end().len();
    let start = text[..end].char_indices().next_back().map_or(0, |(index, _)| index);
    Span::new(start, end)
}

fn line_at(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |found| found + 1);
    text[start..].lines().next().unwrap_or_default()
}

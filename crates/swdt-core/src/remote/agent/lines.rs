//! Bytes to lines, with an upper bound.

/// Longer lines are no events of ours.
pub(super) const LONGEST: usize = 8 << 20;

/// Collects bytes until lines are complete.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
}

/// A line without end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Lines {
    /// Adds bytes; gives the lines that are complete now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.add(&rest[..end])?;
            lines.extend(self.take());
            rest = &rest[end + 1..];
        }
        self.add(rest)?;
        Ok(lines)
    }

    /// What is left when nothing follows.
    pub(crate) fn take(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.pending);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches('\r');
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.pending.len() + bytes.len() > LONGEST {
            return Err(TooLong);
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Lines, TooLong};

    #[test]
    fn lines_come_whole_whatever_the_pieces() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"one\ntw").unwrap(), ["one"]);
        assert_eq!(lines.push(b"o\r\n\n\nthree").unwrap(), ["two"]);
        assert_eq!(lines.take().as_deref(), Some("three"));
        assert_eq!(lines.take(), None);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(&vec![b'x'; LONGEST]), Ok(vec![]));
        assert_eq!(lines.push(b"x"), Err(TooLong));
    }
}

//! Text inside HTML.

use std::fmt;

/// Text of others, as it may stand between tags and in quoted attributes.
pub(super) struct Escaped<'a>(&'a str);

/// Names come from users, and whatever they are, they are text.
pub(super) fn e(text: &str) -> Escaped<'_> {
    Escaped(text)
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // No browser shows them, and some are stumbled over.
                c if c.is_control() && c != '\n' => f.write_str("\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::e;

    #[test]
    fn no_text_becomes_a_tag_or_ends_an_attribute() {
        assert_eq!(
            e("<script>alert(\"x\")</script> & 'y'").to_string(),
            "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;y&#39;"
        );
        assert_eq!(e("\u{1b}[31mred\0").to_string(), "\u{fffd}[31mred\u{fffd}");
    }
}

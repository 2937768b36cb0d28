//! Takes credentials out of text. Rather one word too many than one too few: this leaves somebody's house.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

const SECRET: &str = "<secret removed>";
const TOKEN: &str = "<token removed>";
const KEY: &str = "<private key removed>";

/// What names end with whose values nobody shall see.
const SENSITIVE: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "apikey",
    "api-key",
    "api_key",
    "accesskey",
    "secretkey",
    "secret-key",
    "secret_key",
    "privatekey",
    "private-key",
    "private_key",
    "key-data",
    "certificatekey",
    "certificate-key",
];

/// Values that give nothing away.
const HARMLESS: &[&str] = &["true", "false", "null", "none", "nil", "<nil>", "[redacted]", "redacted"];

/// Shorter secrets would be found in every other word.
const SHORTEST: usize = 6;

/// Takes credentials out of text.
#[derive(Default)]
pub struct Redactor {
    known: Vec<String>,
}

impl Redactor {
    /// One that also knows these very secrets.
    pub fn new(known: Vec<String>) -> Self {
        let long = known.into_iter().filter(|secret| secret.len() >= SHORTEST);
        // Events and logs are JSON, where a quote or a backslash is written otherwise.
        let written = |secret: String| [serde_json::Value::from(secret.as_str()).to_string(), secret];
        let mut known: Vec<String> =
            long.flat_map(written).map(|it| it.trim_matches('"').to_owned()).collect();
        known.dedup();
        Self { known }
    }

    /// The text without credentials, and how many there were.
    pub fn redact(&self, text: &str) -> (String, usize) {
        let mut removed = 0;
        let mut text = text.to_owned();
        for secret in &self.known {
            removed += text.matches(secret.as_str()).count();
            text = text.replace(secret.as_str(), SECRET);
        }
        for find in [pem, base64_pem, named, after_scheme, jwt, bootstrap_token, in_address] {
            let (next, found) = without(&text, find);
            removed += found;
            text = next;
        }
        (text, removed)
    }
}

/// What is to go: from here to there, and what stands in its place.
type Found = (usize, usize, &'static str);

/// Replaces everything that `find` finds from a position on.
fn without(text: &str, find: fn(&str, usize) -> Option<Found>) -> (String, usize) {
    let (mut kept, mut at, mut count) = (String::with_capacity(text.len()), 0, 0);
    while let Some((from, to, instead)) = find(text, at) {
        kept.push_str(&text[at..from]);
        kept.push_str(instead);
        (at, count) = (to, count + 1);
    }
    kept.push_str(&text[at..]);
    (kept, count)
}

/// `-----BEGIN … PRIVATE KEY-----` to its end, or to the end of all if it has none.
fn pem(text: &str, mut at: usize) -> Option<Found> {
    loop {
        let from = at + text[at..].find("-----BEGIN ")?;
        let line = text[from..].lines().next().unwrap_or_default();
        if line
            .get(11..)
            .is_some_and(|rest| rest.split("-----").next().is_some_and(|it| it.ends_with("PRIVATE KEY")))
        {
            let end = text[from..].find("-----END ").map(|end| from + end);
            let to = end.map_or(text.len(), |end| {
                let after = text[end + 9..].find("-----").map(|dashes| end + 9 + dashes + 5);
                after.unwrap_or(text.len())
            });
            return Some((from, to, KEY));
        }
        at = from + 11;
    }
}

/// The same in base64, as kubeconfigs have it.
fn base64_pem(text: &str, mut at: usize) -> Option<Found> {
    const BEGIN: &str = "LS0tLS1CRUdJTi";
    loop {
        let from = at + text[at..].find(BEGIN)?;
        let to = from + run(&text[from..], |c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
        // The first line tells; 88 characters are 66 bytes.
        let head = &text[from..to.min(from + 88)];
        let head = STANDARD_NO_PAD.decode(&head[..head.len() / 4 * 4]).unwrap_or_default();
        if String::from_utf8_lossy(&head).contains("PRIVATE KEY") {
            return Some((from, to, KEY));
        }
        at = to;
    }
}

fn run(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The value of `password: …`, `"token":"…"`, `SECRET=…`, `--password …`.
fn named(text: &str, mut at: usize) -> Option<Found> {
    while at < text.len() {
        at += text[at..].find(is_word)?;
        let end = at + run(&text[at..], is_word);
        let word = text[at..end].to_ascii_lowercase();
        if SENSITIVE.iter().any(|name| word.ends_with(name))
            && let Some((from, to)) = value_after(text, end, word.starts_with("--"))
        {
            return Some((from, to, SECRET));
        }
        at = end;
    }
    None
}

/// Where the value of a name that ends here stands.
fn value_after(text: &str, at: usize, flag: bool) -> Option<(usize, usize)> {
    const QUOTES: &[&str] = &["\\\"", "\"", "'"];
    let quote = |text: &str| QUOTES.iter().find(|quote| text.starts_with(**quote)).copied();
    let blank = |text: &str| run(text, |c| matches!(c, ' ' | '\t'));
    let mut from = at;
    from += quote(&text[from..]).map_or(0, str::len);
    let blanks = blank(&text[from..]);
    match text[from + blanks..].chars().next() {
        Some('=' | ':') => from += blanks + 1,
        Some(c) if flag && blanks == 1 && c != '-' => from += blanks,
        _ => return None,
    }
    from += blank(&text[from..]);
    let opened = quote(&text[from..]);
    from += opened.map_or(0, str::len);
    let rest = &text[from..];
    let length = match opened {
        Some(quote) => rest.find(quote).unwrap_or(rest.len()).min(rest.find('\n').unwrap_or(rest.len())),
        None => rest.find(|c: char| c.is_whitespace() || ",;&\"'\\}])".contains(c)).unwrap_or(rest.len()),
    };
    let value = &rest[..length];
    let harmless = value.is_empty()
        || value.starts_with(['{', '[', '(', '<'])
        || HARMLESS.contains(&value.to_ascii_lowercase().as_str())
        || value.chars().all(|c| c.is_ascii_digit());
    (!harmless).then_some((from, from + length))
}

/// What follows `Bearer` and `Basic` in a header.
fn after_scheme(text: &str, mut at: usize) -> Option<Found> {
    loop {
        let rest = &text[at..];
        let next = ["Bearer ", "bearer ", "Basic "]
            .iter()
            .filter_map(|it| Some((rest.find(it)?, it.len())))
            .min()?;
        let from = at + next.0 + next.1;
        let length = run(&text[from..], |c| c.is_ascii_alphanumeric() || "-._~+/=".contains(c));
        if length >= 8 {
            return Some((from, from + length, TOKEN));
        }
        at = from;
    }
}

/// `eyJ….….…`.
fn jwt(text: &str, mut at: usize) -> Option<Found> {
    loop {
        let from = at + text[at..].find("eyJ")?;
        let whole = run(&text[from..], is_word);
        let mut parts = text[from..from + whole].split('.');
        let long = |part: Option<&str>| part.is_some_and(|part| part.len() >= 8);
        if long(parts.next()) && long(parts.next()) && parts.next().is_some() {
            return Some((from, from + whole, TOKEN));
        }
        at = from + 3;
    }
}

/// `abcdef.0123456789abcdef`, kubeadm's.
fn bootstrap_token(text: &str, mut at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let small = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let ends = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    loop {
        let dot = at + text[at..].find('.')?;
        if let Some(from) = dot.checked_sub(6).filter(|from| *from >= at)
            && let (Some(id), Some(secret)) = (bytes.get(from..dot), bytes.get(dot + 1..dot + 17))
            && small(id)
            && small(secret)
            && ends(from.checked_sub(1).and_then(|before| bytes.get(before)))
            && ends(bytes.get(dot + 17))
        {
            return Some((from, dot + 17, TOKEN));
        }
        at = (dot + 1).max(at);
    }
}

/// `https://user:password@host`.
fn in_address(text: &str, mut at: usize) -> Option<Found> {
    loop {
        let from = at + text[at..].find("://")? + 3;
        let host = run(&text[from..], |c| !c.is_whitespace() && !"/\"'<>".contains(c));
        if let Some((who, _)) = text[from..from + host].rsplit_once('@')
            && let Some((user, password)) = who.split_once(':')
            && !password.is_empty()
        {
            return Some((from + user.len() + 1, from + who.len(), SECRET));
        }
        at = from;
    }
}

#[cfg(test)]
mod tests;

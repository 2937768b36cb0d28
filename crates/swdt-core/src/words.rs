//! Words in messages: what was meant, and how to list what is possible.

/// Words people bring from other tools, and ours.
const SYNONYMS: &[(&str, &str)] = &[
    ("host", "address"),
    ("identityfile", "key"),
    ("ip", "address"),
    ("master", "control-plane"),
    ("controlplane", "control-plane"),
    ("node", "worker"),
    ("podsubnet", "podCIDR"),
    ("privatekey", "key"),
    ("servicesubnet", "serviceCIDR"),
    ("sshkey", "key"),
    ("ubuntu", "linux"),
    ("debian", "linux"),
    ("username", "user"),
    ("win", "windows"),
];

/// The option that was most likely meant.
pub fn nearest<'a>(word: &str, options: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // The comparison is quadratic, and no option is nearly as long.
    if word.len() > 64 {
        return None;
    }
    let meant = SYNONYMS.iter().filter(|(other, _)| *other == word).map(|(_, ours)| *ours);
    let meant: Vec<_> = meant.collect();
    let distance = |option: &str| {
        if meant.contains(&option) { 0 } else { strsim::damerau_levenshtein(&word, &option.to_lowercase()) }
    };
    let close = word.chars().count() / 3 + 1;
    options
        .into_iter()
        .map(|option| (distance(option), option))
        .filter(|(far, _)| *far <= close)
        .min()
        .map(|(_, o)| o)
}

/// `` `a`, `b` or `c` ``.
pub(crate) fn either<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    list(words, "or")
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn all<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    list(words, "and")
}

fn list<'a>(words: impl IntoIterator<Item = &'a str>, joint: &str) -> String {
    let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {joint} {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// At most forty characters of what the user wrote, on one line.
pub(crate) fn brief(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(40).collect();
    if text.chars().nth(40).is_some() { line + "…" } else { line }
}

/// The text behind `head`, broken between words; what follows the first line begins below the text.
/// Nothing is broken where there is no width, or none worth the name.
pub fn wrapped(head: &str, text: &str, width: Option<usize>) -> String {
    let indent = head.chars().count();
    let room = width.map_or(0, |width| width.saturating_sub(indent));
    if room < 20 {
        return format!("{head}{text}");
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    format!("{head}{}", lines.join(&format!("\n{:indent$}", "")))
}

/// Text of others as a terminal may show it: colours and the like go, whatever else moves the cursor or changes the screen or
/// the clipboard becomes a blank.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            // Numbers, then one letter that says what to do with them.
            while letters.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
            letters.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
        } else if letter.is_control() && !matches!(letter, '\n' | '\t') {
            shown.push(' ');
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text = "packages conntrack, ethtool and socat are installed";
        assert_eq!(wrapped("  = ", text, None), format!("  = {text}"));
        assert_eq!(
            wrapped("  = ", text, Some(30)),
            "  = packages conntrack,\n    ethtool and socat are\n    installed"
        );
        assert_eq!(wrapped("  = ", text, Some(12)), format!("  = {text}"), "too narrow to help");
        assert_eq!(wrapped("", "averyveryverylongwordthatfitsnowhere x", Some(20)).lines().count(), 2);
    }
}

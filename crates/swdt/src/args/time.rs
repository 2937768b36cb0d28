//! How long something may take, as people write it.

use std::time::Duration;

/// `90s`, `5m`, `1h`, or a number of seconds.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds =
        factor.and_then(|factor| number.parse::<u32>().ok().map(|number| u64::from(number) * factor));
    let expected = "write a time such as `90s`, `5m` or `1h`; a number alone is seconds";
    seconds.map(Duration::from_secs).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let seconds = |text: &str| parse(text).ok().map(|time| time.as_secs());
        for (text, expected) in [("0", 0), ("120", 120), ("90s", 90), ("5m", 300), ("1h", 3600)] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "abc", "m", "-5", "1.5m", "5 m", "1d", "99999999999h"] {
            assert!(parse(text).is_err_and(|why| why.contains("`90s`")), "{text}");
        }
    }
}

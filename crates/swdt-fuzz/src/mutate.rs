//! Bad bytes from good ones.

mod json;
mod tar;

use crate::random::Random;

/// Inputs are no longer than this; few are longer than [`USUAL`].
const LONGEST: usize = 1 << 20;
const USUAL: usize = 1 << 14;

/// Numbers at which something may overflow.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "-0",
    "0x10",
    "07",
    "1.5",
    "99999999999999999999999999999999",
];

/// Words that mean something to one reader or another.
const WORDS: &[&str] = &[
    "null",
    "true",
    "~",
    "{}",
    "[]",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "%00",
    "..",
    "../..",
    "/",
    "\\",
    "C:\\",
    "//",
    "\u{feff}",
    "\u{202e}",
    "ü",
    "🦀",
    "\r\n",
    "\r",
    "\t",
    "\0",
    "\u{b}",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!binary ",
    "!!map ",
    "? ",
    ": ",
    "- ",
    "|\n",
    ">-\n",
    "#",
    "'",
    "\"",
    "`",
    "$(x)",
    "\u{1b}[31m",
    ",",
    ";",
    "=",
    "@",
    "sha256:",
    "@revoked ",
    "|1|",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "*",
    "?",
    "!",
    "0.0.0.0/0",
    "::1",
    "10.0.0.0/33",
    "swap",
    "exp",
];

/// What nests.
const NESTS: &[(&str, &str)] = &[
    ("[", "]"),
    ("{\"a\":", "}"),
    ("- ", ""),
    ("? ", ""),
    ("{a: ", "}"),
    ("(", ")"),
    ("<a>", "</a>"),
    ("\"", "\""),
    ("*", "?"),
];

/// Makes an input from good ones.
pub(crate) fn input(random: &mut Random, pool: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = random.pick(pool).clone();
    let mut changes = 1;
    while changes < 12 && random.once_in(2) {
        changes += 1;
    }
    for _ in 0..changes {
        change(random, pool, &mut bytes);
        bytes.truncate(LONGEST);
    }
    bytes.truncate(if random.once_in(500) { LONGEST } else { USUAL.max(bytes.len().min(1 << 16)) });
    bytes
}

fn change(random: &mut Random, pool: &[Vec<u8>], bytes: &mut Vec<u8>) {
    match random.below(20) {
        0 => {
            let Some(byte) = any(random, bytes) else { return };
            *byte ^= 1 << random.below(8);
        }
        1 => {
            let with = random.byte();
            if let Some(byte) = any(random, bytes) {
                *byte = with;
            }
        }
        2 => {
            let (from, to) = range(random, bytes, 64);
            bytes.drain(from..to);
        }
        3 => {
            let (from, to) = range(random, bytes, 256);
            let piece = bytes[from..to].to_vec();
            insert(random, bytes, &piece);
        }
        4 => repeat(random, bytes),
        5 => nest(random, bytes),
        6 | 7 => {
            let other = random.pick(pool);
            let (from, to) = range(random, other, 512);
            let piece = other[from..to].to_vec();
            insert(random, bytes, &piece);
        }
        8 | 9 => {
            let word = random.pick(WORDS).as_bytes();
            insert(random, bytes, word);
        }
        10 | 11 => number(random, bytes),
        12 => lines(random, bytes),
        13 => bytes.truncate(random.below(bytes.len() + 1)),
        14 => {
            let piece: Vec<u8> = (0..=random.below(16)).map(|_| random.byte()).collect();
            insert(random, bytes, &piece);
        }
        15 => tar::change(random, bytes),
        16 => {
            // The beginning of one and the end of another.
            let other = random.pick(pool);
            bytes.truncate(random.below(bytes.len() + 1));
            bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        _ => json::change(random, bytes),
    }
}

fn any<'a>(random: &mut Random, bytes: &'a mut [u8]) -> Option<&'a mut u8> {
    let at = random.below(bytes.len().max(1));
    bytes.get_mut(at)
}

fn range(random: &mut Random, bytes: &[u8], longest: usize) -> (usize, usize) {
    let from = random.below(bytes.len() + 1);
    (from, bytes.len().min(from + random.below(longest)))
}

fn insert(random: &mut Random, bytes: &mut Vec<u8>, piece: &[u8]) {
    let at = random.below(bytes.len() + 1);
    bytes.splice(at..at, piece.iter().copied());
}

/// A piece again and again: what is quadratic, or counts, shows itself here.
fn repeat(random: &mut Random, bytes: &mut Vec<u8>) {
    let (from, to) = range(random, bytes, 40);
    let room = if random.once_in(100) { LONGEST } else { USUAL };
    let times = random.below(room / (to - from).max(1)).min(1 << random.below(18));
    let piece = bytes[from..to].repeat(times);
    bytes.splice(to..to, piece);
}

fn nest(random: &mut Random, bytes: &mut Vec<u8>) {
    let (open, close) = random.pick(NESTS);
    let deepest = if random.once_in(50) { 17 } else { 12 };
    let depth = 1 << random.below(deepest);
    let (from, to) = range(random, bytes, 32);
    let close = if random.once_in(3) { String::new() } else { close.repeat(depth) };
    bytes.splice(to..to, close.into_bytes());
    bytes.splice(from..from, open.repeat(depth).into_bytes());
}

/// Another number in the place of one.
fn number(random: &mut Random, bytes: &mut Vec<u8>) {
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|at| {
            bytes[*at].is_ascii_digit()
                && !at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_digit())
        })
        .take(2000)
        .collect();
    let Some(from) = (!starts.is_empty()).then(|| *random.pick(&starts)) else { return };
    let length = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.splice(from..from + length, random.pick(NUMBERS).bytes());
}

/// A line taken away, doubled, moved, or indented.
fn lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (at, to) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, lines[at].clone()),
        2 => lines.swap(at, to),
        _ => lines[at].splice(0..0, vec![b' '; random.below(9)]).for_each(drop),
    }
    *bytes = lines.concat();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_another_others() {
        let pool = [br#"{"a": [1, 2, {"b": "c"}]}"#.to_vec(), b"one 1\ntwo 2\n".to_vec()];
        let made = |seed| {
            let mut random = Random::new(seed, "x");
            (0..2000).map(|_| input(&mut random, &pool)).collect::<Vec<_>>()
        };
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
        let longest = made(1).iter().map(Vec::len).max();
        assert!(longest.is_some_and(|longest| longest > 4096 && longest <= LONGEST), "{longest:?}");
    }
}

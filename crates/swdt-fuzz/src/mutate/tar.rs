//! Changes in the headers of a tar, with checksums that are right again: only so do they get past the reader.

use crate::random::Random;

const BLOCK: usize = 512;
/// Name, mode, size, type, name of a link, prefix.
const FIELDS: &[(usize, usize)] = &[(0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (345, 155)];
const NAMES: &[&[u8]] = &[
    b"../x",
    b"/etc/passwd",
    b"a/../../x",
    b"",
    b"\xff\xfe",
    b"index.json",
    b"manifest.json",
    b"a/",
    b"./.",
];

pub(super) fn change(random: &mut Random, bytes: &mut [u8]) {
    let headers: Vec<usize> = (0..bytes.len().saturating_sub(BLOCK - 1))
        .step_by(BLOCK)
        .filter(|at| bytes[at + 257..].starts_with(b"ustar"))
        .collect();
    let Some(at) = (!headers.is_empty()).then(|| *random.pick(&headers)) else { return };
    let header = &mut bytes[at..at + BLOCK];
    let (from, length) = *random.pick(FIELDS);
    let field = &mut header[from..from + length];
    match random.below(4) {
        0 => field.fill_with(|| random.byte()),
        1 if length == 1 => field[0] = *random.pick(b"01234567gxLKSDMV\0"),
        1 | 2 => {
            let name = random.pick(NAMES);
            field.fill(0);
            let long = name.len().min(length);
            field[..long].copy_from_slice(&name[..long]);
        }
        _ => {
            let number = format!("{:o}", random.next() >> random.below(64));
            field.fill(b'0');
            let long = number.len().min(length);
            field[length - long..].copy_from_slice(&number.as_bytes()[number.len() - long..]);
        }
    }
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

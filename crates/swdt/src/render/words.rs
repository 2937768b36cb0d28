//! Numbers and times, as people read them.

/// `850 ms`, `12.3 s`, `4 min 05 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// `512 B`, `73.4 MB`, `5.2 GB`.
pub(crate) fn bytes(number: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", number / unit, number % unit * 10 / unit);
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{} kB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// `1 node`, `2 nodes`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!(duration(7), "7 ms");
        assert_eq!(duration(12_345), "12.3 s");
        assert_eq!(duration(245_000), "4 min 05 s");
        assert_eq!((bytes(512).as_str(), bytes(73_450_000).as_str()), ("512 B", "73.4 MB"));
        assert_eq!(count(1, "write"), "1 write");
        assert_eq!(count(0, "write"), "0 writes");
    }
}

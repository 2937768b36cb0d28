//! Clocks that are too far apart for certificates.

use crate::{Error, ErrorKind};

/// A certificate is valid from the moment it is made, by the clock of whoever made it. kubeadm and the API server
/// backdate theirs by five minutes; beyond that a node refuses what it is given, or is refused.
const BEARABLE: u64 = 5 * 60;

/// What is wrong with the clock of a machine that said `theirs` when ours said `ours`, both in seconds since the
/// epoch. A machine that says 0 does not tell.
pub fn clock(node: &str, theirs: u64, ours: u64) -> Option<Error> {
    let apart = theirs.abs_diff(ours);
    if theirs == 0 || apart <= BEARABLE {
        return None;
    }
    let way = if theirs > ours { "ahead of" } else { "behind" };
    let message =
        format!("its clock is {} {way} the clock here, and certificates bear five minutes", words(apart));
    let hint = "set the clock right, on the machine or here: `timedatectl set-ntp true` on Linux, `w32tm /resync /force` \
                on Windows";
    Some(Error::new(ErrorKind::Prerequisite, message).on(node).hinted(hint))
}

fn words(seconds: u64) -> String {
    match seconds {
        0..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_certificates_do_not_bear_is_told() {
        const NOW: u64 = 1_700_000_000;
        let told = |theirs| clock("win1", theirs, NOW).map(|error| error.to_string());
        for fine in [0, NOW, NOW + 300, NOW - 300] {
            assert_eq!(told(fine), None);
        }
        let is = |theirs, words: &str| {
            let told = told(theirs).unwrap_or_default();
            assert!(told.starts_with(&format!("win1: its clock is {words} the clock here")), "{told}");
        };
        is(NOW + 301, "5 minutes ahead of");
        is(NOW - 7 * 3600, "7 hours behind");
        is(1, "19675 days behind");
    }
}

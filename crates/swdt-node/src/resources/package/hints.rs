//! What to do about a failed package manager, told from its words.

use crate::Error;

/// Words for a mirror that does not answer.
const UNREACHABLE: &[&str] = &[
    "Temporary failure resolving",
    "Could not resolve",
    "Could not connect",
    "Failed to fetch",
    "Network is unreachable",
    "Cannot download",
    "Failed to download",
    "Curl error",
    "Cannot prepare internal mirrorlist",
    "does not have a Release file",
];

/// Words of apt, dpkg, dnf or rpm, and what they call for. First match wins.
const HINTS: [(&[&str], &str); 6] = [
    (
        &["No space left on device", "enough free space", "more space needed on"],
        "free some space on the file systems of / and /var and run the same command again",
    ),
    (
        &["Could not get lock", "Unable to acquire the dpkg frontend lock", "can't create transaction lock"],
        "another package manager is at work; let it finish and run the same command again",
    ),
    // Before "unknown": dnf 5 goes on without a repository it cannot reach, and then misses packages.
    (
        UNREACHABLE,
        "the machine cannot reach its package mirrors: check its network, DNS, proxy and the repositories it has configured",
    ),
    (
        &[
            "Unable to locate package",
            "has no installation candidate",
            "Unable to find a match",
            "No match for argument",
            "nothing provides",
        ],
        "enable the repository that has it (Ubuntu: `add-apt-repository universe`; Fedora: `dnf config-manager`), \
         or check the package's name",
    ),
    (
        &[
            "unmet dependencies",
            "held broken packages",
            "dpkg was interrupted",
            "Sub-process /usr/bin/dpkg returned",
            "conflicting requests",
        ],
        "the package database has a problem of its own: `apt-get -f install` or `dnf check` on the machine shows it",
    ),
    (
        &["Read-only file system"],
        "remount the file system read-write; if it turned read-only by itself, look at `dmesg`",
    ),
];

/// The same error with a hint, if its words are known.
pub(super) fn hinted(error: Error) -> Error {
    match hint(&error.output) {
        Some(hint) => error.hinted(hint),
        None => error,
    }
}

/// Did a mirror not answer?
pub(super) fn unreachable(output: &[String]) -> bool {
    output.iter().any(|line| UNREACHABLE.iter().any(|word| line.contains(word)))
}

pub(crate) fn hint(output: &[String]) -> Option<&'static str> {
    HINTS
        .iter()
        .find(|(words, _)| output.iter().any(|line| words.iter().any(|word| line.contains(word))))
        .map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words() {
        let of = |line: &str| hint(&[line.to_owned()]).unwrap_or("none");
        assert!(of("E: Unable to locate package nonsense").contains("enable the repository"));
        assert!(of("Error: Unable to find a match: nonsense").contains("enable the repository"));
        assert!(
            of("E: You don't have enough free space in /var/cache/apt/archives/.")
                .contains("free some space")
        );
        assert!(
            of("W: Failed to fetch http://deb.debian.org/debian/dists/bookworm/InRelease")
                .contains("mirrors")
        );
        assert_eq!(of("something else"), "none");
    }
}

//! Images that distributions publish for clouds, and where their checksums stand.

use crate::{
    Error, Result, id,
    source::{self, Settings},
    spec::LinuxRelease,
};

const DEBIAN: &str = "https://cloud.debian.org/images/cloud";
const UBUNTU: &str = "https://cloud-images.ubuntu.com/releases";
const FEDORA: &str = "https://download.fedoraproject.org/pub/fedora/linux/releases";

/// A published image.
struct Published {
    /// What a mirror takes the place of.
    server: &'static str,
    /// The directory it is in.
    place: &'static str,
    /// Its name there.
    file: &'static str,
    /// The file of checksums beside it.
    sums: &'static str,
}

fn where_is(release: LinuxRelease) -> Published {
    match release {
        LinuxRelease::Debian12 => Published {
            server: DEBIAN,
            place: "bookworm/latest",
            file: "debian-12-genericcloud-amd64.qcow2",
            sums: "SHA512SUMS",
        },
        LinuxRelease::Debian13 => Published {
            server: DEBIAN,
            place: "trixie/latest",
            file: "debian-13-genericcloud-amd64.qcow2",
            sums: "SHA512SUMS",
        },
        LinuxRelease::Ubuntu2404 => Published {
            server: UBUNTU,
            place: "noble/release",
            file: "ubuntu-24.04-server-cloudimg-amd64.img",
            sums: "SHA256SUMS",
        },
        LinuxRelease::Ubuntu2604 => Published {
            server: UBUNTU,
            place: "resolute/release",
            file: "ubuntu-26.04-server-cloudimg-amd64.img",
            sums: "SHA256SUMS",
        },
        LinuxRelease::Fedora44 => Published {
            server: FEDORA,
            place: "44/Cloud/x86_64/images",
            file: "Fedora-Cloud-Base-Generic-44-1.7.x86_64.qcow2",
            sums: "Fedora-Cloud-44-1.7-x86_64-CHECKSUM",
        },
    }
}

/// Where the image of a release is, and the checksum that its publisher says it has.
pub(super) fn published(
    settings: &Settings,
    release: LinuxRelease,
    mirror: Option<&str>,
) -> Result<(String, String)> {
    let Published { server, place, file, sums } = where_is(release);
    let place = format!("{}/{place}", mirror.unwrap_or(server).trim_end_matches('/'));
    let list = format!("{place}/{sums}");
    let text = source::fetch_text(settings, &list).map_err(|error| {
        error
            .hinted("`image: {file: …}` takes an image that is on this host already")
            .hinted(format!("`image: {{cloud: {}, mirror: …}}` names another server", release.as_str()))
            .hinted(format!(
                "`image: {{build: {}}}` makes a disk from Debian's packages",
                LinuxRelease::Debian12.as_str()
            ))
    })?;
    let sum = checksum(&text, file)
        .ok_or_else(|| Error::new(id::CHECKSUM_UNKNOWN, format!("{list} says nothing about {file}")))?;
    Ok((format!("{place}/{file}"), sum))
}

/// The checksum of a file, from a list as `sha256sum` or BSD's `sha256 --tag` writes it.
pub(super) fn checksum(list: &str, file: &str) -> Option<String> {
    let sum = list.lines().find_map(|line| {
        if let Some((name, sum)) = line.strip_prefix("SHA256 (").and_then(|rest| rest.split_once(") = ")) {
            return (name == file).then(|| sum.trim());
        }
        let (sum, name) = line.split_once(char::is_whitespace)?;
        (name.trim().trim_start_matches('*') == file).then_some(sum)
    });
    // Anybody may have written the list: what is no checksum is none.
    sum.filter(|sum| !sum.is_empty() && sum.bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_checksums_are_read() {
        let plain = "aa11  debian-12-generic-amd64.qcow2\nbb22  debian-12-genericcloud-amd64.qcow2\n";
        assert_eq!(checksum(plain, "debian-12-genericcloud-amd64.qcow2").as_deref(), Some("bb22"));
        assert_eq!(checksum("cc33 *u.img\n", "u.img").as_deref(), Some("cc33"));
        let tagged = "# F.qcow2: 5 bytes\nSHA256 (F.qcow2) = dd44\n";
        assert_eq!(checksum(tagged, "F.qcow2").as_deref(), Some("dd44"));
        assert_eq!(checksum(plain, "other"), None);
        assert_eq!(checksum("\u{1f5fb}\u{1f5fb}\u{1f5fb}\u{1f5fb}\u{1f5fb} u.img\n", "u.img"), None);
    }

    #[test]
    fn every_release_is_somewhere() {
        for release in LinuxRelease::ALL {
            let Published { server, place, file, sums } = where_is(*release);
            assert!(server.starts_with("https://") && !server.ends_with('/'), "{server}");
            assert!(!place.starts_with('/') && !place.ends_with('/'), "{place}");
            assert!(!file.is_empty() && sums.to_uppercase().contains("SUM"), "{file} {sums}");
        }
    }
}

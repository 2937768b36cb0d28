//! A server of Debian's packages: Debian's own, or another with the same layout.

/// A server, and where it has the packages.
pub(super) struct Mirror<'a> {
    /// `http` or `https`.
    protocol: &'a str,
    /// With its port, if it has one.
    host: &'a str,
    /// With a slash before it, and none behind it.
    directory: &'a str,
}

/// Debian's own. Packages are signed, so http does, as in Debian's own files.
const DEBIAN: &str = "http://deb.debian.org/debian";

impl<'a> Mirror<'a> {
    pub(super) fn new(url: Option<&'a str>) -> Self {
        let (protocol, rest) = url.unwrap_or(DEBIAN).split_once("://").unwrap_or(("http", ""));
        let rest = rest.trim_end_matches('/');
        let (host, directory) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Self { protocol, host, directory }
    }

    /// Where the packages are.
    pub(super) fn url(&self) -> String {
        format!("{}://{}{}", self.protocol, self.host, self.directory)
    }

    /// The lines of `sources.list`.
    pub(super) fn sources(&self, suite: &str) -> [String; 3] {
        let (packages, security) = (self.url(), format!("{}://{}/debian-security", self.protocol, self.host));
        [
            format!("deb {packages} {suite} main"),
            format!("deb {packages} {suite}-updates main"),
            format!("deb {security} {suite}-security main"),
        ]
    }

    /// The answers for Debian's installer. It asks for `/debian-security` of the same server by http, whatever is said.
    pub(super) fn answers(&self) -> String {
        let Self { protocol, host, directory } = self;
        format!(
            "d-i mirror/country string manual\n\
             d-i mirror/protocol string {protocol}\n\
             d-i mirror/{protocol}/hostname string {host}\n\
             d-i mirror/{protocol}/directory string {directory}/\n\
             d-i mirror/{protocol}/proxy string\n\
             d-i apt-setup/security_host string {host}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let debian = Mirror::new(None);
        assert_eq!(debian.url(), "http://deb.debian.org/debian");
        assert_eq!(
            debian.sources("trixie"),
            [
                "deb http://deb.debian.org/debian trixie main",
                "deb http://deb.debian.org/debian trixie-updates main",
                "deb http://deb.debian.org/debian-security trixie-security main",
            ]
        );
        let other = Mirror::new(Some("https://mirror.example.com:8443/linux/debian/"));
        assert_eq!(
            other.sources("bookworm")[2],
            "deb https://mirror.example.com:8443/debian-security bookworm-security main"
        );
        let answers = other.answers();
        for line in [
            "d-i mirror/protocol string https\n",
            "d-i mirror/https/hostname string mirror.example.com:8443\n",
            "d-i mirror/https/directory string /linux/debian/\n",
            "d-i apt-setup/security_host string mirror.example.com:8443\n",
        ] {
            assert!(answers.contains(line), "{line} in {answers}");
        }
        let bare = Mirror::new(Some("http://mirror.example.com"));
        assert_eq!(bare.url(), "http://mirror.example.com");
        assert!(bare.answers().contains("d-i mirror/http/directory string /\n"));
    }
}

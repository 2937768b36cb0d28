//! Bytes could not be fetched or were not the right ones.

entries! { Download:
    DOWNLOAD_UNREACHABLE = "download-unreachable" {
        title: "a server that files come from cannot be reached",
        cause: "This host has no way to the internet, its name server does not know the name, or a proxy is needed.",
        fix: ["HTTPS_PROXY, HTTP_PROXY and NO_PROXY are honoured", "`mirror` of a source names another server; `swdt help offline` tells how to do without"],
    }
    DOWNLOAD_BROKEN_OFF = "download-broken-off" {
        title: "a download broke off",
        cause: "The connection went away in the middle.",
        fix: ["run the command again: the download goes on where it stopped"],
    }
    DOWNLOAD_MISSING = "download-missing" {
        title: "the file is not on the server",
        cause: "There is no such version for this platform, or the mirror does not have it.",
        fix: ["choose a version that was released: `swdt catalog`", "check `mirror` or `url` of the source"],
    }
    DOWNLOAD_REFUSED = "download-refused" {
        title: "a server, or a proxy in front of it, does not give the file",
        cause: "A proxy wants a login or answers with a page of its own, or the server refuses.",
        fix: ["open the address in a browser: what does it show?", "a login of a proxy is written as http://user:password@host:port in HTTPS_PROXY or HTTP_PROXY"],
    }
    CHECKSUM_MISMATCH = "checksum-mismatch" {
        title: "a file is not the one that was meant",
        cause: "Its checksum differs: a proxy or mirror changed it, it was published anew, or the checksum was written wrongly. \
                Nothing of it is kept.",
        fix: ["fetch it once more; compare the checksum with what its publisher tells"],
    }
    CHECKSUM_UNKNOWN = "checksum-unknown" {
        title: "nobody tells the checksum of a file",
        cause: "swdt takes no file unchecked, and the list of checksums is not there or does not name the file.",
        fix: ["name the file as `source: {url: …}` with the checksum of a file you trust, or build it", "does a proxy answer with a page of its own?"],
    }
    LOCK_DIFFERS = "lock-differs" {
        title: "a file is not the one that the cluster was pinned to",
        cause: "lock.json holds the digests of what the cluster was made from, and the source gives other bytes now.",
        fix: ["use the source that it was pinned to", "if you trust the new one, remove lock.json from the cluster's directory"],
    }
    ARCHIVE_DAMAGED = "archive-damaged" {
        title: "what was downloaded cannot be unpacked or read",
        cause: "It is damaged, or is not what its name says.",
        fix: ["`swdt source prune` shows what can go from the cache; then run the command again"],
    }
    GO_FAILED = "go-failed" {
        title: "Go did not build or fetch a program",
        cause: "The module proxy does not serve the version, a C compiler is missing, or the source does not compile; Go's own \
                words are in the output.",
        fix: ["is the module proxy reachable? GOPROXY names another one", "choose a version that was released, or another source"],
    }
    GIT_FAILED = "git-failed" {
        title: "Git did not fetch a revision",
        cause: "The repository cannot be reached or wants a login, or has no such tag, branch or commit.",
        fix: ["`git ls-remote REPOSITORY REF` tries the same"],
    }
    DEBIAN_NOT_FETCHED = "debian-not-fetched" {
        title: "packages of Debian could not be fetched",
        cause: "Roots and disks are made of Debian's packages, and mmdebstrap did not get them.",
        fix: ["is deb.debian.org reachable from this host? http_proxy is honoured", "is the clock of this host right? signatures are not valid before they are made"],
    }
    IMAGE_NOT_PULLED = "image-not-pulled" {
        title: "a node could not pull an image",
        cause: "The name is wrong, the registry wants a login, or the machine does not reach it.",
        fix: ["check the name", "an archive needs no registry: `swdt image load ARCHIVE`"],
    }
}

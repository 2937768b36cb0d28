//! Unix sockets whose paths may be longer than the 108 bytes that an address holds.

use std::{
    fs::OpenOptions,
    io,
    os::{
        fd::AsRawFd,
        unix::{fs::OpenOptionsExt, net::UnixStream},
    },
    path::Path,
};

/// Connects to a socket, through its directory if its path is too long.
pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let dir =
        OpenOptions::new().read(true).custom_flags(nix::libc::O_PATH | nix::libc::O_DIRECTORY).open(dir)?;
    UnixStream::connect(Path::new(&format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_long_path_is_no_trouble() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        std::os::unix::fs::symlink(&deep, dir.path().join("short")).unwrap();
        let _listener = UnixListener::bind(dir.path().join("short/s")).unwrap();
        connect(&deep.join("s")).unwrap();
    }
}

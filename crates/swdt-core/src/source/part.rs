//! A download on its way: what has come so far, and what the server called it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    path::PathBuf,
};

use super::cache::copy;

/// A download that is not whole yet: its bytes, and what the server called the file.
pub(super) struct Part {
    pub(super) path: PathBuf,
    tag: PathBuf,
}

/// From where a download may go on.
pub(super) struct Resume {
    pub(super) have: u64,
    pub(super) tag: String,
}

/// Which end failed.
pub(super) enum Stopped {
    Disk(io::Error),
    Net(io::Error),
}

impl Part {
    pub(super) fn new(path: PathBuf) -> Self {
        let tag = path.with_extension("tag");
        Self { path, tag }
    }

    /// Without the server's name for the file, two versions of it could be glued together.
    pub(super) fn resumable(&self) -> Option<Resume> {
        let have = fs::metadata(&self.path).ok()?.len();
        let tag = fs::read_to_string(&self.tag).ok()?;
        (have > 0 && !tag.is_empty()).then_some(Resume { have, tag })
    }

    pub(super) fn append(&self, keep: u64, tag: Option<&str>, body: &mut impl Read) -> Result<u64, Stopped> {
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&self.path)
            .map_err(Stopped::Disk)?;
        fs::write(&self.tag, tag.unwrap_or_default())
            .and_then(|()| file.set_len(keep))
            .and_then(|()| file.seek(io::SeekFrom::End(0)).map(drop))
            .map_err(Stopped::Disk)?;
        let mut disk = None;
        let mut writer = Noting { file: &mut file, failed: &mut disk };
        let copied = copy(body, &mut writer);
        match (copied, disk) {
            (_, Some(error)) => Err(Stopped::Disk(error)),
            (Err(error), None) => Err(Stopped::Net(error)),
            (Ok(count), None) => Ok(count),
        }
    }

    /// The file is whole; it shall never be continued.
    pub(super) fn whole(&self) {
        let _ = fs::remove_file(&self.tag);
    }

    /// What is there is of no use.
    pub(super) fn discard(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.tag);
    }
}

/// Tells a full disk from a broken connection.
struct Noting<'a> {
    file: &'a mut File,
    failed: &'a mut Option<io::Error>,
}

impl Write for Noting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|error| *self.failed = Some(io::Error::from(error.kind())))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

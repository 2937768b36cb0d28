//! A log that does not grow for ever: put aside as `NAME.1` when it is large, the older ones as `NAME.2`, ….

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// An open log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    limit: u64,
    keep: u32,
    file: File,
    size: u64,
}

impl Log {
    /// Opens a log and goes on at its end; directories above are made.
    pub fn open(path: &Path, limit: u64, keep: u32) -> io::Result<Self> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let file = File::options().append(true).create(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), limit, keep, file, size })
    }

    /// Writes whole lines.
    pub fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + lines.len() as u64 > self.limit {
            self.put_aside()?;
        }
        self.file.write_all(lines)?;
        self.size += lines.len() as u64;
        Ok(())
    }

    fn aside(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    fn put_aside(&mut self) -> io::Result<()> {
        let _ = fs::remove_file(self.aside(self.keep));
        for number in (1..self.keep).rev() {
            let _ = fs::rename(self.aside(number), self.aside(number + 1));
        }
        if self.keep > 0 {
            // Somebody may read it, which keeps Windows from renaming it. Then it grows on.
            if fs::rename(&self.path, self.aside(1)).is_err() {
                self.limit += self.limit / 4 + 1;
                return Ok(());
            }
        } else {
            fs::remove_file(&self.path)?;
        }
        *self = Self::open(&self.path, self.limit, self.keep)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_logs_of_only_such_a_size_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/kubelet.log");
        let mut log = Log::open(&path, 10, 2).unwrap();
        for number in 0..9 {
            log.write(format!("line {number}\n").as_bytes()).unwrap();
        }
        drop(log);
        let read = |name: &str| fs::read_to_string(path.with_file_name(name)).unwrap();
        assert_eq!(read("kubelet.log"), "line 8\n");
        assert_eq!(read("kubelet.log.1"), "line 7\n");
        assert_eq!(read("kubelet.log.2"), "line 6\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 3);
        // Goes on at the end.
        Log::open(&path, 100, 2).unwrap().write(b"more\n").unwrap();
        assert_eq!(read("kubelet.log"), "line 8\nmore\n");
    }
}

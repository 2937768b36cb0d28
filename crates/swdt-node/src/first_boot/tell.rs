//! What goes on, for whoever looks: a log on the machine, and its first serial port, which the host writes down.

use std::{
    fs::{self, File},
    io::{self, Write},
};

use swdt_wire::FirstBootWord as Word;

use super::words;
use crate::{Result, disk};

/// Beside Setup's own logs, where people look.
const LOGS: &str = r"C:\Windows\Panther";
const LOG: &str = r"C:\Windows\Panther\swdt-first-boot.log";
const PORT: &str = r"\\.\COM1";

pub(super) struct Teller {
    log: Option<File>,
    port: Option<File>,
}

impl Teller {
    /// A machine without a serial port, or a full disk, is no reason not to go on.
    pub(super) fn open() -> Self {
        let _ = fs::create_dir_all(LOGS);
        Self {
            log: File::options().append(true).create(true).open(LOG).ok(),
            port: File::options().write(true).open(PORT).ok(),
        }
    }

    /// For the host and the log. It has left the machine when this returns: what comes next may be a power cut.
    pub(super) fn tell(&self, word: Word, more: &str) {
        let line = word.line(more);
        self.log(&line);
        if let Some(mut port) = self.port.as_ref() {
            let _ = port.write_all(format!("{line}\r\n").as_bytes());
            // `flush` of a file does nothing; this asks the port's driver.
            let _ = port.sync_all();
        }
    }

    /// For the log alone.
    pub(super) fn log(&self, line: &str) {
        if let Some(mut log) = self.log.as_ref() {
            let _ = writeln!(log, "{} {line}\r", disk::now());
        }
    }

    /// The last word: how it ended.
    pub(super) fn end(&self, done: Result<Option<Word>>) -> Result<()> {
        match done {
            Ok(word) => {
                if let Some(word) = word {
                    self.tell(word, "");
                }
                // The next thing may be a power cut.
                let _ = self.log.as_ref().map_or(Ok(()), File::sync_all as fn(&File) -> io::Result<()>);
                Ok(())
            }
            Err(error) => {
                self.tell(Word::Failed, &words(&error));
                Err(error)
            }
        }
    }
}

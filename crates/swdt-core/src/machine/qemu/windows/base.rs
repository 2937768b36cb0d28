//! The first Windows of its kind becomes a base: installed once, made anonymous by Windows' own sysprep, then never
//! written to again. Machines are overlays over it and have their own name, keys, password and ids, because each goes
//! through its own first start with its own seed.
//!
//! A base is made from the user's media on the user's host, and stays there.

use std::{fs, io::Read, path::Path, time::UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::{
    Result,
    event::Reporter,
    interrupt::Interrupt,
    machine::{
        files::{self, failed},
        windows::{
            media::{Looked, Media},
            seed::Locale,
        },
    },
};

/// Everything a base depends on. What differs between two machines of one kind is not in it.
#[derive(Debug, Clone)]
pub(in crate::machine::qemu) struct BaseKey<'a> {
    /// SHA-256 of the disc.
    pub(in crate::machine::qemu) media: &'a str,
    /// What was chosen on it, and what goes beside it.
    pub(in crate::machine::qemu) looked: &'a Looked,
    /// With UEFI?
    pub(in crate::machine::qemu) uefi: bool,
    /// Of the disk, in GiB: a system partition does not grow by itself.
    pub(in crate::machine::qemu) disk_gib: u64,
    /// Language, keyboard and time.
    pub(in crate::machine::qemu) locale: &'a Locale,
    /// SHA-256 of the package of OpenSSH.
    pub(in crate::machine::qemu) openssh: Option<&'a str>,
}

impl BaseKey<'_> {
    /// The name of the base.
    pub(in crate::machine::qemu) fn name(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            // With its length, so that no two lists of texts are alike.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        let edition = match &self.looked.media {
            Media::Disc { edition, .. } => edition.index,
            Media::Disk { .. } => 0,
        };
        let Locale { language, keyboard, time_zone } = self.locale;
        let numbers = format!("2 {edition} {} {}", self.uefi, self.disk_gib);
        let key = self.looked.product_key.as_ref().map_or("", |key| key.as_str());
        for text in [self.media, &numbers, language, keyboard, time_zone, key, self.openssh.unwrap_or("")] {
            add(text);
        }
        for file in &self.looked.drivers {
            add(&file.path);
            add(&hex(&Sha256::digest(&file.bytes)));
        }
        format!("windows-{}", &hex(&hash.finalize())[..16])
    }
}

/// SHA-256 of a disc. Some gigabytes take a while, so it is told, and kept for as long as the file is not touched.
pub(in crate::machine::qemu) fn media_hash(
    iso: &Path,
    kept_in: &Path,
    reporter: &Reporter,
    interrupt: &Interrupt,
) -> Result<String> {
    let cannot = |error: std::io::Error| failed("read", iso, &error);
    let meta = fs::metadata(iso).map_err(cannot)?;
    let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let stamp = format!("{} {} {}", iso.display(), meta.len(), changed.as_nanos());
    let note = kept_in.join(format!("{}.sha256", &hex(&Sha256::digest(stamp.as_bytes()))[..16]));
    if let Ok(known) = fs::read_to_string(&note)
        && known.len() == 64
    {
        return Ok(known);
    }
    reporter.doing("reading the disc of Windows");
    let mut file = fs::File::open(iso).map_err(cannot)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        interrupt.check()?;
        match file.read(&mut buffer).map_err(cannot)? {
            0 => break,
            count => hash.update(&buffer[..count]),
        }
    }
    let sha256 = hex(&hash.finalize());
    files::make_dir(kept_in)?;
    files::write_whole(&note, sha256.as_bytes())?;
    Ok(sha256)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use swdt_media::{answer::ProductKey, virtio::DriverFile};

    use super::*;

    fn looked() -> Looked {
        let media = Media::Disk { vhdx: "/a.vhdx".into() };
        Looked { media, product_key: None, drivers: Vec::new(), openssh: None }
    }

    #[test]
    fn another_disc_or_another_setting_is_another_base() {
        let (plain, mut keyed, mut driven) = (looked(), looked(), looked());
        keyed.product_key = Some(ProductKey::new("AAAAA-BBBBB-CCCCC-DDDDD-EEEEE").unwrap());
        driven.drivers = vec![DriverFile { path: "viostor/viostor.inf".into(), bytes: b"x".to_vec() }];
        let (english, german) = (Locale::of("en-US"), Locale::of("de-DE"));
        let key = BaseKey {
            media: "aa",
            looked: &plain,
            uefi: true,
            disk_gib: 60,
            locale: &english,
            openssh: None,
        };
        let names = [
            key.name(),
            BaseKey { media: "ab", ..key.clone() }.name(),
            BaseKey { looked: &keyed, ..key.clone() }.name(),
            BaseKey { looked: &driven, ..key.clone() }.name(),
            BaseKey { uefi: false, ..key.clone() }.name(),
            BaseKey { disk_gib: 61, ..key.clone() }.name(),
            BaseKey { locale: &german, ..key.clone() }.name(),
            BaseKey { openssh: Some("aa"), ..key.clone() }.name(),
        ];
        let mut different = names.to_vec();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), names.len(), "{names:?}");
        assert_eq!(key.name(), names[0], "the same is the same");
    }

    #[test]
    fn a_disc_is_hashed_once_for_as_long_as_it_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let (iso, notes) = (dir.path().join("a.iso"), dir.path().join("notes"));
        let hash = || media_hash(&iso, &notes, &Reporter::silent(), &Interrupt::default());
        fs::write(&iso, "abc").unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash().unwrap(), known);
        let note = fs::read_dir(&notes).unwrap().next().unwrap().unwrap().path();
        fs::write(&note, "0".repeat(64)).unwrap();
        assert_eq!(hash().unwrap(), "0".repeat(64), "it was read again");
        fs::write(&iso, "abcd").unwrap();
        assert_ne!(hash().unwrap(), "0".repeat(64), "another file is another disc");
    }
}

//! The seed of one Windows machine: a disc with Setup's answers, our own program for its first boot, and whatever
//! Microsoft's disc lacks.
//!
//! ```text
//! Autounattend.xml          Setup finds it by its name; on a sealed disk Unattend.xml, too
//! swdt/swdt-node.exe        started by the answers
//! swdt/first-boot.json      what it does: keys, network
//! swdt/openssh.msi          where Windows does not bring it
//! drivers/<driver>/…        of one release, where devices need them
//! ```
//!
//! It holds the machine's host key and a password. The password is made here, told to nobody, and replaced on the
//! machine before anybody can log in; the file is for its owner alone and goes when the machine has answered.

use std::{
    fs,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use swdt_media::{
    answer::{self, Answers, ComputerName, From, Network, ProductKey},
    iso::{Content, Disc},
    virtio::DriverFile,
};
use swdt_wire::{Blob, FIRST_BOOT_FILE, FIRST_BOOT_VERSION, FirstBoot, FirstNetwork, HostKey, Secret};

use crate::{
    Error, Result, id, keys,
    machine::files::{self, failed},
};

const ANSWERS: &str = "Autounattend.xml";
/// What Microsoft calls the same file for the passes after Setup; which of the two names a sealed disk looks for on a disc is
/// told differently, so it finds both.
const ANSWERS_OF_SEALED: &str = "Unattend.xml";
const OPENSSH: &str = "swdt/openssh.msi";
const LABEL: &str = "swdt-seed";

/// What one machine is to become.
#[derive(Debug)]
pub struct Seed<'a> {
    /// Where the system comes from.
    pub from: From,
    /// The machine's name.
    pub name: ComputerName,
    /// What of Windows is like where its user lives.
    pub locale: Locale,
    /// None for evaluations.
    pub product_key: Option<ProductKey>,
    /// Is there a desktop?
    pub desktop: bool,
    /// What it is for.
    pub becomes: Becomes<'a>,
    /// The node program for Windows.
    pub program: &'a [u8],
    /// The package of OpenSSH, where Windows does not bring it.
    pub openssh: Option<PathBuf>,
    /// Drivers that Microsoft's disc lacks.
    pub drivers: Vec<DriverFile>,
}

/// What a machine is for.
#[derive(Debug, Clone)]
pub enum Becomes<'a> {
    /// A node.
    Node {
        /// Its one network card.
        network: Network,
        /// Who may log in, `ssh-ed25519 AAAA…`.
        authorized_key: &'a str,
        /// The file of the key it is known by; made if there is none.
        host_key: &'a Path,
    },
    /// A disk that others are made from: known by nothing, with no address of its own, nobody logs in, and it switches
    /// itself off.
    Base,
}

/// Language, keyboard and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locale {
    /// `en-US`; must be on the disc.
    pub language: String,
    /// `en-US` or `0409:00000409`.
    pub keyboard: String,
    /// Windows' own name of it.
    pub time_zone: String,
}

impl Locale {
    /// The language of the disc, its keyboard, and no time zone but UTC.
    pub fn of(language: &str) -> Self {
        Self { language: language.to_owned(), keyboard: language.to_owned(), time_zone: "UTC".to_owned() }
    }
}

impl Seed<'_> {
    /// Writes the disc to a file of its owner alone.
    pub fn write(&self, to: &Path) -> Result<()> {
        let mut disc = Disc::new(LABEL);
        let answers = self.answers()?.xml().map_err(|error| refused(&error))?;
        let names =
            if self.from == From::SealedDisk { &[ANSWERS, ANSWERS_OF_SEALED][..] } else { &[ANSWERS] };
        for name in names {
            disc.add(name, Content::Bytes(answers.expose_secret().as_bytes().to_vec()));
        }
        disc.add(answer::PROGRAM, Content::Bytes(self.program.to_vec()));
        let openssh = self.openssh.as_deref().map(blob).transpose()?;
        disc.add(FIRST_BOOT_FILE, Content::Bytes(self.first_boot(openssh.as_ref().map(|(_, blob)| blob))?));
        if let Some((bytes, _)) = openssh {
            disc.add(OPENSSH, Content::Bytes(bytes));
        }
        for file in &self.drivers {
            disc.add(&format!("{}/{}", answer::DRIVERS, file.path), Content::Bytes(file.bytes.clone()));
        }
        to.parent().map_or(Ok(()), files::make_dir)?;
        let mut bytes = Vec::new();
        disc.write(&mut bytes).map_err(|error| refused(&error))?;
        files::write_whole(to, &bytes)
    }

    fn answers(&self) -> Result<Answers> {
        Ok(Answers {
            from: self.from.clone(),
            name: self.name.clone(),
            language: self.locale.language.clone(),
            keyboard: self.locale.keyboard.clone(),
            time_zone: self.locale.time_zone.clone(),
            product_key: self.product_key.clone(),
            password: one_time_password()?,
            network: match &self.becomes {
                Becomes::Node { network, .. } => Some(network.clone()),
                Becomes::Base => None,
            },
            drivers: !self.drivers.is_empty(),
            desktop: self.desktop,
        })
    }

    fn first_boot(&self, openssh: Option<&Blob>) -> Result<Vec<u8>> {
        let (authorized_keys, public, private, network) = match &self.becomes {
            Becomes::Node { authorized_key, host_key, network } => {
                let public = keys::ensure(host_key)?;
                let private =
                    fs::read_to_string(host_key).map_err(|error| failed("read", host_key, &error))?;
                let network = FirstNetwork {
                    mac: network.mac.to_lowercase(),
                    address: network.address.addr(),
                    prefix: network.address.prefix_len(),
                    gateway: network.gateway,
                    dns: network.dns.clone(),
                };
                (vec![authorized_key.trim().to_owned()], public, private, Some(network))
            }
            Becomes::Base => Default::default(),
        };
        let wanted = FirstBoot {
            version: FIRST_BOOT_VERSION,
            authorized_keys,
            host_key: HostKey { private: Secret::new(private), public },
            network,
            openssh: openssh.cloned(),
            seal: matches!(self.becomes, Becomes::Base),
        };
        serde_json::to_vec(&wanted).map_err(|error| Error::new(id::INTERNAL, error.to_string()))
    }
}

/// The bytes of a file and what they are known by.
pub(super) fn blob(path: &Path) -> Result<(Vec<u8>, Blob)> {
    let bytes = fs::read(path).map_err(|error| failed("read", path, &error))?;
    let sha256 = Sha256::digest(&bytes).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let blob = Blob { sha256, size: bytes.len() as u64 };
    Ok((bytes, blob))
}

/// Letters of every kind, so that no policy refuses it.
fn one_time_password() -> Result<SecretString> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(id::INTERNAL, format!("no random numbers: {error}")))?;
    let letters = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte & 63)]));
    Ok(SecretString::from(letters.chain("aA1!".chars()).collect::<String>()))
}

fn refused(error: &swdt_media::Error) -> Error {
    let told = Error::new(id::MACHINE_FILE_FAILED, format!("the seed cannot be written: {error}"));
    match error.hint() {
        Some(hint) => told.hinted(hint),
        None => told,
    }
}

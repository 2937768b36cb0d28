//! A disc that installs Windows Server: which systems stand on it, and which of them is meant.

use std::{
    fmt,
    io::{Read, Seek},
};

use crate::{Error, Result, udf::Udf, wim};

/// A release of Windows Server that Kubernetes runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 10.0.17763
    Server2019,
    /// 10.0.20348
    Server2022,
    /// 10.0.26100
    Server2025,
}

impl Release {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::Server2019, Self::Server2022, Self::Server2025];

    /// The build that containers are matched by.
    pub fn build(self) -> u32 {
        match self {
            Self::Server2019 => 17763,
            Self::Server2022 => 20348,
            Self::Server2025 => 26100,
        }
    }

    /// How drivers on the virtio-win disc call it.
    pub fn virtio(self) -> &'static str {
        match self {
            Self::Server2019 => "2k19",
            Self::Server2022 => "2k22",
            Self::Server2025 => "2k25",
        }
    }

    /// Does it bring its own SSH server?
    pub fn has_openssh(self) -> bool {
        self >= Self::Server2025
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server2019 => "Windows Server 2019",
            Self::Server2022 => "Windows Server 2022",
            Self::Server2025 => "Windows Server 2025",
        })
    }
}

/// A system that can be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edition {
    /// Its number on the disc.
    pub index: u32,
    /// Which Windows Server it is.
    pub release: Release,
    /// `Windows Server 2022 SERVERSTANDARDCORE`.
    pub name: String,
    /// `Windows Server 2022 Standard Evaluation`.
    pub display_name: String,
    /// `ServerStandardEval`.
    pub id: String,
    /// Without a desktop.
    pub core: bool,
    /// Runs 180 days without a key.
    pub evaluation: bool,
    /// `en-US`.
    pub language: String,
    /// What its files take when they are unpacked, in bytes; zero where the disc does not say.
    pub size: u64,
}

/// What a disc offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disc {
    /// What can be installed, in the disc's own order. Never empty.
    pub editions: Vec<Edition>,
    /// Firmware with UEFI can start it.
    pub uefi: bool,
}

const AMD64: u32 = 9;
/// Where Microsoft keeps evaluations; they run for 180 days.
pub const EVALUATIONS: &str = "evaluations of Microsoft, if you accept their terms: 2025 https://aka.ms/WinServ2025iso-enus, \
     2022 https://go.microsoft.com/fwlink/p/?LinkID=2195280, 2019 https://go.microsoft.com/fwlink/p/?LinkID=2195167";

/// Looks at a disc. What cannot be a node of a cluster is refused, with what was found instead.
pub fn look<R: Read + Seek>(reader: R) -> Result<Disc> {
    let mut disc = Udf::open(reader)?;
    let mut images = None;
    for name in ["sources/install.wim", "sources/install.esd"] {
        if let Some(mut file) = disc.file(name)? {
            images = Some(wim::images(&mut file).map_err(|error| error.about(name))?);
            break;
        }
    }
    let Some(images) = images else {
        let split = disc.file("sources/install.swm")?.is_some();
        let why = if split {
            "its systems are in pieces (install.swm)"
        } else {
            "there is no sources/install.wim on it"
        };
        return Err(Error::new(format!("it installs no Windows: {why}")).hinted(EVALUATIONS));
    };
    let uefi = disc.file("efi/boot/bootx64.efi")?.is_some();
    let editions: Vec<Edition> = images.iter().filter_map(edition).collect();
    if editions.is_empty() {
        let found: Vec<String> = images.iter().map(told).collect();
        let message =
            format!("there is no Windows Server 2019, 2022 or 2025 for amd64 on it, but {}", listed(&found));
        return Err(Error::new(message).hinted(EVALUATIONS));
    }
    Ok(Disc { editions, uefi })
}

impl Disc {
    /// The system that is meant by a name of any kind: its number, `Standard`, `ServerDatacenter`, or as Setup or the
    /// WIM call it. Where a name fits with and without a desktop, the one without is meant. No name is Standard.
    pub fn choose(&self, name: Option<&str>) -> Result<&Edition> {
        let wanted = name.unwrap_or("Standard");
        let fitting: Vec<&Edition> =
            self.editions.iter().filter(|edition| edition.is_called(wanted)).collect();
        let core_first = fitting.iter().find(|edition| edition.core).or(fitting.first());
        let or_any = || name.is_none().then(|| self.editions.iter().find(|edition| edition.core)).flatten();
        core_first.copied().or_else(or_any).ok_or_else(|| {
            let names: Vec<String> = self.editions.iter().map(ToString::to_string).collect();
            Error::new(format!("no system on it is called {wanted:?}; there are {}", listed(&names)))
                .hinted("the number, the edition (`Standard`, `Datacenter`) or a whole name chooses one")
        })
    }
}

impl Edition {
    fn is_called(&self, wanted: &str) -> bool {
        let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
        let wanted = plain(wanted);
        let short = plain(&self.id).trim_end_matches("eval").trim_start_matches("server").to_owned();
        let kinds = [
            self.index.to_string(),
            plain(&self.name),
            plain(&self.display_name),
            plain(&self.id),
            plain(&self.id).trim_end_matches("eval").to_owned(),
            format!("{short}{}", if self.core { "core" } else { "desktop" }),
            short,
        ];
        kinds.contains(&wanted)
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let desktop = if self.core { "Core" } else { "Desktop" };
        write!(f, "{} {} ({desktop})", self.index, self.display_name)
    }
}

fn edition(image: &wim::Image) -> Option<Edition> {
    let release = Release::ALL.into_iter().find(|release| release.build() == image.build)?;
    let core = match image.installation.as_str() {
        "Server Core" => true,
        "Server" => false,
        _ => return None,
    };
    (image.architecture == AMD64 && image.index > 0).then(|| Edition {
        index: image.index,
        release,
        name: image.name.clone(),
        display_name: called(image).to_owned(),
        evaluation: image.edition.ends_with("Eval"),
        id: image.edition.clone(),
        core,
        language: if image.language.is_empty() { "en-US".to_owned() } else { image.language.clone() },
        size: image.size,
    })
}

fn called(image: &wim::Image) -> &str {
    if image.display_name.is_empty() { &image.name } else { &image.display_name }
}

/// A system that will not do, in words.
fn told(image: &wim::Image) -> String {
    let architecture = match image.architecture {
        AMD64 => "",
        12 => ", arm64",
        _ => ", not amd64",
    };
    format!("{} (build {}{architecture})", called(image), image.build)
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => names.join("; "),
    }
}

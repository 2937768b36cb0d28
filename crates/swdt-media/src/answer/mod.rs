//! The answer file of Windows Setup, `Autounattend.xml`: every question answered before it is asked.
//!
//! Setup goes through passes; each has components; each component has its settings. [`Answers::xml`] is the list of
//! them. Reference: Microsoft's "Unattended Windows Setup Reference". Setup shows a mistake only on the machine's screen,
//! so what it is known to reject is checked here.

mod disk;
mod element;
mod name;

use std::net::Ipv4Addr;

use base64::{Engine, engine::general_purpose::STANDARD};
use ipnet::Ipv4Net;
use secrecy::{ExposeSecret, SecretString};

pub use name::{ComputerName, ProductKey};

use crate::Result;
use element::{Element, list, node, text};

/// How a machine starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// MBR disks; no key has to be pressed.
    Bios,
    /// GPT disks.
    Uefi,
}

/// Where the system comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// A disc: the system with that number is put onto the first disk.
    Disc {
        /// Its number on the disc.
        index: u32,
        /// How the machine starts.
        firmware: Firmware,
    },
    /// A disk on which a system waits for its first start: only the later passes are answered.
    SealedDisk,
}

/// A network card with a fixed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// `52:54:00:…`
    pub mac: String,
    /// The address and its range.
    pub address: Ipv4Net,
    /// The way out.
    pub gateway: Ipv4Addr,
    /// Who answers for names.
    pub dns: Vec<Ipv4Addr>,
}

/// Everything that Setup asks.
#[derive(Debug)]
pub struct Answers {
    /// Where the system comes from.
    pub from: From,
    /// The machine's name.
    pub name: ComputerName,
    /// `en-US`; must be on the disc.
    pub language: String,
    /// The keyboard, `en-US` or `0409:00000409`.
    pub keyboard: String,
    /// Windows' own name of it, `UTC` or `W. Europe Standard Time`.
    pub time_zone: String,
    /// None for evaluations: an empty key stops Setup.
    pub product_key: Option<ProductKey>,
    /// Lives until the first boot is done; the node program replaces it with one that nobody knows.
    pub password: SecretString,
    /// Its one network card. None for a machine that others are made from: an address would be in all of them.
    pub network: Option<Network>,
    /// Are there drivers on the seed, under `drivers`?
    pub drivers: bool,
    /// Is there a desktop?
    pub desktop: bool,
}

/// Where the node program lies on the seed.
pub const PROGRAM: &str = "swdt/swdt-node.exe";
/// Where drivers lie on the seed.
pub const DRIVERS: &str = "drivers";

/// Finds the seed, whatever letter it has, and starts our program from it. Setup stops for good when a command fails,
/// so it never does: whether it worked is seen by the machine answering. At most 259 letters, and no `%`: Setup expands
/// those itself.
const FIRST_BOOT: &str = "powershell.exe -NoProfile -NonInteractive -Command \"foreach($d in 68..90){\
    $p=[char]$d+':\\swdt\\swdt-node.exe';if(Test-Path $p){& $p first-boot;break}};exit 0\"";

impl Answers {
    /// The file. It holds the password, if hidden from view.
    pub fn xml(&self) -> Result<SecretString> {
        let mut passes = Vec::new();
        if let From::Disc { index, firmware } = self.from {
            passes.push(pass("windowsPE", self.windows_pe(index, firmware)));
        }
        passes.push(pass("specialize", self.specialize()));
        passes.push(pass("oobeSystem", self.oobe_system()));
        element::document(&node("unattend", passes)).map(SecretString::from)
    }

    /// The small system on the disc that installs the real one.
    fn windows_pe(&self, index: u32, firmware: Firmware) -> Vec<Element> {
        let mut settings = self.locale();
        settings.insert(0, node("SetupUILanguage", [text("UILanguage", &self.language)]));
        let mut components = vec![component("Microsoft-Windows-International-Core-WinPE", settings)];
        if self.drivers {
            // The seed's letter is not certain; folders that are not there are skipped.
            let paths = ('D'..='H').map(|letter| vec![text("Path", format!("{letter}:\\{DRIVERS}"))]);
            components.push(component(
                "Microsoft-Windows-PnpCustomizationsWinPE",
                [node("DriverPaths", list("PathAndCredentials", paths, true))],
            ));
        }
        components.push(component("Microsoft-Windows-Setup", self.setup(index, firmware)));
        components
    }

    fn setup(&self, index: u32, firmware: Firmware) -> Vec<Element> {
        let meta = vec![text("Key", "/IMAGE/INDEX"), text("Value", index.to_string())];
        let image = node(
            "OSImage",
            [
                node("InstallFrom", list("MetaData", [meta], false)),
                node(
                    "InstallTo",
                    [text("DiskID", "0"), text("PartitionID", disk::system_partition(firmware))],
                ),
                text("InstallToAvailablePartition", "false"),
                text("WillShowUI", "OnError"),
            ],
        );
        let mut user = vec![text("AcceptEula", "true")];
        if let Some(key) = &self.product_key {
            user.push(node("ProductKey", [text("Key", key.as_str()), text("WillShowUI", "OnError")]));
        }
        vec![
            disk::configuration(firmware),
            node("DynamicUpdate", [text("Enable", "false"), text("WillShowUI", "Never")]),
            node("ImageInstall", [image]),
            node("UserData", user),
        ]
    }

    /// The first start of the system itself.
    fn specialize(&self) -> Vec<Element> {
        let run = vec![
            text("Description", "swdt: first boot"),
            text("Order", "1"),
            text("Path", FIRST_BOOT),
            text("WillReboot", "Never"),
        ];
        let mut shell = vec![text("ComputerName", self.name.as_str())];
        if let Some(key) = &self.product_key {
            shell.push(text("ProductKey", key.as_str()));
        }
        shell.push(text("TimeZone", &self.time_zone));
        let mut components = Vec::new();
        // A list of servers without servers is none that the reference knows.
        if let Some(network) = self.network.as_ref().filter(|network| !network.dns.is_empty()) {
            components
                .push(component("Microsoft-Windows-DNS-Client", [node("Interfaces", network.servers())]));
        }
        components.push(component(
            "Microsoft-Windows-Deployment",
            [node("RunSynchronous", list("RunSynchronousCommand", [run], false))],
        ));
        if self.desktop {
            let quiet = text("DoNotOpenServerManagerAtLogon", "true");
            components.push(component("Microsoft-Windows-ServerManager-SvrMgrNc", [quiet]));
        }
        components.push(component("Microsoft-Windows-Shell-Setup", shell));
        if let Some(network) = &self.network {
            components.push(component("Microsoft-Windows-TCPIP", [node("Interfaces", network.interface())]));
        }
        components
    }

    /// What would be asked at the first logon.
    fn oobe_system(&self) -> Vec<Element> {
        let hidden = ["EULAPage", "LocalAccountScreen", "OEMRegistrationScreen", "OnlineAccountScreens"];
        let mut oobe: Vec<Element> = hidden.iter().map(|page| text(&format!("Hide{page}"), "true")).collect();
        oobe.extend([text("HideWirelessSetupInOOBE", "true"), text("ProtectYourPC", "3")]);
        let password = [text("Value", hidden_password(&self.password)), text("PlainText", "false")];
        vec![
            component("Microsoft-Windows-International-Core", self.locale()),
            component(
                "Microsoft-Windows-Shell-Setup",
                [
                    node("OOBE", oobe),
                    text("TimeZone", &self.time_zone),
                    node("UserAccounts", [node("AdministratorPassword", password)]),
                ],
            ),
        ]
    }

    fn locale(&self) -> Vec<Element> {
        let language = &self.language;
        let languages = ["SystemLocale", "UILanguage", "UserLocale"].map(|name| text(name, language));
        [text("InputLocale", &self.keyboard)].into_iter().chain(languages).collect()
    }
}

impl Network {
    /// The card is known by its address: its name is not the same on every system.
    fn identifier(&self) -> Element {
        text("Identifier", self.mac.to_uppercase().replace(':', "-"))
    }

    fn interface(&self) -> Vec<Element> {
        let route = vec![
            text("Identifier", "0"),
            text("Metric", "10"),
            text("NextHopAddress", self.gateway.to_string()),
            text("Prefix", "0.0.0.0/0"),
        ];
        let addresses = element::add("IpAddress", 1, true).with_text(self.address.to_string());
        // In this order, says the reference.
        let interface = vec![
            node("Ipv4Settings", [text("DhcpEnabled", "false"), text("RouterDiscoveryEnabled", "false")]),
            self.identifier(),
            node("UnicastIpAddresses", [addresses]),
            node("Routes", list("Route", [route], false)),
        ];
        list("Interface", [interface], false)
    }

    fn servers(&self) -> Vec<Element> {
        let servers = self.dns.iter().enumerate();
        let servers =
            servers.map(|(at, server)| element::add("IpAddress", at + 1, true).with_text(server.to_string()));
        let interface = vec![self.identifier(), node("DNSServerSearchOrder", servers)];
        list("Interface", [interface], false)
    }
}

fn pass(name: &str, components: Vec<Element>) -> Element {
    node("settings", components).with("pass", name)
}

fn component(name: &str, settings: impl IntoIterator<Item = Element>) -> Element {
    node("component", settings)
        .with("name", name)
        .with("processorArchitecture", "amd64")
        .with("publicKeyToken", "31bf3856ad364e35")
        .with("language", "neutral")
        .with("versionScope", "nonSxS")
}

/// The form in which Setup hides a password from view; it is no encryption.
fn hidden_password(password: &SecretString) -> String {
    let text = format!("{}AdministratorPassword", password.expose_secret());
    STANDARD.encode(text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests;

//! Windows from the user's own media.

use std::path::PathBuf;

use swdt_media::windows::EVALUATIONS;

use super::{Resolver, Site, v1, values};
use crate::{
    id,
    spec::{Image, OpenSsh, OsFamily, WindowsImage, WindowsSource},
};

/// What Microsoft calls the least, and what leaves room for images.
pub(super) const LEAST_GIB: u64 = 32;
pub(super) const DISK_GIB: u64 = 60;
/// Memory below which Setup does not run, and what is comfortable.
pub(super) const LEAST_MIB: u64 = 2048;
pub(super) const MEMORY_MIB: u64 = 4096;

/// What only Windows is made from, and what only Linux is.
pub(super) const OF_WINDOWS: [&str; 6] = ["iso", "vhdx", "edition", "productKeyFile", "virtio", "openssh"];
const OF_LINUX: [&str; 5] = ["cloud", "build", "install", "download", "file"];
/// What goes with one of those of Linux.
pub(super) const MIRROR: &str = "mirror";
/// An example of Microsoft's disc.
pub(super) const ISO: &str = "~/iso/windows-server-2022.iso";

/// The system that an image is of; none if it does not say what it is made from.
pub(super) fn system(image: Site<'_>) -> Option<OsFamily> {
    let written = |key: &str| image.key(key).written();
    if ["iso", "vhdx"].into_iter().any(written) {
        return Some(OsFamily::Windows);
    }
    OF_LINUX.into_iter().any(written).then_some(OsFamily::Linux)
}

impl Resolver<'_> {
    /// A Linux machine is made from one thing, and nothing of Windows.
    pub(super) fn is_one_of_linux(&mut self, site: Site<'_>) {
        let written: Vec<_> = OF_LINUX.iter().filter(|key| site.key(key).written()).collect();
        if written.len() > 1 {
            let list: Vec<_> = written.iter().map(|key| format!("`{key}`")).collect();
            let message = format!("`image` has {}, but takes only one of them", list.join(" and "));
            self.report(
                id::CHOICE_UNCLEAR,
                site.key(written[1]),
                message,
                format!("keep `{}`, or the other", written[0]),
            );
        }
        for key in OF_WINDOWS {
            if site.key(key).written() {
                let hint = match system(site) {
                    Some(OsFamily::Linux) => format!("remove `{key}`"),
                    _ => "write `os: windows` for a node of Windows".to_owned(),
                };
                self.report(id::FIELD_MISPLACED, site.key(key), format!("`{key}` is for Windows"), hint);
            }
        }
    }

    /// What a Windows machine is made from. Whether the media is any good is seen when a machine is to be made.
    pub(super) fn windows_image(&mut self, raw: Option<&v1::Image>, site: Site<'_>) -> Option<Image> {
        let Some(raw) = raw else {
            if !site.bad() {
                let hint = format!("write `image: {{iso: {ISO}}}`; {EVALUATIONS}");
                self.report(
                    id::FIELD_MISSING,
                    site,
                    "a machine of Windows is made from your own media: `image` is missing",
                    hint,
                );
            }
            return None;
        };
        let known = self.problems.len();
        for key in OF_LINUX.into_iter().chain([MIRROR]) {
            if site.key(key).written() {
                let hint = match system(site) {
                    Some(OsFamily::Windows) => format!("remove `{key}`"),
                    _ => format!("Windows is made from `iso` or `vhdx`; {EVALUATIONS}"),
                };
                self.report(id::FIELD_MISPLACED, site.key(key), format!("`{key}` is for Linux"), hint);
            }
        }
        let iso = self.path(raw.iso.as_deref(), site.key("iso"), ISO);
        let vhdx = self.path(raw.vhdx.as_deref(), site.key("vhdx"), "~/images/windows-server-2025.vhdx");
        let virtio = self.path(raw.virtio.as_deref(), site.key("virtio"), "~/iso/virtio-win.iso");
        let product_key_file = self.product_key_file(raw.product_key_file.as_deref(), site);
        let edition = raw.edition.as_ref().map(v1::Edition::text);
        if edition.as_deref().is_some_and(|edition| edition.trim().is_empty()) {
            let hint =
                "write its number or one of its names, for example `edition: Datacenter`, or leave it out";
            self.report(id::VALUE_INVALID, site.key("edition"), "`edition` is empty", hint);
        }
        let there = |value: Option<&String>, key: &str| value.is_some() || site.key(key).written();
        let source = match (there(raw.iso.as_ref(), "iso"), there(raw.vhdx.as_ref(), "vhdx")) {
            (true, true) => {
                let hint = "keep `iso` to install, `vhdx` for a disk that sysprep sealed";
                self.report(
                    id::CHOICE_UNCLEAR,
                    site.key("vhdx"),
                    "an image is an `iso` or a `vhdx`, not both",
                    hint,
                );
                None
            }
            (false, false) => {
                if self.problems.len() == known {
                    let hint = format!("write `iso: {ISO}`; {EVALUATIONS}");
                    self.report(
                        id::CHOICE_UNCLEAR,
                        site,
                        "the image has neither an `iso` nor a `vhdx`",
                        hint,
                    );
                }
                None
            }
            (true, false) => iso.map(|path| WindowsSource::Iso { path, edition }),
            (false, true) => {
                for key in ["edition", "virtio"] {
                    if site.key(key).written() {
                        let message =
                            format!("`{key}` is for an `iso`: what is on a sealed disk is there already");
                        self.report(id::FIELD_MISPLACED, site.key(key), message, format!("remove `{key}`"));
                    }
                }
                vhdx.map(|path| WindowsSource::Vhdx { path })
            }
        };
        let openssh = raw.openssh.as_ref().map(|raw| {
            let site = site.key("openssh");
            let example = "~/iso/OpenSSH-Win64-v10.0.0.0.msi";
            let path = self.path(raw.path.as_deref(), site.key("path"), example);
            let sha256 = self.text(raw.sha256.as_deref(), site.key("sha256"), values::sha256);
            Some(OpenSsh { path: path?, sha256: sha256? })
        });
        let openssh = match openssh {
            Some(openssh) => Some(openssh?),
            None => None,
        };
        Some(Image::Windows(Box::new(WindowsImage { source: source?, product_key_file, virtio, openssh })))
    }

    /// The file of a product key, which is no product key.
    pub(super) fn product_key_file(&mut self, text: Option<&str>, image: Site<'_>) -> Option<PathBuf> {
        let site = image.key("productKeyFile");
        if text.is_some_and(values::is_product_key) {
            let hint = "write the key into a file that only you can read, and its path here: \
                        `productKeyFile: ~/.config/swdt/windows.key`";
            self.secrets.push(site.span());
            self.report(id::SECRET_IN_FILE, site, "`productKeyFile` is a file, not the key itself", hint);
            return None;
        }
        self.path(text, site, "~/.config/swdt/windows.key")
    }
}

//! Virtual machines: what is only said of them.

use super::{NO_LOGIN, Resolver, Site, v1, values, windows_image};
use crate::{
    id,
    spec::{Firmware, Image, LinuxRelease, Node, OsFamily, Place, VmSpec, Way, Wiring},
};
use windows_image::{ISO, MIRROR};

/// What is only said of virtual machines.
pub(super) const OF_VMS: [&str; 4] = ["image", "disk", "firmware", "network"];

/// What a system with Kubernetes and a few images is comfortable with.
const DISK_GIB: u64 = 20;
/// Below this a control plane with its images does not fit.
const LEAST_GIB: u64 = 8;

impl Resolver<'_> {
    /// Refuses what is said of a machine that is not virtual.
    pub(super) fn no_vm(&mut self, site: Site<'_>) {
        for key in OF_VMS {
            if site.key(key).written() {
                let hint = format!("remove `{key}`, or write `provider: qemu`");
                self.report(
                    id::FIELD_MISPLACED,
                    site.key(key),
                    format!("`{key}` is for virtual machines"),
                    hint,
                );
            }
        }
    }

    /// What a virtual machine is.
    pub(super) fn vm(
        &mut self,
        raw: &v1::Machine,
        shared: Option<&v1::Machine>,
        os: OsFamily,
        site: Site<'_>,
    ) -> Option<VmSpec> {
        // What is said for all machines is of one system, and for machines of that system.
        let shared_system = windows_image::system(self.defaults.key("machine").key("image"));
        let shared_image = shared.and_then(|shared| shared.image.as_ref());
        let shared_image = shared_image.filter(|_| shared_system == Some(os));
        let image_site = match (&raw.image, shared_image) {
            (None, Some(_)) => self.said(site, "image"),
            _ => site.key("image"),
        };
        let image = match (os, raw.image.as_ref().or(shared_image)) {
            (OsFamily::Windows, image) => self.windows_image(image, image_site),
            (OsFamily::Linux, Some(image)) => self.linux_image(image, image_site),
            (OsFamily::Linux, None) => Some(Image::Cloud(LinuxRelease::Debian12)),
        };
        let (least_gib, usual_gib) = match os {
            OsFamily::Linux => (LEAST_GIB, DISK_GIB),
            OsFamily::Windows => (windows_image::LEAST_GIB, windows_image::DISK_GIB),
        };
        let shared_disk = shared.and_then(|shared| values::disk(shared.disk.as_deref()?).ok());
        let disk_mib = match raw.disk.as_deref() {
            Some(text) => self.take(values::disk(text), site.key("disk")),
            None => Some(shared_disk.unwrap_or(usual_gib * 1024)),
        };
        if disk_mib.is_some_and(|mib| mib < least_gib * 1024) {
            let what = if os == OsFamily::Windows { "a node of Windows" } else { "a node" };
            let message = format!("{what} needs a disk of {least_gib}Gi");
            self.report(
                id::MACHINE_TOO_SMALL,
                self.said(site, "disk"),
                message,
                format!("write `disk: {usual_gib}Gi`; it takes only what is written"),
            );
        }
        let firmware = raw.firmware.or_else(|| shared?.firmware).unwrap_or(match os {
            // Starts every image of Linux, and needs nothing more on the host.
            OsFamily::Linux => Firmware::Bios,
            // What Microsoft makes Windows for; only with it the firmware tells how far Setup is.
            OsFamily::Windows => Firmware::Uefi,
        });
        Some(VmSpec {
            image: image?,
            disk_gib: disk_mib?.div_ceil(1024),
            firmware,
            wiring: raw.network.or_else(|| shared?.network),
        })
    }

    /// Tells what is wrong with the image that machines share, even if each has one of its own.
    pub(super) fn shared_image(&mut self, raw: &v1::Image, site: Site<'_>) {
        match windows_image::system(site) {
            Some(OsFamily::Windows) => {
                self.windows_image(Some(raw), site);
            }
            Some(OsFamily::Linux) => {
                self.linux_image(raw, site);
            }
            None => self.made_from_nothing(raw, site),
        }
    }

    /// What only goes with the source of an image would be dropped without a word: an image is taken as a whole.
    fn made_from_nothing(&mut self, raw: &v1::Image, site: Site<'_>) {
        let known = self.problems.len();
        let of_windows = windows_image::OF_WINDOWS.map(|key| (key, format!("iso: {ISO}")));
        for (key, source) in of_windows.into_iter().chain([(MIRROR, "cloud: debian-12".to_owned())]) {
            if site.key(key).written() {
                self.report(
                    id::FIELD_MISPLACED,
                    site.key(key),
                    format!("`{key}` alone is of no use: the `image` of a node takes the place of this one"),
                    format!("write `{source}` beside it, or `{key}` in the `image` of each node"),
                );
            }
        }
        self.address(raw.mirror.as_deref(), site.key(MIRROR), values::mirror, NO_LOGIN);
        if self.problems.len() == known {
            self.no_source(site);
        }
    }

    fn no_source(&mut self, site: Site<'_>) {
        if site.sound() {
            let hint = "write `image: {cloud: debian-12}`, or leave `image` out, which is the same";
            self.report(id::FIELD_MISSING, site, "the image does not say what it is made from", hint);
        }
    }

    fn linux_image(&mut self, raw: &v1::Image, site: Site<'_>) -> Option<Image> {
        let known = self.problems.len();
        self.is_one_of_linux(site);
        let mirror = self.mirror(raw, site);
        let named = raw.cloud.map(|release| (Way::Cloud, release));
        let named = named.or_else(|| Some((Way::Build, raw.build?.into())));
        let named = named.or_else(|| Some((Way::Install, raw.install?.into())));
        let image = if let Some((way, release)) = named {
            Some(match (mirror, way) {
                (Some(url), way) => Image::Mirror { way, release, url },
                (None, Way::Cloud) => Image::Cloud(release),
                (None, Way::Build) => Image::Build(release),
                (None, Way::Install) => Image::Install(release),
            })
        } else if let Some(download) = &raw.download {
            self.image_download(download, site.key("download"))
        } else if let Some(text) = raw.file.as_deref() {
            let example = "~/images/debian-12-genericcloud-amd64.qcow2";
            self.path(Some(text), site.key("file"), example).map(Image::File)
        } else {
            if self.problems.len() == known {
                self.no_source(site);
            }
            None
        };
        image.filter(|_| self.problems.len() == known)
    }

    fn image_download(&mut self, raw: &v1::ImageDownload, site: Site<'_>) -> Option<Image> {
        let hint = "fetch the image yourself and write its path: `file: ./node.qcow2`";
        let url = self.address(raw.url.as_deref(), site.key("url"), values::url, hint);
        let checksum = match (raw.sha256.as_deref(), raw.sha512.as_deref()) {
            (Some(text), None) => self.text(Some(text), site.key("sha256"), values::sha256),
            (None, Some(text)) => self.text(Some(text), site.key("sha512"), values::sha512),
            (Some(_), Some(_)) => {
                self.report(
                    id::CHOICE_UNCLEAR,
                    site.key("sha512"),
                    "one checksum is enough",
                    "keep `sha256` or `sha512`",
                );
                None
            }
            (None, None) => {
                let bad = site.key("sha256").bad() || site.key("sha512").bad() || site.bad();
                if !bad {
                    let hint = "write `sha256:` or `sha512:`; the publisher of the image tells it";
                    self.report(id::FIELD_MISSING, site, "the checksum of the image is missing", hint);
                }
                None
            }
        };
        Some(Image::Url { url: url?, checksum: checksum? })
    }

    /// Another server for what is known by name.
    fn mirror(&mut self, raw: &v1::Image, image: Site<'_>) -> Option<String> {
        let site = image.key(MIRROR);
        let written = |key: &str| image.key(key).written();
        if site.written() && !["cloud", "build", "install"].into_iter().any(written) {
            let hint = if ["download", "file"].into_iter().any(written) {
                "remove `mirror`"
            } else {
                "write `cloud: debian-12` beside it, or remove `mirror`"
            };
            self.report(
                id::FIELD_MISPLACED,
                site,
                "`mirror` says where `cloud`, `build` or `install` comes from",
                hint,
            );
            return None;
        }
        // Machines made of packages go on asking the same server.
        let packages = ["build", "install"].into_iter().any(written);
        let parse = if packages { values::mirror_for_machines } else { values::mirror };
        self.address(raw.mirror.as_deref(), site, parse, NO_LOGIN)
    }

    /// Machines on a private segment reach each other and the world, and no other machines of this host.
    pub(super) fn one_network(&mut self, nodes: &[Option<Node>], site: Site<'_>) {
        let wiring = |node: &Node| match &node.place {
            Place::Machine(machine) => machine.vm.as_ref().and_then(|vm| vm.wiring),
            Place::Existing { .. } => None,
        };
        let segment = |node: &Node| wiring(node) == Some(Wiring::Segment);
        if !nodes.iter().flatten().any(segment) {
            return;
        }
        for (index, node) in nodes.iter().enumerate() {
            if node.as_ref().is_some_and(|node| !segment(node)) {
                let hint = "write `network: segment` under `defaults.machine`, or for no machine at all";
                self.report(
                    id::SEGMENT_MIXED,
                    site.item(index),
                    "this machine cannot reach those on the private segment",
                    hint,
                );
            }
        }
    }
}

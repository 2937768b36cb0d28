//! Virtual machines: what is only said of them.

use super::{Resolver, Site, v1, values, windows_image};
use crate::{
    id,
    spec::{Firmware, Image, LinuxRelease, Node, OsFamily, Place, VmSpec, Way, Wiring},
};

/// What a system with Kubernetes and a few images is comfortable with.
const DISK_GIB: u64 = 20;
/// Below this a control plane with its images does not fit.
const LEAST_GIB: u64 = 8;

impl Resolver<'_> {
    /// Refuses what is said of a machine that is not virtual.
    pub(super) fn no_vm(&mut self, site: Site<'_>) {
        for key in ["image", "disk", "firmware", "network"] {
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
        let shared_image = shared.and_then(|shared| shared.image.as_ref());
        let shared_image = shared_image.filter(|image| image.is_of_windows() == (os == OsFamily::Windows));
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

    fn linux_image(&mut self, raw: &v1::Image, site: Site<'_>) -> Option<Image> {
        if !self.is_one_of_linux(site) {
            return None;
        }
        let mirror = site.key(windows_image::MIRROR);
        if mirror.written() && !["cloud", "build", "install"].iter().any(|key| site.key(key).written()) {
            let hint = "write `cloud: debian-12` beside it, or remove `mirror`";
            self.report(
                id::FIELD_MISPLACED,
                mirror,
                "`mirror` says where `cloud`, `build` or `install` comes from",
                hint,
            );
            return None;
        }
        let named = raw.cloud.map(|release| (Way::Cloud, release));
        let named = named.or_else(|| Some((Way::Build, raw.build?.into())));
        if let Some((way, release)) = named.or_else(|| Some((Way::Install, raw.install?.into()))) {
            return self.image_by_name(way, release, raw.mirror.as_deref(), mirror);
        }
        if let Some(download) = &raw.download {
            let site = site.key("download");
            let url = self.address(download.url.as_deref(), site.key("url"), values::url);
            let checksum = match (download.sha256.as_deref(), download.sha512.as_deref()) {
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
            return Some(Image::Url { url: url?, checksum: checksum? });
        }
        if let Some(text) = raw.file.as_deref() {
            let example = "~/images/debian-12-genericcloud-amd64.qcow2";
            return self.path(Some(text), site.key("file"), example).map(Image::File);
        }
        if site.sound() {
            let hint = "write `image: {cloud: debian-12}`, or leave `image` out, which is the same";
            self.report(id::FIELD_MISSING, site, "the image does not say what it is made from", hint);
        }
        None
    }

    /// The image of a system that is known by name.
    fn image_by_name(
        &mut self,
        way: Way,
        release: LinuxRelease,
        mirror: Option<&str>,
        site: Site<'_>,
    ) -> Option<Image> {
        let Some(text) = mirror else {
            return Some(match way {
                Way::Cloud => Image::Cloud(release),
                Way::Build => Image::Build(release),
                Way::Install => Image::Install(release),
            });
        };
        // Machines made of packages go on asking the same server.
        let parse = if way == Way::Cloud { values::url } else { values::url_for_machines };
        self.address(Some(text), site, parse).map(|url| Image::Mirror { way, release, url })
    }

    /// Machines on a private segment reach only each other.
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

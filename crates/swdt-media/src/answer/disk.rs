//! The first disk: wiped, and cut as the firmware wants it.

use super::{
    Element, Firmware,
    element::{list, node, text},
};

/// What `InstallTo` names: where C: is.
pub(super) fn system_partition(firmware: Firmware) -> &'static str {
    match firmware {
        Firmware::Bios => "2",
        Firmware::Uefi => "3",
    }
}

/// Server 2025 adds its own recovery partition behind C:, whatever stands here.
pub(super) fn configuration(firmware: Firmware) -> Element {
    let (create, modify) = match firmware {
        Firmware::Uefi => (
            vec![created(1, "EFI", Some(260)), created(2, "MSR", Some(16)), created(3, "Primary", None)],
            vec![
                modified(1, &[("Format", "FAT32"), ("Label", "System")]),
                modified(2, &[]),
                modified(3, &[("Format", "NTFS"), ("Label", "Windows"), ("Letter", "C")]),
            ],
        ),
        Firmware::Bios => (
            vec![created(1, "Primary", Some(500)), created(2, "Primary", None)],
            vec![
                modified(1, &[("Active", "true"), ("Format", "NTFS"), ("Label", "System")]),
                modified(2, &[("Format", "NTFS"), ("Label", "Windows"), ("Letter", "C")]),
            ],
        ),
    };
    let disk = vec![
        node("CreatePartitions", list("CreatePartition", create, false)),
        node("ModifyPartitions", list("ModifyPartition", modify, false)),
        text("DiskID", "0"),
        text("WillWipeDisk", "true"),
    ];
    let mut children = list("Disk", [disk], false);
    children.push(text("WillShowUI", "OnError"));
    node("DiskConfiguration", children)
}

/// A partition of so many megabytes, or of all that is left.
fn created(order: u32, kind: &str, size: Option<u32>) -> Vec<Element> {
    let size = size.map_or_else(|| text("Extend", "true"), |size| text("Size", size.to_string()));
    vec![text("Order", order.to_string()), size, text("Type", kind)]
}

fn modified(order: u32, settings: &[(&str, &str)]) -> Vec<Element> {
    let mut children: Vec<Element> = settings.iter().map(|(name, value)| text(name, *value)).collect();
    children.extend([text("Order", order.to_string()), text("PartitionID", order.to_string())]);
    children
}

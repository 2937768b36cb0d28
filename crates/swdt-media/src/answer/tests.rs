use std::{collections::BTreeMap, fmt::Write};

use super::*;
use crate::windows::Release;

/// Answers for a machine of that kind.
fn answers(from: From) -> Answers {
    Answers {
        from,
        name: ComputerName::new("win1").unwrap(),
        language: "en-US".to_owned(),
        keyboard: "en-US".to_owned(),
        time_zone: "UTC".to_owned(),
        product_key: None,
        password: SecretString::from("p<w&d\"1"),
        network: Some(Network {
            mac: "52:54:00:0a:0b:0c".to_owned(),
            address: "10.0.2.20/24".parse().unwrap(),
            gateway: Ipv4Addr::new(10, 0, 2, 2),
            dns: vec![Ipv4Addr::new(10, 0, 2, 3)],
        }),
        drivers: false,
        desktop: false,
    }
}

fn xml(answers: &Answers) -> String {
    answers.xml().unwrap().expose_secret().to_owned()
}

const UEFI: From = From::Disc { index: 1, firmware: Firmware::Uefi };

#[test]
fn files_with_drivers_and_for_a_sealed_disk() {
    let mut bios = answers(From::Disc { index: 4, firmware: Firmware::Bios });
    (bios.drivers, bios.desktop) = (true, true);
    bios.product_key = Some(ProductKey::new("VDYBN-27WPP-V4HQT-9VMD4-VMK7H").unwrap());
    insta::assert_snapshot!("bios-virtio-desktop-key", xml(&bios));
    insta::assert_snapshot!("sealed-disk", xml(&answers(From::SealedDisk)));
}

/// Microsoft's public keys for machines that ask a server of their own (KMS), which volume media wants.
fn public_key(release: Release, edition: &str) -> &'static str {
    match (release, edition) {
        (Release::Server2019, "standard") => "N69G4-B89J2-4G8F4-WWYCC-J464C",
        (Release::Server2019, _) => "WMDGN-G9PQG-XVVXX-R3X43-63DFG",
        (Release::Server2022, "standard") => "VDYBN-27WPP-V4HQT-9VMD4-VMK7H",
        (Release::Server2022, _) => "WX4NM-KYWYW-QJJR4-XV3QB-6VM33",
        (Release::Server2025, "standard") => "TVRH6-WHNXV-R9WG3-9XRFY-MY832",
        (Release::Server2025, _) => "D764K-2NDRG-47T6Q-P8T8W-YP6DF",
    }
}

/// Every release, firmware and edition, as evaluation and with a key: each file is made and obeys the rules of Setup. A
/// picture of each would be eight times six alike: one is kept of every kind, and the table says of each file which picture
/// it is, letter by letter, but for the number on the disc and the key.
#[test]
fn every_release_firmware_and_edition_obeys_setup() {
    // In the order of Microsoft's discs.
    let editions =
        [("standard", "core"), ("standard", "desktop"), ("datacenter", "core"), ("datacenter", "desktop")];
    let mut pictures: BTreeMap<String, (String, u32, &str)> = BTreeMap::new();
    let mut table = String::new();
    for release in Release::ALL {
        for (firmware, start) in [(Firmware::Bios, "bios"), (Firmware::Uefi, "uefi")] {
            for (index, (edition, kind)) in (1..).zip(editions) {
                for key in [None, Some(public_key(release, edition))] {
                    let mut answers = answers(From::Disc { index, firmware });
                    answers.desktop = kind == "desktop";
                    answers.product_key = key.map(|key| ProductKey::new(key).unwrap());
                    let text = xml(&answers);
                    check(&roxmltree::Document::parse(&text).unwrap(), firmware, key.is_some());

                    let (licence, key) = key.map_or(("evaluation", ""), |key| ("key", key));
                    let name = format!("{start}-{kind}-{licence}");
                    let (picture, its_index, its_key) = pictures.entry(name.clone()).or_insert_with(|| {
                        insta::assert_snapshot!(name.as_str(), text);
                        (text.clone(), index, key)
                    });
                    let same = but_for(picture, &value(*its_index), &value(index), 1);
                    let same = but_for(&same, its_key, key, if key.is_empty() { 0 } else { 2 });
                    assert_eq!(text, same, "{release}, {start}, {edition} {kind}, {licence}: {name}");
                    let what = format!("{edition} {kind},");
                    let _ = writeln!(
                        table,
                        "{release}, {start}, {what:19} {licence:10} = {name:23} {index} {key}"
                    );

                    answers.drivers = true;
                    let driven = xml(&answers);
                    check(&roxmltree::Document::parse(&driven).unwrap(), firmware, !key.is_empty());
                    assert_eq!(text, without(&driven, "Microsoft-Windows-PnpCustomizationsWinPE"));
                }
            }
        }
    }
    let table: Vec<&str> = table.lines().map(str::trim_end).collect();
    assert_eq!((table.len(), pictures.len()), (48, 8));
    insta::assert_snapshot!("every-release-firmware-and-edition", table.join("\n"));
}

fn value(index: u32) -> String {
    format!("<Value>{index}</Value>")
}

/// The same text with something else in so many places.
fn but_for(text: &str, this: &str, that: &str, places: usize) -> String {
    if places == 0 {
        return text.to_owned();
    }
    assert_eq!(text.matches(this).count(), places, "{this}");
    text.replace(this, that)
}

/// The same file without a component, which must be there.
fn without(text: &str, component: &str) -> String {
    let (before, rest) = text.split_once(&format!("    <component name=\"{component}\"")).unwrap();
    let (_, after) = rest.split_once("</component>\n").unwrap();
    format!("{before}{after}")
}

/// What becomes a base has nothing that its clones would have too; a machine without servers for names has no list of them.
#[test]
fn a_base_has_no_address_and_nobody_has_an_empty_list() {
    let mut answers = answers(UEFI);
    answers.network.as_mut().unwrap().dns.clear();
    let text = xml(&answers);
    assert!(text.contains("Microsoft-Windows-TCPIP") && !text.contains("DNS"), "{text}");
    answers.network = None;
    let text = xml(&answers);
    for word in ["TCPIP", "DNS", "Interface", "IpAddress", "DhcpEnabled"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    insta::assert_snapshot!("base", text);
}

/// A disk that waits for its first start is asked nothing of the first pass, and nothing that only it knows.
#[test]
fn a_sealed_disk_is_answered_the_later_passes_only() {
    let text = xml(&answers(From::SealedDisk));
    let document = roxmltree::Document::parse(&text).unwrap();
    let passes: Vec<_> = document.descendants().filter_map(|node| node.attribute("pass")).collect();
    assert_eq!(passes, ["specialize", "oobeSystem"]);
    assert!(!text.contains("DiskConfiguration") && text.contains("ComputerName"));
}

fn check(document: &roxmltree::Document<'_>, firmware: Firmware, key: bool) {
    let all = |name: &'static str| {
        document
            .descendants()
            .filter(move |node| node.has_tag_name(("urn:schemas-microsoft-com:unattend", name)))
    };
    let passes: Vec<_> = all("settings").map(|node| node.attribute("pass").unwrap()).collect();
    assert_eq!(passes, ["windowsPE", "specialize", "oobeSystem"]);
    for component in all("component") {
        assert_eq!(component.attribute("processorArchitecture"), Some("amd64"));
        assert_eq!(component.attribute("publicKeyToken"), Some("31bf3856ad364e35"));
        assert_eq!(component.attribute("language"), Some("neutral"));
        assert_eq!(component.attribute("versionScope"), Some("nonSxS"));
        let name = component.attribute("name");
        let alike = component.parent().unwrap().children().filter(|other| other.attribute("name") == name);
        assert_eq!(alike.count(), 1, "{name:?} stands twice in one pass");
    }
    // Members of lists say that they are added; some are told from each other by a number.
    let state = "http://schemas.microsoft.com/WMIConfig/2002/State";
    for (name, numbered) in [
        ("Disk", false),
        ("CreatePartition", false),
        ("ModifyPartition", false),
        ("MetaData", false),
        ("RunSynchronousCommand", false),
        ("Interface", false),
        ("Route", false),
        ("PathAndCredentials", true),
        ("IpAddress", true),
    ] {
        for member in all(name) {
            assert_eq!(member.attribute((state, "action")), Some("add"), "{name}");
            let number = member.attribute((state, "keyValue"));
            let alike = member
                .parent()
                .unwrap()
                .children()
                .filter(|other| other.attribute((state, "keyValue")) == number);
            assert_eq!(numbered, number.is_some(), "{name}");
            assert!(!numbered || alike.count() == 1, "{name} {number:?} stands twice");
        }
    }
    // Parts of an interface have their order; nobody is asked but after an error; an evaluation names no key at all.
    for interface in all("UnicastIpAddresses").map(|addresses| addresses.parent().unwrap()) {
        let names: Vec<_> =
            interface.children().filter(roxmltree::Node::is_element).map(|it| it.tag_name().name()).collect();
        assert_eq!(names, ["Ipv4Settings", "Identifier", "UnicastIpAddresses", "Routes"]);
    }
    assert!(all("WillShowUI").all(|it| matches!(it.text(), Some("OnError" | "Never"))));
    assert_eq!(all("ProductKey").count(), if key { 2 } else { 0 });
    assert!(all("PlainText").all(|it| it.text() == Some("false")));
    assert!(!document.descendants().any(|it| it.is_comment()));
    // A longer path, or one that Setup expands, makes it reject the whole file.
    for path in all("RunSynchronousCommand").flat_map(|node| {
        node.children().filter(|it| it.has_tag_name(("urn:schemas-microsoft-com:unattend", "Path")))
    }) {
        let path = path.text().unwrap();
        assert!(path.len() <= 259 && !path.contains('%'), "{} {path}", path.len());
    }
    // An empty key stops Setup.
    assert!(all("Key").all(|key| key.text().is_some_and(|text| !text.is_empty())));
    // EFI partitions on an MBR disk abort it, and Windows must go where C: is.
    let kinds: Vec<_> = all("Type").map(|node| node.text().unwrap()).collect();
    let install_to = all("InstallTo").next().unwrap();
    let partition: usize = install_to.last_element_child().unwrap().text().unwrap().parse().unwrap();
    assert_eq!(kinds.contains(&"EFI"), firmware == Firmware::Uefi);
    assert_eq!(partition, kinds.len());
    let from = all("InstallFrom").next().unwrap();
    assert!(from.range().end < install_to.range().start, "InstallFrom comes first");
}

#[test]
fn the_password_is_hidden_as_setup_does_it() {
    let known = "cAB3AEEAZABtAGkAbgBpAHMAdAByAGEAdABvAHIAUABhAHMAcwB3AG8AcgBkAA==";
    assert_eq!(hidden_password(&SecretString::from("pw")), known);
    assert!(!xml(&answers(UEFI)).contains("p<w"));
    assert!(!format!("{:?}", answers(UEFI)).contains("p<w"));
}

#[test]
fn names_that_setup_would_stop_at_are_refused() {
    for bad in ["", "Win1", "12345", "a-name-that-is-too-long", "-a", "a.b"] {
        assert!(ComputerName::new(bad).is_err(), "{bad}");
    }
    for bad in ["", "AAAAA-BBBBB-CCCCC-DDDDD", "AAAAA-BBBBB-CCCCC-DDDDD-EEEE!"] {
        assert!(ProductKey::new(bad).is_err(), "{bad}");
    }
}

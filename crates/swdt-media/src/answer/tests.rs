use super::*;

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
        network: Network {
            mac: "52:54:00:0a:0b:0c".to_owned(),
            address: "10.0.2.20/24".parse().unwrap(),
            gateway: Ipv4Addr::new(10, 0, 2, 2),
            dns: vec![Ipv4Addr::new(10, 0, 2, 3)],
        },
        drivers: false,
        desktop: false,
    }
}

fn xml(answers: &Answers) -> String {
    answers.xml().unwrap().expose_secret().to_owned()
}

const UEFI: From = From::Disc { index: 1, firmware: Firmware::Uefi };

#[test]
fn files_of_every_firmware() {
    insta::assert_snapshot!("uefi", xml(&answers(UEFI)));
    let mut bios = answers(From::Disc { index: 4, firmware: Firmware::Bios });
    (bios.drivers, bios.desktop) = (true, true);
    bios.product_key = Some(ProductKey::new("VDYBN-27WPP-V4HQT-9VMD4-VMK7H").unwrap());
    insta::assert_snapshot!("bios-virtio-desktop-key", xml(&bios));
    insta::assert_snapshot!("sealed-disk", xml(&answers(From::SealedDisk)));
}

/// What Setup is known to reject, over every kind of file.
#[test]
fn rules_of_setup() {
    for firmware in [Firmware::Bios, Firmware::Uefi] {
        for (drivers, desktop, key) in [(false, false, false), (true, true, true), (true, false, true)] {
            let mut answers = answers(From::Disc { index: 2, firmware });
            (answers.drivers, answers.desktop) = (drivers, desktop);
            answers.product_key = key.then(|| ProductKey::new("AAAAA-BBBBB-CCCCC-DDDDD-EEEEE").unwrap());
            let text = xml(&answers);
            let document = roxmltree::Document::parse(&text).unwrap();
            check(&document, firmware);
        }
    }
}

fn check(document: &roxmltree::Document<'_>, firmware: Firmware) {
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
    }
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

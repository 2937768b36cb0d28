//! dism.exe: features with a state each, kept in the registry. Some need a restart. A feature of which the
//! value `Fail` is set fails as a broken component store does.

use std::io::Write;

use windows_registry::LOCAL_MACHINE;

const FEATURES: &str = r"SOFTWARE\swdt-rehearsal\features";
const REBOOT: &str = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending";
const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";

/// What there is: name, whether it needs a restart, a service it brings.
const KNOWN: [(&str, bool, Option<&str>); 3] = [
    ("Containers", true, Some("hns")),
    ("Microsoft-Hyper-V", true, Some("vmms")),
    ("TelnetClient", false, None),
];

pub(crate) fn run(words: &[String]) -> i32 {
    let option = |name: &str| {
        words.iter().find_map(|word| {
            let (key, value) = word.split_once(':').unwrap_or((word, ""));
            key.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    };
    say("\r\nDeployment Image Servicing and Management tool\r\nVersion: 10.0.20348.681\r\n");
    let name = option("/featurename").unwrap_or_default();
    let Some((feature, restart, service)) = KNOWN.iter().find(|(known, ..)| *known == name) else {
        say(&format!("\r\nError: 0x800f080c\r\n\r\nFeature name {name} is unknown.\r\n"));
        return 0x800f_080c_u32.cast_signed();
    };
    if option("/get-featureinfo").is_some() {
        say(&format!(
            "\r\nFeature Information:\r\n\r\nFeature Name : {feature}\r\nState : {}\r\n",
            state(feature)
        ));
        return 0;
    }
    if value(feature, "Fail").is_some() {
        say("\r\nError: 14098\r\n\r\nThe component store has been corrupted.\r\n");
        return 14098;
    }
    let on = option("/enable-feature").is_some();
    let (now, later) = if on { ("Enabled", "Enable Pending") } else { ("Disabled", "Disable Pending") };
    let next = if *restart && state(feature) != now { later } else { now };
    set(feature, next);
    if let Some(service) = service {
        let key = format!(r"{SERVICES}\{service}");
        let _ = if on { register(&key, service) } else { LOCAL_MACHINE.remove_tree(key) };
    }
    if next == later {
        let _ = LOCAL_MACHINE.create(REBOOT);
        return 3010;
    }
    0
}

/// Windows looks at these when it starts; a program for it comes with the restart, if there is one.
fn register(key: &str, service: &str) -> windows_registry::Result<()> {
    let key = LOCAL_MACHINE.create(key)?;
    key.set_string("ImagePath", format!(r"C:\windows\system32\{service}.exe"))?;
    key.set_string("ObjectName", "LocalSystem")?;
    key.set_u32("ErrorControl", 1)?;
    key.set_u32("Start", 2)?;
    key.set_u32("Type", 0x10)
}

fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn value(feature: &str, name: &str) -> Option<String> {
    LOCAL_MACHINE.open(format!(r"{FEATURES}\{feature}")).and_then(|key| key.get_string(name)).ok()
}

fn state(feature: &str) -> String {
    value(feature, "State").unwrap_or_else(|| "Disabled".into())
}

/// Disabled is what there is without a word.
fn set(feature: &str, state: &str) {
    let key = format!(r"{FEATURES}\{feature}");
    let _ = LOCAL_MACHINE.create(key).and_then(|key| key.set_string("State", state));
}

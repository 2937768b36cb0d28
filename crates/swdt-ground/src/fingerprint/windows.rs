//! Looking at a machine that plays Windows: the files of drive C: and the registry.

use std::collections::BTreeMap;

use swdt_core::Result;
use swdt_rehearsal::DRIVE_C;

use super::{Exclusions, Fingerprint, take::files};
use crate::TestMachine;

/// Where a glance looks.
const GLANCE: &[&str] =
    &["k", "etc", "opt", "var", "ProgramData", "users", "Program Files", "windows/system32/drivers/etc"];

/// What is never looked at: our own kept programs, and what programs leave for a moment.
const SKIP: &[&str] = &["/opt/swdt", "/windows/temp", "/users/Administrator/AppData/Local/Temp"];

/// Keys that change by themselves: mounts and the screen of Wine, how many services it ever started, and how often
/// Windows was. The first is where `CurrentControlSet` leads to.
const FLEETING: &[&str] = &[
    r"HKEY_LOCAL_MACHINE\SYSTEM\ControlSet001",
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ServiceCurrent",
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters",
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Video",
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Enum",
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Class",
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\DeviceClasses",
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Hardware Profiles",
];

/// Writes both halves of the registry that matter as text, in UTF-8.
const EXPORT: &str = r#"set -ae; . /usr/lib/swdt/windows.env; set +a; cd /srv/windows/drive_c/windows/temp
for half in SYSTEM SOFTWARE; do
    wine reg export "HKLM\\$half" "C:\\windows\\temp\\$half.reg" /y >/dev/null 2>&1
    LD_PRELOAD= iconv -f UTF-16 -t UTF-8 "$half.reg"; rm "$half.reg"
done"#;

/// Takes the fingerprint: of all files, or of those that are usually written to.
pub(super) async fn look(machine: &TestMachine, all: bool) -> Result<Fingerprint> {
    let tops = if all { vec![DRIVE_C.to_owned()] } else { there(machine).await? };
    let tops: Vec<&str> = tops.iter().map(String::as_str).collect();
    let mut entries = BTreeMap::new();
    files(machine, &tops, &Exclusions::reviewed(), &mut entries).await?;
    entries.retain(|name, _| !SKIP.iter().any(|skip| name.starts_with(&format!("file {DRIVE_C}{skip}"))));
    registry(&machine.must(["sh", "-c", EXPORT]).await?, &mut entries);
    Ok(Fingerprint { entries })
}

/// Those of [`GLANCE`] that exist.
async fn there(machine: &TestMachine) -> Result<Vec<String>> {
    let mut tops = Vec::new();
    for top in GLANCE.iter().map(|top| format!("{DRIVE_C}/{top}")) {
        if machine.exec(["test", "-e", &top]).await?.code == Some(0) {
            tops.push(top);
        }
    }
    Ok(tops)
}

/// Reads `[key]` and `"name"=value` lines; a backslash at its end continues a line.
fn registry(text: &str, entries: &mut BTreeMap<String, String>) {
    let mut key = "";
    let text = text.replace("\\\r\n", "");
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            key = name;
            if !fleeting(key) {
                entries.insert(format!("key {key}"), String::new());
            }
        } else if let Some((name, value)) = line.split_once('=')
            && !fleeting(key)
        {
            entries.insert(format!("value {key} {name}"), value.to_owned());
        }
    }
}

fn fleeting(key: &str) -> bool {
    FLEETING.iter().any(|prefix| key.starts_with(prefix))
}

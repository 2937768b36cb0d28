//! netsh.exe: `advfirewall firewall add|delete rule`, with the rules where Windows keeps them.

use windows_registry::LOCAL_MACHINE;

const RULES: &str = r"SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules";

pub(crate) fn run(words: &[String]) -> i32 {
    let option = |name: &str| {
        words
            .iter()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
            .to_owned()
    };
    let plain: Vec<&str> = words.iter().take(4).map(String::as_str).collect();
    let (name, id) = (option("name"), |name: &str| format!("{{rehearsal {name}}}"));
    match plain[..] {
        ["advfirewall", "firewall", "add", "rule"] => {
            let protocol = if option("protocol") == "TCP" { 6 } else { 17 };
            let port = option("localport");
            let port = if port.contains('-') { format!("LPort2_10={port}") } else { format!("LPort={port}") };
            let rule =
                format!("v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol={protocol}|{port}|Name={name}|");
            let written = LOCAL_MACHINE.create(RULES).and_then(|key| key.set_string(id(&name), rule));
            i32::from(written.is_err())
        }
        ["advfirewall", "firewall", "delete", "rule"] => {
            let open = LOCAL_MACHINE.options().read().write().open(RULES);
            i32::from(open.and_then(|key| key.remove_value(id(&name))).is_err())
        }
        _ => 1,
    }
}

use std::path::Path;

use swdt_wire::FirewallFact;

use super::*;

fn tree(name: &str) -> Facts {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facts").join(name);
    gather(&Ctx::new(root)).unwrap()
}

#[test]
fn debian_on_its_own_kernel_with_cgroup_2() {
    let facts = tree("debian-12");
    assert_eq!((facts.os.id.as_str(), facts.os.version.as_str()), ("debian", "12"));
    assert_eq!(facts.os.name, "Debian GNU/Linux 12 (bookworm)");
    assert_eq!(facts.os.kernel, "6.1.0-37-amd64");
    assert_eq!((facts.hostname.as_str(), facts.init.as_str()), ("cp1", "systemd"));
    assert_eq!(facts.product_uuid.as_deref(), Some("4c4c4544-0042-3510-8052-b4c04f564433"));
    // Four processors and 8 GiB, but the slice above us may use two and 4 GiB.
    assert_eq!((facts.cgroup, facts.cpus, facts.memory_mib), (2, 2, 4096));
    assert_eq!(facts.swaps, ["/dev/sda5", "/swap file"]);
    assert_eq!(facts.packages.as_deref(), Some("apt"));
    assert_eq!(facts.virtualization, Virtualization::OwnKernel);
    assert!(facts.sys_resource);
    assert_eq!((facts.selinux, facts.firewall), (None, FirewallFact::None));
}

#[test]
fn ubuntu_in_a_container_with_cgroup_1() {
    let facts = tree("ubuntu-24.04");
    assert_eq!((facts.os.id.as_str(), facts.os.version.as_str()), ("ubuntu", "24.04"));
    assert_eq!(facts.virtualization, Virtualization::SharedKernel);
    assert_eq!(facts.product_uuid, None, "the firmware is the host's");
    assert_eq!((facts.cgroup, facts.cpus, facts.memory_mib), (1, 3, 2048));
    assert!(!facts.sys_resource);
    assert_eq!(facts.firewall, FirewallFact::Ufw);
}

#[test]
fn fedora_with_selinux() {
    let facts = tree("fedora-42");
    assert_eq!((facts.os.id.as_str(), facts.os.version.as_str()), ("fedora", "42"));
    assert_eq!(facts.os.name, "Fedora Linux 42 (Server Edition)");
    assert_eq!(facts.selinux.as_deref(), Some("enforcing"));
    assert_eq!(facts.packages.as_deref(), Some("dnf"));
    assert_eq!(facts.swaps, ["/dev/zram0"]);
    let addresses: Vec<&str> = facts.addresses.iter().map(|address| address.cidr.as_str()).collect();
    assert_eq!(addresses, ["fd00::2/64"], "cni0 is not reachable");
}

#[test]
fn this_machine_twice() {
    let ctx = Ctx::new("/");
    assert_eq!(gather(&ctx).unwrap(), gather(&ctx).unwrap());
    assert_eq!(ctx.writes(), 0);
}

#[test]
fn shell_quoting() {
    assert_eq!(unquote(r#""a \"b\" \$c""#), r#"a "b" $c"#);
    assert_eq!(unquote(r"'a\b'"), r"a\b");
    assert_eq!(unquote("plain"), "plain");
    assert_eq!(unquote(r#""""#), "");
}

#[test]
fn capability_needs_the_first_user_namespace() {
    let full = "Name:\tsystemd\nCapEff:\t000001ffffffffff\n";
    assert!(sys_resource(full, "         0          0 4294967295"));
    assert!(!sys_resource(full, "         0     100000      65536"));
    assert!(!sys_resource("CapEff:\t000001fffeffffff\n", "0 0 4294967295"));
    assert!(!sys_resource("", "0 0 4294967295"));
}

use super::*;

/// Of dnf 4.14.
const DNF4: &str = "\
Dependencies resolved.
================================================================================
 Package                                                Arch   Version
                                                                     Repo  Size
================================================================================
Installing:
 swdt-a                                                 noarch 1.0-1 swdt 6.0 k
 swdt-a-package-with-a-name-so-long-that-every-table-of-eighty-columns-wraps
                                                        noarch 1.0-1 swdt 6.2 k
Installing dependencies:
 swdt-b                                                 noarch 1.0-1 swdt 5.9 k

Transaction Summary
================================================================================
Install  3 Packages

Total size: 18 k
Installed size: 18  
Operation aborted.
";

/// Of dnf5 5.2, not to a terminal.
const DNF5: &str = "\
Package                                                                      Arch   Version Repository                 Size
Installing:
 swdt-a                                                                      noarch 0:1.0-1 swdt                    6.0   B
 swdt-a-package-with-a-name-so-long-that-every-table-of-eighty-columns-wraps noarch 0:1.0-1 swdt                    6.0   B
Installing dependencies:
 swdt-b                                                                      noarch 0:1.0-1 swdt                    6.0   B
Installing weak dependencies:
 swdt-r                                                                      noarch 0:1.0-1 swdt                    6.0   B

Transaction Summary:
 Installing:         4 packages

";

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_transaction_of_dnf_4() {
    let plan = parse_transaction(DNF4);
    assert_eq!(
        plan.adds,
        names(&[
            "swdt-a.noarch",
            "swdt-a-package-with-a-name-so-long-that-every-table-of-eighty-columns-wraps.noarch",
            "swdt-b.noarch"
        ])
    );
    assert_eq!((plan.upgrades.len(), plan.removes.len()), (0, 0));
    assert_eq!(announced(DNF4), Some(3));
}

#[test]
fn a_transaction_of_dnf_5() {
    let plan = parse_transaction(DNF5);
    assert_eq!(plan.adds.len(), 4);
    assert_eq!(plan.adds[3], "swdt-r.noarch");
    assert_eq!(announced(DNF5), Some(4));
}

#[test]
fn upgrades_and_what_they_replace() {
    let text = "\
Installing:
 conntrack-tools  x86_64  1.4.8-3.fc42  fedora  230 k
     replacing  conntrack.x86_64 1.4.7-1.fc40
Upgrading:
 libfoo           x86_64  2.0-1.fc42    updates  12 k

Transaction Summary
================================================================================
Install  1 Package
Upgrade  1 Package
";
    let plan = parse_transaction(text);
    assert_eq!(plan.adds, names(&["conntrack-tools.x86_64"]));
    assert_eq!(plan.upgrades, names(&["libfoo.x86_64"]));
    assert_eq!(plan.removes, names(&["conntrack.x86_64"]));
    assert_eq!(announced(text), Some(1));
}

#[test]
fn what_rpm_lacks() {
    let text = "swdt-a-1.0-1.noarch\nno package provides swdt-b\n";
    assert_eq!(parse_missing(text, &names(&["swdt-a", "swdt-b"])), names(&["swdt-b"]));
}

#[test]
fn who_needs_a_package() {
    let text = "error: Failed dependencies:\n\tswdt-b is needed by (installed) swdt-user-1.0-1.noarch\n\tother is needed by (installed) swdt-user-1.0-1.noarch\n";
    assert_eq!(dependents(text), names(&["swdt-user-1.0-1.noarch"]));
}

#[test]
fn unknown_packages() {
    assert_eq!(unknown(&names(&["Error: Unable to find a match: nonsense"])).as_deref(), Some("nonsense"));
    assert_eq!(unknown(&names(&["No match for argument: nonsense"])).as_deref(), Some("nonsense"));
}

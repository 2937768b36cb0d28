//! Machines that do not do what they should, played by a real QEMU without a system.

use std::net::TcpListener;

use super::*;
use crate::{
    machine::tests::context,
    spec::{OsFamily, Wiring},
};

/// A QEMU that waits for ever. It goes with what is written for the cluster, however the test ends.
struct Waiting<'a> {
    ctx: &'a Context,
    runtime: arguments::Runtime,
}

impl<'a> Waiting<'a> {
    /// `door`: does it have one to be asked by?
    fn start(ctx: &'a Context, runtime: arguments::Runtime, door: bool) -> Self {
        names::make_run_dir(ctx).unwrap();
        let mut words = vec!["-nodefaults", "-no-user-config", "-display", "none", "-vga", "std", "-m", "32"];
        words.extend(["-accel", "tcg", "-S", "-daemonize"]);
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        words.extend(["-pidfile".to_owned(), runtime.pid.to_string_lossy().into_owned()]);
        if door {
            words.extend(["-qmp".to_owned(), format!("unix:{},server=on,wait=off", runtime.qmp.display())]);
        }
        process::detached(process::QEMU, &words).unwrap();
        assert!(process::runs(&runtime));
        Self { ctx, runtime }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let _ = process::kill_found(process::QEMU, &self.runtime.pid);
        let _ = segment::remove(self.ctx);
    }
}

#[test]
fn a_machine_that_does_not_hear_is_switched_off_at_its_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = context(dir.path());
    let names = MachineNames::of(&ctx, "cp1");
    let waiting = Waiting::start(&ctx, names.runtime(), true);
    assert!(!end(&names, Duration::from_secs(2)).unwrap(), "it did not go by itself");
    assert!(!process::runs(&waiting.runtime));
}

#[test]
fn a_machine_that_never_answers_is_told_with_all_that_is_known_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = context(dir.path());
    let names = MachineNames::of(&ctx, "cp1");
    let waiting = Waiting::start(&ctx, names.runtime(), true);
    files::make_private_dir(&names.dir).unwrap();
    // Nobody listens there any more.
    let ssh = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plugged = Plugged {
        card: arguments::Card { mac: names.mac.clone(), wire: arguments::Wire::Alone },
        address: "10.213.0.10/24".parse().unwrap(),
        gateway: "10.213.0.1".parse().unwrap(),
        dns: Vec::new(),
        ssh,
        api: None,
    };
    let wait = |os| {
        let error = wait_for_ssh(&ctx, &names, os, &plugged, Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.id(), "machine-silent");
        assert_eq!(error.log, Some(names.console()));
        error
    };
    let hints = |error: &Error| error.hints.join("\n");
    let error = wait(OsFamily::Linux);
    assert!(error.message.contains(&format!("did not answer on {ssh}")), "{error}");
    assert!(hints(&error).contains("does the image boot with this `firmware`?"), "{error:?}");
    assert!(hints(&error).contains(&names.screenshot().display().to_string()), "{error:?}");
    assert!(hints(&error).contains("swdt node console cp1"), "{error:?}");
    assert!(fs::read(names.screenshot()).unwrap().starts_with(b"\x89PNG"));

    fs::write(names.console(), "Booting\ncp1 login: ").unwrap();
    let error = wait(OsFamily::Linux);
    assert!(
        hints(&error).contains("no network or no sshd") && hints(&error).contains("NoCloud"),
        "{error:?}"
    );
    assert_eq!(error.output, ["Booting", "cp1 login: "]);
    assert!(hints(&wait(OsFamily::Windows)).contains("how its first boot went"));
    fs::write(names.console(), "BdsDxe: failed to load Boot0001: Security Violation").unwrap();
    assert!(hints(&wait(OsFamily::Linux)).contains("firmware: uefi"));

    // It is gone: told at once, whatever the limit.
    process::kill_found(process::QEMU, &waiting.runtime.pid).unwrap();
    let error = wait_for_ssh(&ctx, &names, OsFamily::Linux, &plugged, BOOT).unwrap_err();
    assert!(error.message.contains("the machine stopped"), "{error}");
    assert!(!hints(&error).contains("screen.png"), "{error:?}");
}

/// A host that was restarted has no run directory; a gateway that hangs has no ear.
#[test]
fn a_gateway_that_does_not_answer_keeps_no_cluster_from_being_destroyed() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = context(dir.path());
    let names = MachineNames::of(&ctx, "cp1");
    let mut entry = Entry::new("base".into(), None, Firmware::Bios, Wiring::Segment);
    entry.stage = Stage::Ready;
    entry.save(&names).unwrap();
    fs::write(
        ctx.cluster_dir.join("forwards.json"),
        r#"{"schema": 1, "nodes": {"cp1": {"ssh": 20001, "api": 20002, "to": "10.213.0.10"}}}"#,
    )
    .unwrap();
    let _gateway = Waiting::start(&ctx, process::runtime(&names::run_dir(&ctx), "gateway"), false);
    assert!(!traces(&ctx, &["cp1"]).is_empty());
    Qemu.destroy_cluster(&ctx, &["cp1".to_owned()]).unwrap();
    assert_eq!(traces(&ctx, &["cp1"]), Vec::<String>::new());
}

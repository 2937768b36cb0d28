//! Secrets of the user, and those that a run makes, show themselves nowhere.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use swdt_core::Result;
use swdt_ground::TestMachine;

use crate::common::{
    Ran, Swdt, existing_yaml,
    secrets::{self, Secrets, Watcher},
};

const IN_VARIABLE: &str = "canary-variable-8c1f5e02";
const IN_FILE: &str = "canary-file-d94b7a31";
const WRONG: &str = "canary-wrong-77aa01fe";
const VARIABLE: &str = "CP1_PASSPHRASE";
/// What in the home of the user is meant to hold secrets; all of it is theirs.
const MEANT: [&str; 1] = ["w1.passphrase"];

/// Canaries at work, and what was seen meanwhile.
pub(crate) struct Hidden {
    /// The cluster's file, with machines that can only be reached with what is hidden.
    pub(crate) config: String,
    watcher: Watcher,
    said: String,
}

impl Hidden {
    /// Locks the keys of both machines: one passphrase is in a variable, the other in a file.
    pub(crate) fn plant(swdt: &mut Swdt, cp1: &TestMachine, w1: &TestMachine) -> Result<Self> {
        let file = swdt.home().join("w1.passphrase");
        fs::write(&file, format!("{IN_FILE}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let first = secrets::locked_key(cp1, swdt.home(), "id_cp1", IN_VARIABLE);
        let second = secrets::locked_key(w1, swdt.home(), "id_w1", IN_FILE);
        let config = existing_yaml(&[cp1, w1], |machine| {
            let (key, from) = if machine.name() == "cp1" {
                (&first, format!("env: {VARIABLE}"))
            } else {
                (&second, format!("file: {}", file.display()))
            };
            let (key, host_key) = (key.display(), machine.host_key());
            format!("{{user: root, key: {key}, hostKey: {host_key}, passwordFrom: {{{from}}}}}")
        });
        swdt.set(VARIABLE, IN_VARIABLE);
        let watcher = Watcher::start(swdt.home(), &[cp1, w1])?;
        Ok(Self { config, watcher, said: String::new() })
    }

    /// Keeps what a command said.
    pub(crate) fn said(&mut self, ran: &Ran) {
        self.said.extend([ran.stdout.as_str(), &ran.stderr]);
    }

    /// Looks everywhere, after one more run that fails on a secret.
    pub(crate) async fn stays_hidden(
        mut self,
        swdt: &mut Swdt,
        create: &[&str],
        machines: &[&TestMachine],
    ) -> Result<()> {
        swdt.set(VARIABLE, WRONG);
        let failed = swdt.run(create);
        assert_ne!(failed.code, 0, "{failed:#?}");
        self.said(&failed);
        swdt.set(VARIABLE, IN_VARIABLE);

        let seen = self.watcher.end();
        assert!(
            seen.told.iter().any(|told| told.contains("kubeadm\0join")),
            "the watcher saw nothing of the join"
        );
        assert!(!seen.tokens.is_empty(), "the bootstrap token was never seen where it is meant to be");
        let mut hidden: Secrets =
            [IN_VARIABLE, IN_FILE, WRONG].map(|value| (value.to_owned(), value.to_owned())).into();
        let key = fs::read_to_string(machines[0].key()).unwrap();
        hidden.insert("the key of the machines".into(), key.lines().nth(2).unwrap().to_owned());
        hidden.extend(seen.tokens);
        for machine in machines {
            hidden.extend(secrets::secrets_of(machine).await?);
        }
        assert!(hidden.len() > 15, "{:?}", hidden.keys());

        let mut wrong: Vec<String> = Vec::new();
        for told in &seen.told {
            let program = told.split('\0').next().unwrap_or_default();
            wrong
                .extend(secrets::seen(told, &hidden).iter().map(|name| format!("{program} was told {name}")));
        }
        wrong.extend(secrets::seen(&self.said, &hidden).iter().map(|name| format!("swdt said {name}")));
        let meant =
            |path: &Path| path.file_name().is_some_and(|name| MEANT.iter().any(|meant| name == *meant));
        wrong.extend(secrets::grep(&[swdt.home().to_owned()], &hidden, &meant));
        wrong.extend(secrets::open_below(&swdt.data().join("clusters/proof")));
        for machine in machines {
            wrong.extend(secrets::wrong_on(machine, &hidden).await?);
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        Ok(())
    }
}

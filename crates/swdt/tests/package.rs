//! What users install, on a Debian machine that nobody prepared. `cargo xtask test package` makes the packages first.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{fs, path::PathBuf};

use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

const CONFIG: &str = "/usr/share/doc/swdt/examples/existing-machines.yaml";

fn package(ending: &str) -> PathBuf {
    let dir =
        std::env::var_os("SWDT_DIST_DIR").expect("`cargo xtask test package` says where the packages are");
    let mut entries = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    entries.find(|path| path.to_string_lossy().ends_with(ending)).unwrap()
}

async fn works(machine: &TestMachine, swdt: &str) -> Result<()> {
    let version = machine.must([swdt, "version"]).await?;
    assert!(version.contains("linux/amd64: sha256"), "it carries the node program: {version}");
    assert!(machine.must([swdt, "--help"]).await?.contains("swdt quickstart"));
    Ok(())
}

#[tokio::test]
#[ignore = "needs the packages: `cargo xtask test package`"]
async fn packages_are_installed_and_removed_on_a_fresh_machine() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("fresh").await?;
    let before = Fingerprint::take(&machine).await?;

    machine.put("/root/swdt.deb", 0o644, &fs::read(package(".deb")).unwrap())?;
    machine.must(["dpkg", "--install", "/root/swdt.deb"]).await?;
    works(&machine, "swdt").await?;
    machine.must(["swdt", "config", "validate", CONFIG]).await?;
    assert!(
        machine.must(["zcat", "/usr/share/man/man1/swdt-cluster-create.1.gz"]).await?.contains(".TH swdt")
    );
    let tab = "source /usr/share/bash-completion/completions/swdt && complete -p swdt";
    assert!(machine.must(["bash", "-c", tab]).await?.contains("-F _clap_complete_swdt"));
    let script = machine.must(["cat", "/usr/share/bash-completion/completions/swdt"]).await?;
    assert!(script.contains("\"swdt\" --"), "it asks whatever swdt the shell finds: {script}");
    machine.must(["dpkg", "--purge", "swdt"]).await?;
    machine.must(["rm", "/root/swdt.deb"]).await?;

    machine.put("/root/swdt.tar.gz", 0o644, &fs::read(package(".tar.gz")).unwrap())?;
    machine.must(["tar", "--extract", "--file", "/root/swdt.tar.gz", "--one-top-level=/root/swdt"]).await?;
    let place = machine.must(["sh", "-c", "echo /root/swdt/*/bin/swdt"]).await?;
    works(&machine, place.trim()).await?;
    machine.must(["rm", "-r", "/root/swdt", "/root/swdt.tar.gz"]).await?;

    let diff = before.diff(&Fingerprint::take(&machine).await?);
    assert!(diff.is_empty(), "something of swdt is left:\n{diff}");
    Ok(())
}

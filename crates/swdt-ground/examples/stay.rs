//! Test machines to play with: makes those that are named, writes a cluster's file for them, and takes them away again
//! when its standard input ends.
//!
//! `cargo run -p swdt-ground --example stay -- cluster.yaml cp1 w1 win1` (a name that begins with `win` is Windows)

#![expect(clippy::print_stdout, reason = "this is a program for people")]

use std::{fmt::Write, io::Read};

use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir};

#[tokio::main]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let file = words.next().unwrap_or_else(|| "cluster.yaml".into());
    let ground = Ground::open(&cache_dir()).await?;
    let mut text = "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {name: play}\nkubernetes: {version: 1.36.3}\nnodes:\n".to_owned();
    for (index, name) in words.enumerate() {
        let machine = if name.starts_with("win") {
            ground.windows_machine(&name).await?
        } else {
            ground.machine(&name).await?
        };
        println!("{}", describe(&machine));
        let _ = writeln!(text, "{}", node(&machine, index == 0));
    }
    std::fs::write(&file, text).expect("the file can be written");
    println!("{file} is written; end with Ctrl-D");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

fn node(machine: &TestMachine, first: bool) -> String {
    let os = if machine.is_windows() { "windows" } else { "linux" };
    let user = if machine.is_windows() { "Administrator" } else { "root" };
    let role = if first { "control-plane" } else { "worker" };
    // The kubelet that can run on Wine.
    let components =
        if machine.is_windows() { "components: {kubelet: {version: 1.36.3+rehearsal}}, " } else { "" };
    let (name, address, key) = (machine.name(), machine.address(), machine.key().display());
    format!(
        "  - {{name: {name}, os: {os}, {components}role: {role}, address: {address}, connection: {{user: {user}, key: {key}, hostKey: {}}}}}",
        machine.host_key()
    )
}

fn describe(machine: &TestMachine) -> String {
    let (name, address) = (machine.name(), machine.address());
    let init = machine.init_pid().unwrap_or_default();
    format!("{name} at {address}; inside: nsenter -t {init} -a --root --wd")
}

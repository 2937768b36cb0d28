//! hnsdiag.exe: `list networks`, and `create network NAME SUBNET GATEWAY VNI`, which makes what flanneld would make.

use std::io::Write;

use swdt_win::hns::{Hns, Result};

pub(crate) fn run(words: &[String]) -> i32 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match asked(&words) {
        Ok(true) => 0,
        Ok(false) => 87,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            1
        }
    }
}

/// False when it is not understood.
fn asked(words: &[&str]) -> Result<bool> {
    match words {
        ["list", "networks"] => {
            for network in Hns::load()?.networks()? {
                let address = network.address.unwrap_or_default();
                let _ =
                    writeln!(std::io::stdout(), "{} {} {} {address}", network.id, network.kind, network.name);
            }
            Ok(true)
        }
        ["create", "network", name, subnet, gateway, vni] => {
            let Ok(vni) = vni.parse() else { return Ok(false) };
            Hns::load()?.create_overlay(name, subnet, gateway, vni).map(|()| true)
        }
        _ => Ok(false),
    }
}

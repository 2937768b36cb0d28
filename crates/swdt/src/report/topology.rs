//! The cluster as a picture: its networks, and the machines that hang on them.

use std::fmt::Write;

use swdt_core::{
    report::{NodeFacts, Report},
    spec::{Cni, OsFamily, Role, Runtime},
};

use super::html::e;

const LINUX: &str = "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><rect x=\"2\" y=\"4\" width=\"20\" height=\"16\" rx=\"3\" class=\"stroke\"/>\
    <path d=\"M6 9l4 3-4 3M12.5 15.5H18\" class=\"stroke\"/></svg>";
const WINDOWS: &str = "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path class=\"solid\" d=\"M3 5.2l8-1.2v7.5H3zM12.2 3.8L21 2.5v9h-8.8zM3 \
    12.5h8V20l-8-1.2zM12.2 12.5H21v9l-8.8-1.3z\"/></svg>";

pub(super) fn section(page: &mut String, report: &Report) {
    let networks = &report.networks;
    let cni = match networks.cni {
        Cni::Flannel => "Flannel",
    };
    let runtime = match networks.runtime {
        Runtime::Containerd => "containerd",
    };
    let _ = write!(
        page,
        "<section id=\"topology\"><h2>What it is</h2>\n<div class=\"networks\">\n\
         <div><span>Pods</span><b class=\"code\">{pods}</b></div>\n\
         <div><span>Services</span><b class=\"code\">{services}</b></div>\n\
         <div><span>Network</span><b>{cni}</b></div>\n<div><span>Runtime</span><b>{runtime}</b></div>\n</div>\n\
         <ul class=\"nodes\">\n",
        pods = e(&networks.pods),
        services = e(&networks.services),
    );
    for node in &report.nodes {
        card(page, node);
    }
    page.push_str("</ul></section>\n");
}

fn card(page: &mut String, node: &NodeFacts) {
    let (icon, family) = match node.os {
        OsFamily::Linux => (LINUX, "Linux"),
        OsFamily::Windows => (WINDOWS, "Windows"),
    };
    let (class, role) = match node.role {
        Role::ControlPlane => ("control", "control plane"),
        Role::Worker => ("worker", "worker"),
    };
    let _ = write!(
        page,
        "<li class=\"{class}\"><div class=\"icon\">{icon}</div><h3>{name}</h3><p class=\"role\">{role}</p>\n\
         <p class=\"address code\">{address}</p>\n<p>{system}</p>\n",
        name = e(&node.name),
        address = e(node.address.as_deref().unwrap_or("address not known yet")),
        system = e(node.system.as_deref().unwrap_or(family)),
    );
    let mut facts: Vec<String> = Vec::new();
    facts.extend(node.kernel.clone());
    facts.extend(node.arch.clone());
    facts.extend(node.cpus.map(|cpus| format!("{cpus} CPU")));
    facts.extend(node.memory_mib.map(|mib| format!("{}.{} GiB", mib / 1024, mib % 1024 * 10 / 1024)));
    facts.push(node.provider.map_or_else(|| "your machine".to_owned(), |it| format!("made by {it}")));
    let _ = writeln!(page, "<p class=\"dim\">{}</p>", e(&facts.join(" · ")));
    let own = node.address.as_deref().unwrap_or_default();
    let others: Vec<&str> =
        node.addresses.iter().map(String::as_str).filter(|it| it.split('/').next() != Some(own)).collect();
    if !others.is_empty() {
        let _ =
            writeln!(page, "<p class=\"dim\">also <span class=\"code\">{}</span></p>", e(&others.join(", ")));
    }
    if !node.replaced.is_empty() {
        let _ = writeln!(page, "<p class=\"note\">replaced by you: {}</p>", e(&node.replaced.join(", ")));
    }
    page.push_str("</li>\n");
}

//! Machines that were there before swdt: reached, never made, started, stopped or removed.

use std::path::{Path, PathBuf};

use super::{Context, MachineState, Provider, Reached};
use crate::{
    Error, Result,
    doctor::HostFacts,
    id,
    spec::{Endpoint, Node, Place},
};

/// The provider that provides nothing.
pub(super) struct Existing;

impl Provider for Existing {
    fn look(&self, _: &mut HostFacts, _: &[&Node], _: &Path) {}

    fn usable(&self) -> Result<()> {
        Ok(())
    }

    fn require(&self, _: &Context, _: &[Node]) -> Result<()> {
        Ok(())
    }

    fn missing_packages(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn ensure(&self, _: &Context, node: &Node) -> Result<Reached> {
        let Place::Existing { address, port } = &node.place else {
            return Err(Error::new(id::INTERNAL, "not an existing machine"));
        };
        let endpoint = Endpoint {
            address: address.clone(),
            port: port.unwrap_or(22),
            ip: address.parse().ok(),
            api: None,
        };
        Ok(Reached { endpoint, host_key: node.connection.host_key.clone() })
    }

    fn start(&self, _: &Context, _: &Node) -> Result<Reached> {
        Err(refuse("started"))
    }

    fn stop(&self, _: &Context, _: &str) -> Result<()> {
        Err(refuse("stopped"))
    }

    fn status(&self, _: &Context, _: &str) -> Result<MachineState> {
        Ok(MachineState::Running)
    }

    fn destroy(&self, _: &Context, _: &str) -> Result<()> {
        Err(refuse("removed"))
    }

    fn destroy_cluster(&self, _: &Context, _: &[String]) -> Result<()> {
        Ok(())
    }

    fn console_log(&self, _: &Context, _: &str) -> Option<PathBuf> {
        None
    }
}

fn refuse(what: &str) -> Error {
    Error::new(
        id::MACHINE_YOURS,
        format!("this machine was there before swdt, so swdt does not let it be {what}"),
    )
    .hinted("what swdt changed on it can be undone with `swdt cluster destroy`; the machine itself is yours")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Connection, OsFamily, Role};

    fn node(address: &str) -> Node {
        Node {
            labels: std::collections::BTreeMap::new(),
            taints: None,
            components: std::collections::BTreeMap::new(),
            name: "a".into(),
            role: Role::Worker,
            os: OsFamily::Linux,
            set_hostname: false,
            place: Place::Existing { address: address.into(), port: Some(2222) },
            connection: Connection::default(),
        }
    }

    fn context() -> Context {
        crate::machine::tests::context(std::path::Path::new("/nowhere"))
    }

    #[test]
    fn an_address_is_an_endpoint() {
        let by_ip = Existing.ensure(&context(), &node("192.0.2.7")).unwrap().endpoint;
        assert_eq!((by_ip.port, by_ip.ip), (2222, Some("192.0.2.7".parse().unwrap())));
        let by_name = Existing.ensure(&context(), &node("win1.example")).unwrap().endpoint;
        assert_eq!((by_name.address.as_str(), by_name.ip), ("win1.example", None));
    }

    #[test]
    fn the_machine_itself_is_left_alone() {
        let error = Existing.destroy(&context(), "a").unwrap_err();
        assert_eq!(error.id(), "machine-yours");
        assert!(error.message.contains("there before swdt"), "{error}");
    }
}

#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::cell::Cell;

use super::*;
use crate::v1;

/// A machine with one adapter, whose ids count.
#[derive(Default)]
struct One(Cell<u32>);

impl Machine for One {
    fn new_id(&self) -> String {
        self.0.set(self.0.get() + 1);
        format!("{:08X}-0000-0000-0000-0000000000AB", self.0.get())
    }

    fn address(&self, adapter: Option<&str>) -> Option<String> {
        adapter.is_none_or(|name| name == "Ethernet").then(|| "10.0.0.7".into())
    }
}

/// What flanneld asks for.
const OVERLAY: &str = r#"{"Name": "flannel.4096", "Type": "Overlay", "Flags": 8,
    "Ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": "10.244.3.0/24",
        "Routes": [{"NextHop": "10.244.3.1", "DestinationPrefix": "0.0.0.0/0"}]}]}],
    "Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Ethernet"}}]}"#;

fn overlay() -> (State, One, String) {
    let (mut state, machine) = (State::default(), One::default());
    let id = state.create(Kind::Network, OVERLAY, &machine).unwrap();
    (state, machine, id)
}

fn endpoint(network: &str, address: &str, flags: u32) -> String {
    json!({ "HostComputeNetwork": network, "Flags": flags, "IpConfigurations": [{ "IpAddress": address }] })
        .to_string()
}

#[test]
fn an_overlay_network_gets_the_address_of_its_adapter() {
    let (state, _, id) = overlay();
    let network = state.get(Kind::Network, &id.to_lowercase()).unwrap();
    let of = |kind: &str| {
        let policies = network["Policies"].as_array().unwrap();
        policies.iter().find(|policy| policy["Type"] == kind).unwrap()["Settings"].clone()
    };
    assert_eq!(of("ProviderAddress")["ProviderAddress"], "10.0.0.7");
    assert_eq!(of("DrMacAddress")["Address"].as_str().unwrap().len(), 17);
}

#[test]
fn filters_are_texts_of_json_in_words_of_version_1() {
    let (mut state, machine, id) = overlay();
    state.create(Kind::Network, r#"{"Name": "nat"}"#, &machine).unwrap();
    let asked =
        |field: &str, value: &str| json!({ "Filter": json!({ field: value }).to_string() }).to_string();
    assert_eq!(state.enumerate(Kind::Network, &asked("Name", "flannel.4096")).unwrap(), [&id]);
    assert_eq!(state.enumerate(Kind::Network, &asked("Name", "flannel")).unwrap().len(), 0);
    assert_eq!(state.enumerate(Kind::Network, "").unwrap().len(), 2);
    let one = state.create(Kind::Endpoint, &endpoint(&id, "10.244.3.9", 0), &machine).unwrap();
    assert_eq!(
        state.enumerate(Kind::Endpoint, &asked("VirtualNetwork", &id.to_lowercase())).unwrap(),
        [&one]
    );
    assert_eq!(state.enumerate(Kind::Network, "{"), Err(INVALID_JSON));
}

#[test]
fn routes_to_other_machines_come_and_go() {
    let (mut state, _, id) = overlay();
    let request = |kind: &str, prefix: &str| {
        let route =
            json!({ "DestinationPrefix": prefix, "ProviderAddress": "10.0.0.8", "IsolationId": 4096 });
        let policies = json!([{ "Type": "RemoteSubnetRoute", "Settings": route }]);
        json!({ "ResourceType": "Policy", "RequestType": kind, "Settings": { "Policies": policies } })
            .to_string()
    };
    let routes = |state: &State| {
        let policies = state.networks[&id]["Policies"].as_array().unwrap().iter();
        policies.filter(|policy| policy["Type"] == "RemoteSubnetRoute").count()
    };
    for prefix in ["10.244.0.0/24", "10.244.1.0/24", "10.244.0.0/24"] {
        state.modify(Kind::Network, &id, &request("Add", prefix)).unwrap();
    }
    assert_eq!(routes(&state), 2, "the same one twice is one");
    state.modify(Kind::Network, &id, &request("Remove", "10.244.0.0/24")).unwrap();
    assert_eq!(routes(&state), 1);
}

#[test]
fn endpoints_have_addresses_of_their_network() {
    let (mut state, machine, id) = overlay();
    let outside = endpoint(&id, "10.9.9.9", 0);
    assert_eq!(state.create(Kind::Endpoint, &outside, &machine), Err(ADDRESS_INVALID));
    state.create(Kind::Endpoint, &endpoint(&id, "10.9.9.9", 1), &machine).unwrap();
    let nowhere = endpoint("00000000-0000-0000-0000-000000000000", "10.244.3.9", 0);
    assert_eq!(state.create(Kind::Endpoint, &nowhere, &machine), Err(NETWORK_NOT_FOUND));
    let any = json!({ "HostComputeNetwork": id }).to_string();
    let mut given = || {
        let id = state.create(Kind::Endpoint, &any, &machine).unwrap();
        state.endpoints[&id]["IpConfigurations"][0]["IpAddress"].clone()
    };
    assert_eq!((given(), given()), (json!("10.244.3.3"), json!("10.244.3.4")));
}

#[test]
fn ports_of_load_balancers_are_taken_once() {
    let (mut state, machine, id) = overlay();
    let back = state.create(Kind::Endpoint, &endpoint(&id, "10.244.0.5", 1), &machine).unwrap();
    let balancer = |endpoint: &str, port: u16| {
        json!({ "HostComputeEndpoints": [endpoint], "FrontendVIPs": ["10.96.0.1"],
                "PortMappings": [{ "Protocol": 6, "InternalPort": 6443, "ExternalPort": port }] })
        .to_string()
    };
    let first = state.create(Kind::LoadBalancer, &balancer(&back, 443), &machine).unwrap();
    assert_eq!(state.create(Kind::LoadBalancer, &balancer(&back, 443), &machine), Err(PORT_EXISTS));
    assert_eq!(state.create(Kind::LoadBalancer, &balancer("none", 53), &machine), Err(ENDPOINT_NOT_FOUND));
    state.create(Kind::LoadBalancer, &balancer(&back, 53), &machine).unwrap();
    assert_eq!(state.modify(Kind::LoadBalancer, &first, &balancer(&back, 53)), Err(PORT_EXISTS));
    state.modify(Kind::LoadBalancer, &first, &balancer(&back, 80)).unwrap();
    state.delete(Kind::Endpoint, &back).unwrap();
    assert!(state.load_balancers.is_empty());
}

#[test]
fn a_network_goes_with_all_that_hangs_on_it() {
    let (mut state, machine, id) = overlay();
    let namespace = state.create(Kind::Namespace, "", &machine).unwrap();
    let pod = state.create(Kind::Endpoint, &endpoint(&id, "10.244.3.9", 0), &machine).unwrap();
    let join = json!({ "ResourceType": "Endpoint", "RequestType": "Add", "Settings": { "EndpointId": pod } });
    state.modify(Kind::Namespace, &namespace, &join.to_string()).unwrap();
    assert_eq!(state.endpoints[&pod]["HostComputeNamespace"], json!(namespace));
    state.delete(Kind::Network, &id).unwrap();
    assert!(state.networks.is_empty() && state.endpoints.is_empty());
    assert_eq!(state.namespaces[&namespace]["Resources"], json!([]));
    assert_eq!(state.delete(Kind::Network, &id), Err(NOT_FOUND));
    state.delete(Kind::Namespace, &namespace).unwrap();
    assert!(state.is_empty());
}

#[test]
fn a_restart_forgets_what_was_not_to_last() {
    let (mut state, machine, id) = overlay();
    state.create(Kind::Network, r#"{"Name": "lasting"}"#, &machine).unwrap();
    state.create(Kind::Endpoint, &endpoint(&id, "10.244.3.9", 0), &machine).unwrap();
    state.create(Kind::Namespace, "", &machine).unwrap();
    state.boot = 4;
    let state = state.since(4);
    assert_eq!((state.networks.len(), state.endpoints.len()), (2, 1));
    let state = state.since(5);
    assert!(state.endpoints.is_empty() && state.namespaces.is_empty());
    assert_eq!(state.networks.values().next().unwrap()["Name"], "lasting");
}

#[test]
fn version_1_tells_of_the_same() {
    let (mut state, machine, id) = overlay();
    let mut call = |method: &str, path: &str, document: Value| {
        v1::call(&mut state, (method, path, &document.to_string()), &machine)
    };
    let network = call("GET", &format!("/networks/{id}"), json!({}))["Output"].clone();
    assert_eq!(network["ManagementIP"], "10.0.0.7");
    assert_eq!(network["Subnets"][0]["GatewayAddress"], "10.244.3.1");
    let new = json!({ "Name": "pod", "VirtualNetwork": id, "IPAddress": "10.244.3.9" });
    let made = call("POST", "/endpoints/", new)["Output"].clone();
    let path = format!("/endpoints/{}/attach", made["ID"].as_str().unwrap());
    call("POST", &path, json!({ "ContainerId": "c1" }));
    let all = call("GET", "/endpoints/", json!({}))["Output"].clone();
    assert_eq!(all[0]["SharedContainers"], json!(["c1"]));
    assert_eq!(all[0]["VirtualNetworkName"], "flannel.4096");
    assert_eq!(call("GET", "/networks/none", json!({}))["ErrorCode"], 0x8007_0490_u32);
    assert_eq!(call("PATCH", "/networks/", json!({}))["Success"], false);
}

//! Version 1 of the API: `HNSCall(method, path, document)`, as far as CNI plugins and the kubelet use it.

use serde_json::{Value, json};

use crate::{
    Machine, NOT_IMPLEMENTED, Result,
    state::{Kind, State, list, parse},
};

/// The version of HNS in Windows Server 2022.
const VERSION: (u32, u32) = (13, 3);

/// Does what is asked; gives the document that answers.
pub(crate) fn call(
    state: &mut State,
    (method, path, document): (&str, &str, &str),
    machine: &dyn Machine,
) -> Value {
    match output(state, method, path, document, machine) {
        Ok(output) => json!({ "Success": true, "Output": output }),
        Err(refusal) => refusal.document(),
    }
}

fn output(
    state: &mut State,
    method: &str,
    path: &str,
    document: &str,
    machine: &dyn Machine,
) -> Result<Value> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match (method, parts[..].as_ref()) {
        ("GET", ["globals", "version"]) => Ok(json!({ "Major": VERSION.0, "Minor": VERSION.1 })),
        ("GET", ["networks"]) => Ok(state.all(Kind::Network).values().map(network).collect()),
        ("GET", ["networks", id]) => state.get(Kind::Network, id).map(network),
        ("GET", ["endpoints"]) => {
            Ok(state.all(Kind::Endpoint).values().map(|it| endpoint(state, it)).collect())
        }
        ("GET", ["endpoints", id]) => state.get(Kind::Endpoint, id).map(|it| endpoint(state, it)),
        ("GET", ["endpointstats", id]) => {
            let endpoint = state.get(Kind::Endpoint, id)?;
            Ok(json!({ "EndpointId": endpoint["ID"], "BytesReceived": 0, "BytesSent": 0 }))
        }
        ("GET", ["policylists"]) => Ok(state.all(Kind::LoadBalancer).values().map(policy_list).collect()),
        ("GET", ["policylists", id]) => state.get(Kind::LoadBalancer, id).map(policy_list),
        ("DELETE", ["networks", id]) => state.delete(Kind::Network, id).map(|()| json!({})),
        ("DELETE", ["endpoints", id]) => state.delete(Kind::Endpoint, id).map(|()| json!({})),
        ("DELETE", ["policylists", id]) => state.delete(Kind::LoadBalancer, id).map(|()| json!({})),
        ("POST", ["endpoints"]) => {
            let new = of_version_2(&parse(document)?).to_string();
            let id = state.create(Kind::Endpoint, &new, machine)?;
            state.get(Kind::Endpoint, &id).map(|it| endpoint(state, it))
        }
        ("POST", ["endpoints", id, what @ ("attach" | "detach")]) => {
            let container = parse(document)?["ContainerId"].clone();
            share(state, id, &container, *what == "attach")
        }
        _ => Err(NOT_IMPLEMENTED),
    }
}

/// Which containers have an endpoint.
fn share(state: &mut State, id: &str, container: &Value, attach: bool) -> Result<Value> {
    if let Some(containers) = list(state.get_mut(Kind::Endpoint, id)?, "SharedContainers") {
        containers.retain(|one| one != container);
        if attach {
            containers.push(container.clone());
        }
    }
    Ok(json!({}))
}

fn network(network: &Value) -> Value {
    let ipams = network["Ipams"].as_array().into_iter().flatten();
    let subnets = ipams.flat_map(|ipam| ipam["Subnets"].as_array().into_iter().flatten());
    let subnets: Value = subnets
        .map(|subnet| {
            let gateway = &subnet["Routes"][0]["NextHop"];
            json!({ "AddressPrefix": subnet["IpAddressPrefix"], "GatewayAddress": gateway })
        })
        .collect();
    let policies = || network["Policies"].as_array().into_iter().flatten();
    let address = policies().find(|policy| policy["Type"] == "ProviderAddress");
    json!({
        "ID": network["ID"],
        "Name": network["Name"],
        "Type": network["Type"],
        "Subnets": subnets,
        "Policies": policies().map(flat).collect::<Value>(),
        "ManagementIP": address.map_or("", |it| it["Settings"]["ProviderAddress"].as_str().unwrap_or("")),
    })
}

/// Policies of version 1 have their settings beside their type.
fn flat(policy: &Value) -> Value {
    let mut flat = policy["Settings"].as_object().cloned().unwrap_or_default();
    flat.insert("Type".into(), policy["Type"].clone());
    Value::Object(flat)
}

fn endpoint(state: &State, endpoint: &Value) -> Value {
    let network = endpoint["HostComputeNetwork"].as_str().unwrap_or_default();
    let mut answer = json!({
        "ID": endpoint["ID"],
        "Name": endpoint["Name"],
        "VirtualNetwork": network,
        "VirtualNetworkName": state.get(Kind::Network, network).map_or(Value::Null, |it| it["Name"].clone()),
        "Policies": endpoint["Policies"].as_array().into_iter().flatten().map(flat).collect::<Value>(),
        "MacAddress": endpoint["MacAddress"],
        "GatewayAddress": endpoint["Routes"][0]["NextHop"],
        "IsRemoteEndpoint": endpoint["Flags"] == 1,
        "SharedContainers": endpoint["SharedContainers"],
    });
    let address = &endpoint["IpConfigurations"][0];
    if address.is_object() {
        answer["IPAddress"] = address["IpAddress"].clone();
        answer["PrefixLength"] = address["PrefixLength"].clone();
    }
    if endpoint["HostComputeNamespace"].as_str().is_some_and(|id| !id.is_empty()) {
        answer["Namespace"] = json!({ "ID": endpoint["HostComputeNamespace"] });
    }
    answer
}

fn of_version_2(endpoint: &Value) -> Value {
    let policies = endpoint["Policies"].as_array().into_iter().flatten().map(|policy| {
        let mut settings = policy.clone();
        settings.as_object_mut().map(|settings| settings.remove("Type"));
        json!({ "Type": policy["Type"], "Settings": settings })
    });
    let mut new = json!({
        "Name": endpoint["Name"],
        "HostComputeNetwork": endpoint["VirtualNetwork"],
        "MacAddress": endpoint["MacAddress"].as_str().unwrap_or_default(),
        "Policies": policies.collect::<Value>(),
        "Flags": u32::from(endpoint["IsRemoteEndpoint"] == true),
    });
    if let Some(address) = endpoint["IPAddress"].as_str() {
        new["IpConfigurations"] = json!([{ "IpAddress": address, "PrefixLength": endpoint["PrefixLength"] }]);
    }
    if let Some(gateway) = endpoint["GatewayAddress"].as_str() {
        new["Routes"] = json!([{ "NextHop": gateway, "DestinationPrefix": "0.0.0.0/0" }]);
    }
    new
}

fn policy_list(balancer: &Value) -> Value {
    let endpoints = balancer["HostComputeEndpoints"].as_array().into_iter().flatten();
    let references = endpoints.filter_map(Value::as_str).map(|id| json!(format!("/endpoints/{id}")));
    let port = &balancer["PortMappings"][0];
    json!({ "ID": balancer["ID"], "References": references.collect::<Value>(), "Policies": [{
        "Type": "ELB",
        "SourceVIP": balancer["SourceVIP"],
        "VIPs": balancer["FrontendVIPs"],
        "Protocol": port["Protocol"],
        "InternalPort": port["InternalPort"],
        "ExternalPort": port["ExternalPort"],
    }] })
}

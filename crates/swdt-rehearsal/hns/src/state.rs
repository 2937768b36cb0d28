//! What HNS remembers, and what it does when asked. Objects are the JSON documents of its API, version 2.

use std::{collections::BTreeMap, net::Ipv4Addr};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{INVALID_JSON, Machine, NOT_FOUND, NOT_IMPLEMENTED, Refusal, Result};

const NETWORK_NOT_FOUND: Refusal = Refusal(0x803b_0001, "The network was not found. ");
const ENDPOINT_NOT_FOUND: Refusal = Refusal(0x803b_0002, "The endpoint was not found. ");
const PORT_EXISTS: Refusal = Refusal(0x803b_0013, "The specified port already exists. ");
const ADDRESS_INVALID: Refusal =
    Refusal(0x803b_002f, "IP address is either invalid or not part of any configured subnet(s). ");

/// A network with this flag is forgotten when the machine restarts.
const NON_PERSISTENT: u64 = 8;
/// An endpoint with this flag is on another machine.
const REMOTE: u64 = 1;

/// The sorts of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Network,
    Endpoint,
    LoadBalancer,
    Namespace,
    Route,
}

/// By id, in capital letters.
type Objects = BTreeMap<String, Value>;

/// All that HNS knows.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct State {
    /// The start of the machine in which this was written.
    boot: u32,
    networks: Objects,
    endpoints: Objects,
    load_balancers: Objects,
    namespaces: Objects,
    routes: Objects,
}

impl State {
    /// What is still true in this start of the machine.
    pub(crate) fn since(mut self, boot: u32) -> Self {
        if self.boot != boot {
            let fleeting: Vec<String> = self
                .networks
                .iter()
                .filter(|(_, network)| network["Flags"].as_u64().unwrap_or(0) & NON_PERSISTENT != 0)
                .map(|(id, _)| id.clone())
                .collect();
            for id in fleeting {
                self.forget_network(&id);
            }
            // Namespaces are compartments of a running system, load balancers and routes its rules.
            self.namespaces.clear();
            self.load_balancers.clear();
            self.routes.clear();
            self.boot = boot;
        }
        self
    }

    /// Nothing to remember?
    pub(crate) fn is_empty(&self) -> bool {
        [&self.networks, &self.endpoints, &self.load_balancers, &self.namespaces, &self.routes]
            .iter()
            .all(|objects| objects.is_empty())
    }

    pub(crate) fn all(&self, kind: Kind) -> &Objects {
        match kind {
            Kind::Network => &self.networks,
            Kind::Endpoint => &self.endpoints,
            Kind::LoadBalancer => &self.load_balancers,
            Kind::Namespace => &self.namespaces,
            Kind::Route => &self.routes,
        }
    }

    fn all_mut(&mut self, kind: Kind) -> &mut Objects {
        match kind {
            Kind::Network => &mut self.networks,
            Kind::Endpoint => &mut self.endpoints,
            Kind::LoadBalancer => &mut self.load_balancers,
            Kind::Namespace => &mut self.namespaces,
            Kind::Route => &mut self.routes,
        }
    }

    /// Ids of what a query asks for: `{"Filter": "{\"Name\": …}"}`, with the filter as a text of JSON.
    pub(crate) fn enumerate(&self, kind: Kind, query: &str) -> Result<Vec<&str>> {
        let filter = match parse(query)?["Filter"].as_str() {
            Some(text) => parse(text)?,
            None => Value::Null,
        };
        let fits = |object: &Value| {
            filter.as_object().into_iter().flatten().all(|(field, wanted)| {
                // Filters use the names of version 1.
                let field = if field == "VirtualNetwork" { "HostComputeNetwork" } else { field };
                let (is, wanted) = (object[field].as_str(), wanted.as_str());
                is.zip(wanted).is_some_and(|(is, wanted)| is.eq_ignore_ascii_case(wanted))
            })
        };
        Ok(self.all(kind).iter().filter(|(_, object)| fits(object)).map(|(id, _)| id.as_str()).collect())
    }

    pub(crate) fn get(&self, kind: Kind, id: &str) -> Result<&Value> {
        self.all(kind).get(&id.to_uppercase()).ok_or(NOT_FOUND)
    }

    pub(crate) fn get_mut(&mut self, kind: Kind, id: &str) -> Result<&mut Value> {
        self.all_mut(kind).get_mut(&id.to_uppercase()).ok_or(NOT_FOUND)
    }

    /// Makes an object; gives its id.
    pub(crate) fn create(&mut self, kind: Kind, settings: &str, machine: &dyn Machine) -> Result<String> {
        let Value::Object(mut object) = parse(settings)? else { return Err(INVALID_JSON) };
        let id = match object.get("ID").and_then(Value::as_str) {
            Some(id) if !id.is_empty() => id.to_uppercase(),
            _ => machine.new_id(),
        };
        object.insert("ID".into(), json!(id));
        object.entry("SchemaVersion").or_insert_with(|| json!({ "Major": 2, "Minor": 0 }));
        match kind {
            Kind::Network => complete_network(&mut object, &id, machine),
            Kind::Endpoint => self.complete_endpoint(&mut object, &id)?,
            Kind::LoadBalancer => self.accept_load_balancer(&object, None)?,
            Kind::Namespace => {
                object.entry("Type").or_insert_with(|| json!("HostDefault"));
                let number = self.namespaces.len() + 2;
                object.entry("NamespaceId").or_insert_with(|| json!(number));
            }
            Kind::Route => {}
        }
        self.all_mut(kind).insert(id.clone(), Value::Object(object));
        Ok(id)
    }

    fn complete_endpoint(&self, endpoint: &mut Map<String, Value>, id: &str) -> Result<()> {
        let network = endpoint.get("HostComputeNetwork").and_then(Value::as_str).unwrap_or_default();
        let network = self.get(Kind::Network, network).map_err(|_| NETWORK_NOT_FOUND)?;
        endpoint.insert("HostComputeNetwork".into(), network["ID"].clone());
        let mac = endpoint.entry("MacAddress").or_insert_with(|| json!(""));
        if mac == "" {
            *mac = json!(mac_of(id));
        }
        let flags = endpoint.get("Flags").and_then(Value::as_u64).unwrap_or(0);
        let given = endpoint
            .get("IpConfigurations")
            .and_then(|all| all[0]["IpAddress"].as_str())
            .filter(|address| !address.is_empty());
        let subnets = subnets(network);
        if let Some(address) = given {
            let address: Ipv4Addr = address.parse().map_err(|_| ADDRESS_INVALID)?;
            let inside = subnets.iter().any(|subnet| subnet.holds(address));
            if flags & REMOTE == 0 && !subnets.is_empty() && !inside {
                return Err(ADDRESS_INVALID);
            }
        } else {
            let free = self.free_address(&subnets);
            endpoint.insert("IpConfigurations".into(), free.unwrap_or_else(|| json!([])));
        }
        Ok(())
    }

    fn free_address(&self, subnets: &[Subnet]) -> Option<Value> {
        let taken = |address: &Ipv4Addr| {
            let address = json!(address);
            self.endpoints.values().any(|endpoint| endpoint["IpConfigurations"][0]["IpAddress"] == address)
        };
        // The first address is the gateway's, the second the host's own.
        subnets.iter().find_map(|subnet| {
            let address = subnet.addresses().skip(2).find(|address| !taken(address))?;
            Some(json!([{ "IpAddress": address, "PrefixLength": subnet.length }]))
        })
    }

    /// Its endpoints must be there, and nobody else may have its ports.
    fn accept_load_balancer(&self, new: &Map<String, Value>, but: Option<&str>) -> Result<()> {
        for id in texts(new.get("HostComputeEndpoints")) {
            self.get(Kind::Endpoint, id).map_err(|_| ENDPOINT_NOT_FOUND)?;
        }
        let none = Value::Null;
        let vips = texts(new.get("FrontendVIPs"));
        let ports = |mappings: &Value| -> Vec<(Value, Value)> {
            let mappings = mappings.as_array().into_iter().flatten();
            mappings.map(|port| (port["Protocol"].clone(), port["ExternalPort"].clone())).collect()
        };
        let wanted = ports(new.get("PortMappings").unwrap_or(&none));
        let taken =
            self.load_balancers.iter().filter(|(id, _)| but != Some(id.as_str())).any(|(_, other)| {
                texts(other.get("FrontendVIPs")) == vips
                    && other["Flags"] == *new.get("Flags").unwrap_or(&none)
                    && ports(&other["PortMappings"]).iter().any(|port| wanted.contains(port))
            });
        if taken { Err(PORT_EXISTS) } else { Ok(()) }
    }

    /// Changes an object as `{"ResourceType", "RequestType", "Settings"}` says; a load balancer is given whole.
    pub(crate) fn modify(&mut self, kind: Kind, id: &str, request: &str) -> Result<()> {
        let request = parse(request)?;
        let adds = match request["RequestType"].as_str() {
            _ if kind == Kind::LoadBalancer => true,
            Some("Add" | "Update") => true,
            Some("Remove") => false,
            _ => return Err(NOT_IMPLEMENTED),
        };
        let settings = &request["Settings"];
        match (kind, request["ResourceType"].as_str()) {
            (Kind::LoadBalancer, _) => {
                let id = id.to_uppercase();
                self.get(kind, &id)?;
                let Value::Object(mut whole) = request else { return Err(INVALID_JSON) };
                self.accept_load_balancer(&whole, Some(&id))?;
                whole.insert("ID".into(), json!(id));
                self.load_balancers.insert(id, Value::Object(whole));
                Ok(())
            }
            (Kind::Network | Kind::Endpoint, Some("Policy")) => {
                let policies = settings["Policies"].as_array().cloned().unwrap_or_default();
                let object = self.get_mut(kind, id)?;
                let Some(mine) = list(object, "Policies") else { return Err(INVALID_JSON) };
                mine.retain(|policy| !policies.contains(policy));
                if adds {
                    mine.extend(policies);
                }
                Ok(())
            }
            (Kind::Namespace, Some(what @ ("Endpoint" | "Container"))) => {
                let member = settings["EndpointId"].as_str().or(settings["ContainerId"].as_str());
                let member = member.ok_or(INVALID_JSON)?.to_uppercase();
                self.join_namespace(id, what, &member, adds)
            }
            _ => Err(NOT_IMPLEMENTED),
        }
    }

    fn join_namespace(&mut self, id: &str, what: &str, member: &str, adds: bool) -> Result<()> {
        let namespace = self.get_mut(Kind::Namespace, id)?;
        let entry = json!({ "Type": what, "Data": { "ID": member } });
        let Some(members) = list(namespace, "Resources") else { return Err(INVALID_JSON) };
        members.retain(|one| *one != entry);
        if adds {
            members.push(entry);
        }
        if what == "Endpoint" {
            let endpoint = self.get_mut(Kind::Endpoint, member).map_err(|_| ENDPOINT_NOT_FOUND)?;
            endpoint["HostComputeNamespace"] = if adds { json!(id.to_uppercase()) } else { json!("") };
        }
        Ok(())
    }

    /// Removes an object, and what cannot be without it.
    pub(crate) fn delete(&mut self, kind: Kind, id: &str) -> Result<()> {
        let id = id.to_uppercase();
        self.get(kind, &id)?;
        match kind {
            Kind::Network => self.forget_network(&id),
            Kind::Endpoint => self.forget_endpoint(&id),
            _ => drop(self.all_mut(kind).remove(&id)),
        }
        Ok(())
    }

    fn forget_network(&mut self, id: &str) {
        self.networks.remove(id);
        let of_it = |(_, endpoint): &(&String, &Value)| endpoint["HostComputeNetwork"] == id;
        let endpoints: Vec<String> = self.endpoints.iter().filter(of_it).map(|(id, _)| id.clone()).collect();
        for endpoint in endpoints {
            self.forget_endpoint(&endpoint);
        }
    }

    fn forget_endpoint(&mut self, id: &str) {
        self.endpoints.remove(id);
        for namespace in self.namespaces.values_mut() {
            if let Some(members) = list(namespace, "Resources") {
                members.retain(|member| member["Data"]["ID"] != id);
            }
        }
        // A load balancer that has lost its last endpoint has nothing to balance.
        self.load_balancers.retain(|_, balancer| {
            let Some(endpoints) = list(balancer, "HostComputeEndpoints") else { return true };
            let had = endpoints.len();
            endpoints.retain(|one| !one.as_str().is_some_and(|one| one.eq_ignore_ascii_case(id)));
            had == endpoints.len() || !endpoints.is_empty()
        });
    }
}

/// What HNS adds to a network by itself.
fn complete_network(network: &mut Map<String, Value>, id: &str, machine: &dyn Machine) {
    let overlay = network.entry("Type").or_insert_with(|| json!("NAT")) == "Overlay";
    let policies = network.entry("Policies").or_insert_with(|| json!([]));
    let Some(policies) = policies.as_array_mut().filter(|_| overlay) else { return };
    let adapter = policies.iter().find(|policy| policy["Type"] == "NetAdapterName");
    let adapter = adapter.and_then(|policy| policy["Settings"]["NetworkAdapterName"].as_str());
    if let Some(address) = machine.address(adapter) {
        policies.push(json!({ "Type": "ProviderAddress", "Settings": { "ProviderAddress": address } }));
    }
    policies.push(json!({ "Type": "DrMacAddress", "Settings": { "Address": mac_of(id) } }));
}

/// An address of Hyper-V's own range, from an id.
fn mac_of(id: &str) -> String {
    let digits: Vec<char> = id.chars().rev().take(6).collect();
    let pairs: Vec<String> = digits.chunks(2).map(|pair| pair.iter().collect()).collect();
    format!("00-15-5D-{}", pairs.join("-"))
}

/// A prefix of addresses.
struct Subnet {
    first: u32,
    length: u32,
}

impl Subnet {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let length = length.parse().ok().filter(|length| (1..=32).contains(length))?;
        let address: Ipv4Addr = address.parse().ok()?;
        Some(Self { first: u32::from(address) & (u32::MAX << (32 - length)), length })
    }

    fn holds(&self, address: Ipv4Addr) -> bool {
        u32::from(address) & (u32::MAX << (32 - self.length)) == self.first
    }

    /// All but those of the net itself and the broadcast.
    fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        let last = self.first | !(u32::MAX << (32 - self.length));
        (self.first + 1..last).map(Ipv4Addr::from)
    }
}

fn subnets(network: &Value) -> Vec<Subnet> {
    let ipams = network["Ipams"].as_array().into_iter().flatten();
    let subnets = ipams.flat_map(|ipam| ipam["Subnets"].as_array().into_iter().flatten());
    subnets.filter_map(|subnet| Subnet::parse(subnet["IpAddressPrefix"].as_str()?)).collect()
}

/// The list in a field, made when missing.
pub(crate) fn list<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Vec<Value>> {
    object.as_object_mut()?.entry(field).or_insert_with(|| json!([])).as_array_mut()
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// An empty text asks for nothing in particular.
pub(crate) fn parse(text: &str) -> Result<Value> {
    if text.is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_str(text).map_err(|_| INVALID_JSON)
}

#[cfg(test)]
mod tests;

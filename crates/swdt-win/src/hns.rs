//! The Host Network Service: networks, and what hangs on them.
//!
//! Its library is only there with the feature Containers, so it is loaded when it is asked for.

use std::{
    ffi::{CStr, c_void},
    fmt, io,
    ptr::null_mut,
};

use serde_json::{Value, json};
use windows_sys::{
    Win32::{
        Foundation::{FreeLibrary, HMODULE},
        System::{
            Com::CoTaskMemFree,
            LibraryLoader::{GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW},
        },
    },
    core::GUID,
};

use crate::{text, wide};

/// A network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// A GUID.
    pub id: String,
    /// `flannel.4096`.
    pub name: String,
    /// `Overlay`, `NAT`, …
    pub kind: String,
    /// The address of the machine that it uses; none as long as it has none.
    pub address: Option<String>,
}

/// What HNS did not do.
#[derive(Debug)]
pub enum Error {
    /// There is no HNS: the feature Containers is not there.
    Missing(io::Error),
    /// It refused, or it does not run: what was asked, the HRESULT, and its own words.
    Refused(&'static str, u32, String),
    /// It said what nobody understands.
    Unclear(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(error) => {
                write!(f, "there is no Host Network Service (computenetwork.dll): {error}")
            }
            Self::Refused(call, code, words) => {
                write!(f, "the Host Network Service answered {call} with {code:#010x}")?;
                if words.is_empty() { Ok(()) } else { write!(f, ": {words}") }
            }
            Self::Unclear(what) => write!(f, "the Host Network Service answered {what}"),
        }
    }
}

impl std::error::Error for Error {}

/// What calls give.
pub type Result<T> = std::result::Result<T, Error>;

type Answer = *mut *mut u16;
type Handle = *mut c_void;
type EnumerateFn = unsafe extern "system" fn(*const u16, Answer, Answer) -> i32;
type OpenFn = unsafe extern "system" fn(*const GUID, *mut Handle, Answer) -> i32;
type QueryFn = unsafe extern "system" fn(Handle, *const u16, Answer, Answer) -> i32;
type CreateFn = unsafe extern "system" fn(*const GUID, *const u16, *mut Handle, Answer) -> i32;
type DeleteFn = unsafe extern "system" fn(*const GUID, Answer) -> i32;
type CloseFn = unsafe extern "system" fn(Handle) -> i32;

/// The functions of one sort of objects.
struct Objects {
    enumerate: &'static CStr,
    open: &'static CStr,
    query: &'static CStr,
    delete: &'static CStr,
    close: &'static CStr,
}

const NETWORKS: Objects = Objects {
    enumerate: c"HcnEnumerateNetworks",
    open: c"HcnOpenNetwork",
    query: c"HcnQueryNetworkProperties",
    delete: c"HcnDeleteNetwork",
    close: c"HcnCloseNetwork",
};
const ENDPOINTS: Objects = Objects {
    enumerate: c"HcnEnumerateEndpoints",
    open: c"HcnOpenEndpoint",
    query: c"HcnQueryEndpointProperties",
    delete: c"HcnDeleteEndpoint",
    close: c"HcnCloseEndpoint",
};
const LOAD_BALANCERS: Objects = Objects {
    enumerate: c"HcnEnumerateLoadBalancers",
    open: c"HcnOpenLoadBalancer",
    query: c"HcnQueryLoadBalancerProperties",
    delete: c"HcnDeleteLoadBalancer",
    close: c"HcnCloseLoadBalancer",
};

/// `ERROR_NOT_FOUND` and HNS' own two words for it: somebody else was faster.
const GONE: [u32; 3] = [0x8007_0490, 0x803b_0001, 0x803b_0002];

/// HNS, as long as its library is loaded.
pub struct Hns(HMODULE);

impl Drop for Hns {
    fn drop(&mut self) {
        // SAFETY: loaded by us, and freed once.
        unsafe { FreeLibrary(self.0) };
    }
}

impl Hns {
    /// Loads its library.
    pub fn load() -> Result<Self> {
        let name = wide("computenetwork.dll");
        // SAFETY: the name ends with a zero.
        let library = unsafe { LoadLibraryExW(name.as_ptr(), null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
        if library.is_null() { Err(Error::Missing(io::Error::last_os_error())) } else { Ok(Self(library)) }
    }

    /// All networks.
    pub fn networks(&self) -> Result<Vec<Network>> {
        Ok(self.all(&NETWORKS)?.iter().map(network).collect())
    }

    /// The network of a name.
    pub fn network(&self, name: &str) -> Result<Option<Network>> {
        Ok(self.networks()?.into_iter().find(|network| network.name == name))
    }

    /// Makes an overlay network, which is gone after a restart, as flanneld does.
    pub fn create_overlay(&self, name: &str, subnet: &str, gateway: &str, vni: u32) -> Result<()> {
        let vsid = json!({ "Type": "VSID", "Settings": { "IsolationId": vni } });
        let route = json!({ "NextHop": gateway, "DestinationPrefix": "0.0.0.0/0" });
        let subnet = json!({ "IpAddressPrefix": subnet, "Routes": [route], "Policies": [vsid] });
        let settings = json!({
            "Name": name, "Type": "Overlay", "Flags": 8, "SchemaVersion": { "Major": 2, "Minor": 0 },
            "Ipams": [{ "Type": "Static", "Subnets": [subnet] }],
        });
        let (id, settings) = (GUID::default(), wide(settings.to_string()));
        let (mut handle, mut words) = (null_mut(), null_mut());
        let create = self.function(c"HcnCreateNetwork")?;
        // SAFETY: the type is that of the function of this name.
        let create: CreateFn = unsafe { std::mem::transmute(create) };
        // SAFETY: a GUID, a text with a zero at its end, places for a handle and a text.
        let code = unsafe { create(&raw const id, settings.as_ptr(), &raw mut handle, &raw mut words) };
        done("HcnCreateNetwork", code, words)?;
        self.close(&NETWORKS, handle)
    }

    /// Ids of the endpoints of a network.
    pub fn endpoints(&self, network: &Network) -> Result<Vec<String>> {
        let of_it = |endpoint: &&Value| {
            let id = endpoint["HostComputeNetwork"].as_str().unwrap_or_default();
            id.eq_ignore_ascii_case(&network.id)
        };
        Ok(self.all(&ENDPOINTS)?.iter().filter(of_it).map(|endpoint| field(endpoint, "ID")).collect())
    }

    /// Removes a network, its endpoints, and the load balancers before them.
    pub fn delete(&self, network: &Network) -> Result<()> {
        let endpoints = self.endpoints(network)?;
        for balancer in self.all(&LOAD_BALANCERS)? {
            let behind = balancer["HostComputeEndpoints"].as_array().into_iter().flatten();
            let ours = |id: &str| endpoints.iter().any(|endpoint| endpoint.eq_ignore_ascii_case(id));
            if behind.filter_map(Value::as_str).any(ours) {
                self.remove(&LOAD_BALANCERS, &field(&balancer, "ID"))?;
            }
        }
        for endpoint in &endpoints {
            self.remove(&ENDPOINTS, endpoint)?;
        }
        self.remove(&NETWORKS, &network.id)
    }

    /// Objects that go away while they are looked at are left out.
    fn all(&self, objects: &Objects) -> Result<Vec<Value>> {
        let query = wide(r#"{"SchemaVersion":{"Major":2,"Minor":0},"Flags":0}"#);
        let (mut found, mut words) = (null_mut(), null_mut());
        // SAFETY: the type is that of the function of this name.
        let enumerate: EnumerateFn = unsafe { std::mem::transmute(self.function(objects.enumerate)?) };
        // SAFETY: a text with a zero at its end, places for two texts.
        let code = unsafe { enumerate(query.as_ptr(), &raw mut found, &raw mut words) };
        let found = taken(found);
        done(name(objects.enumerate), code, words)?;
        let ids: Vec<String> = serde_json::from_str(&found).map_err(|_| Error::Unclear(found))?;
        let all = ids.iter().map(|id| self.one(objects, id, &query));
        all.filter(|one| !matches!(one, Err(Error::Refused(_, code, _)) if GONE.contains(code))).collect()
    }

    fn one(&self, objects: &Objects, id: &str, query: &[u16]) -> Result<Value> {
        let id = guid(id)?;
        let (mut handle, mut words) = (null_mut(), null_mut());
        // SAFETY: the type is that of the function of this name.
        let open: OpenFn = unsafe { std::mem::transmute(self.function(objects.open)?) };
        // SAFETY: a GUID, places for a handle and a text.
        let code = unsafe { open(&raw const id, &raw mut handle, &raw mut words) };
        done(name(objects.open), code, words)?;
        let (mut properties, mut words) = (null_mut(), null_mut());
        // SAFETY: the type is that of the function of this name.
        let look: QueryFn = unsafe { std::mem::transmute(self.function(objects.query)?) };
        // SAFETY: a handle that was just given, a text with a zero at its end, places for two texts.
        let code = unsafe { look(handle, query.as_ptr(), &raw mut properties, &raw mut words) };
        let properties = taken(properties);
        self.close(objects, handle)?;
        done(name(objects.query), code, words)?;
        serde_json::from_str(&properties).map_err(|_| Error::Unclear(properties))
    }

    fn remove(&self, objects: &Objects, id: &str) -> Result<()> {
        let (id, mut words) = (guid(id)?, null_mut());
        // SAFETY: the type is that of the function of this name.
        let delete: DeleteFn = unsafe { std::mem::transmute(self.function(objects.delete)?) };
        // SAFETY: a GUID and a place for a text.
        let code = unsafe { delete(&raw const id, &raw mut words) };
        match done(name(objects.delete), code, words) {
            Err(Error::Refused(_, code, _)) if GONE.contains(&code) => Ok(()),
            other => other,
        }
    }

    fn close(&self, objects: &Objects, handle: Handle) -> Result<()> {
        // SAFETY: the type is that of the function of this name.
        let close: CloseFn = unsafe { std::mem::transmute(self.function(objects.close)?) };
        // SAFETY: a handle of ours, closed once.
        done(name(objects.close), unsafe { close(handle) }, null_mut())
    }

    fn function(&self, name: &CStr) -> Result<unsafe extern "system" fn() -> isize> {
        // SAFETY: a library that is loaded, a name that ends with a zero.
        let found = unsafe { GetProcAddress(self.0, name.as_ptr().cast()) };
        found.ok_or_else(|| Error::Missing(io::Error::last_os_error()))
    }
}

fn name(function: &'static CStr) -> &'static str {
    function.to_str().unwrap_or_default()
}

fn network(document: &Value) -> Network {
    let policies = document["Policies"].as_array().into_iter().flatten();
    let address = policies
        .filter(|policy| policy["Type"] == "ProviderAddress")
        .find_map(|policy| policy["Settings"]["ProviderAddress"].as_str())
        .filter(|address| !address.is_empty());
    Network {
        id: field(document, "ID"),
        name: field(document, "Name"),
        kind: field(document, "Type"),
        address: address.map(str::to_owned),
    }
}

fn field(document: &Value, name: &str) -> String {
    document[name].as_str().unwrap_or_default().to_owned()
}

/// The outcome of a call, with HNS' own words.
fn done(call: &'static str, code: i32, words: *mut u16) -> Result<()> {
    let words = taken(words);
    if code >= 0 {
        return Ok(());
    }
    // `{"Success":false,"Error":"Element not found. ","ErrorCode":…}`
    let said: Value = serde_json::from_str(&words).unwrap_or_default();
    let said = said["Error"].as_str().unwrap_or(&words).trim().to_owned();
    Err(Error::Refused(call, code.cast_unsigned(), said))
}

/// A text that HNS gave, which is freed.
fn taken(given: *mut u16) -> String {
    // SAFETY: null, or a text with a zero at its end that is ours.
    unsafe {
        let copy = text(given);
        CoTaskMemFree(given.cast());
        copy
    }
}

/// `1B2C…-…` as 128 bits.
fn guid(text: &str) -> Result<GUID> {
    let digits: String = text.chars().filter(|sign| !matches!(sign, '-' | '{' | '}')).collect();
    match u128::from_str_radix(&digits, 16) {
        Ok(number) if digits.len() == 32 => Ok(GUID::from_u128(number)),
        _ => Err(Error::Unclear(format!("with {text:?}, which is no id"))),
    }
}

//! The Host Network Service of a rehearsed Windows, as programs see it: one library that is both
//! `computenetwork.dll` (the Hcn functions) and `vmcompute.dll` (HNSCall). Networks, endpoints and load balancers
//! are remembered, as HNS would tell of them; no packet ever meets them. See `docs/ground.md`.
#![cfg_attr(not(windows), allow(dead_code, reason = "elsewhere only the tests look at what is remembered"))]

mod state;
mod v1;

#[cfg(windows)]
mod exports;
#[cfg(windows)]
mod machine;

use serde_json::{Value, json};

/// Why HNS refuses: an HRESULT and its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refusal(u32, &'static str);

/// No such thing.
const NOT_FOUND: Refusal = Refusal(0x8007_0490, "Element not found. ");
/// What was asked is no JSON, or not what HNS understands.
const INVALID_JSON: Refusal = Refusal(0x803b_001b, "Invalid JSON document string. ");
/// Real HNS has it, this one does not.
const NOT_IMPLEMENTED: Refusal = Refusal(0x8000_4001, "Not implemented ");

impl Refusal {
    /// As HNS puts it.
    fn document(self) -> Value {
        json!({ "Success": false, "Error": self.1, "ErrorCode": self.0 })
    }
}

type Result<T> = std::result::Result<T, Refusal>;

/// What HNS needs of the machine.
trait Machine {
    /// A new GUID.
    fn new_id(&self) -> String;
    /// The IPv4 address of an adapter, or of the first that has one.
    fn address(&self, adapter: Option<&str>) -> Option<String>;
}

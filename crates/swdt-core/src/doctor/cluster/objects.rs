//! Objects of the API, as far as rules read them.

use jiff::Timestamp;
use serde_json::Value;

/// The text at a path, empty where there is none.
pub(super) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// A list at a path.
pub(super) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A number at a path, 0 where there is none.
pub(super) fn number(object: &Value, path: &str) -> u64 {
    object.pointer(path).and_then(Value::as_u64).unwrap_or_default()
}

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// `namespace/name`.
pub(super) fn full_name(object: &Value) -> String {
    format!("{}/{}", text(object, "/metadata/namespace"), name(object))
}

/// A condition of a node or a pod: status, reason, message.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let found = list(object, "/status/conditions").iter().find(|condition| condition["type"] == kind)?;
    Some((text(found, "/status"), text(found, "/reason"), text(found, "/message")))
}

/// How many seconds ago that was; none where no time is written.
pub(super) fn age(now: Timestamp, object: &Value, path: &str) -> Option<i64> {
    let then: Timestamp = text(object, path).parse().ok()?;
    Some(now.as_second() - then.as_second())
}

/// `1.36` of `v1.36.3`.
pub(super) fn minor(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim_start_matches('v').split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

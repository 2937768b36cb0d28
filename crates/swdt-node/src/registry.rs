//! The registry, below `HKEY_LOCAL_MACHINE`: values as Windows keeps them, a type and bytes.

use swdt_wire::{RegistryValue, RegistryWas};
use windows_registry::{LOCAL_MACHINE, Type};

use crate::{Ctx, Error, Result, disk};

/// What Windows answers when there is no such key or value.
const NOT_FOUND: [u32; 2] = [0x8007_0002, 0x8007_0003];

/// Types by Windows' own numbers.
const TEXT: u32 = 1;
const EXPANDED: u32 = 2;
const NUMBER: u32 = 4;
const LIST: u32 = 7;

/// A value as it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    /// Its type.
    pub kind: u32,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl Raw {
    /// A value as it shall be there.
    pub fn of(value: &RegistryValue) -> Self {
        match value {
            RegistryValue::Text(text) => Self { kind: TEXT, data: wide(text) },
            RegistryValue::Expanded(text) => Self { kind: EXPANDED, data: wide(text) },
            RegistryValue::Number(number) => Self { kind: NUMBER, data: number.to_le_bytes().to_vec() },
            RegistryValue::List(items) => {
                let mut data: Vec<u8> = items.iter().flat_map(|item| wide(item)).collect();
                data.extend([0, 0]);
                Self { kind: LIST, data }
            }
        }
    }

    /// For a receipt.
    pub fn was(&self) -> RegistryWas {
        RegistryWas { kind: self.kind, data: disk::hex(&self.data) }
    }

    /// From a receipt.
    pub fn from_was(was: &RegistryWas) -> Result<Self> {
        let digits = was.data.as_bytes().chunks(2);
        let bytes = digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap_or("?"), 16));
        let data = bytes.collect::<Result<_, _>>();
        Ok(Self {
            kind: was.kind,
            data: data.map_err(|_| Error::new("the receipt of a registry value is damaged"))?,
        })
    }

    /// As text, if it is one.
    pub fn text(&self) -> Option<String> {
        matches!(self.kind, TEXT | EXPANDED).then(|| {
            let units: Vec<u16> =
                self.data.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned()
        })
    }

    /// The texts of a list; none if it is no list.
    pub fn items(&self) -> Vec<String> {
        let text = Self { kind: TEXT, data: self.data.clone() }.text().unwrap_or_default();
        let items = text.split('\0').filter(|item| !item.is_empty()).map(str::to_owned);
        if self.kind == LIST { items.collect() } else { Vec::new() }
    }

    /// As a number, if it is one.
    pub fn number(&self) -> Option<u32> {
        let bytes = self.data.get(..4)?.try_into().ok()?;
        (self.kind == NUMBER).then(|| u32::from_le_bytes(bytes))
    }

    /// The same text in a value of the same type.
    #[must_use]
    pub fn with_text(&self, text: &str) -> Self {
        Self { kind: self.kind, data: wide(text) }
    }
}

/// UTF-16 with a zero at its end.
fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// The answer of Windows, with words for people where it is none.
fn told<T>(what: &str, key: &str, answer: windows_registry::Result<T>) -> Result<T> {
    answer.map_err(|error| Error::new(format!(r"cannot {what} HKEY_LOCAL_MACHINE\{key}: {error}")))
}

/// The same, where nothing there is an answer too.
fn told_if_any<T>(what: &str, key: &str, answer: windows_registry::Result<T>) -> Result<Option<T>> {
    match answer {
        Err(error) if NOT_FOUND.contains(&error.code().0.cast_unsigned()) => Ok(None),
        answer => told(what, key, answer).map(Some),
    }
}

/// A value; none when there is no such key or value.
pub fn read(key: &str, name: &str) -> Result<Option<Raw>> {
    let value = LOCAL_MACHINE.open(key).and_then(|key| key.get_value(name));
    let value = told_if_any("read", key, value)?;
    Ok(value.map(|value| Raw { kind: value.ty().into(), data: value.to_vec() }))
}

/// A value as text; empty when there is none.
pub fn text(key: &str, name: &str) -> String {
    read(key, name).ok().flatten().and_then(|raw| raw.text()).unwrap_or_default()
}

/// A value as a number; 0 when there is none.
pub fn number(key: &str, name: &str) -> u32 {
    read(key, name).ok().flatten().and_then(|raw| raw.number()).unwrap_or_default()
}

/// Is there such a key?
pub fn has_key(key: &str) -> bool {
    LOCAL_MACHINE.open(key).is_ok()
}

/// Names of the keys below a key; nothing when there is no such key.
pub fn keys(key: &str) -> Vec<String> {
    let Ok(open) = LOCAL_MACHINE.open(key) else { return Vec::new() };
    open.keys().map(Iterator::collect).unwrap_or_default()
}

/// Names and values below a key; nothing when there is no such key.
pub fn values(key: &str) -> Vec<(String, Raw)> {
    let Ok(open) = LOCAL_MACHINE.open(key) else { return Vec::new() };
    let Ok(values) = open.values() else { return Vec::new() };
    values.map(|(name, value)| (name, Raw { kind: value.ty().into(), data: value.to_vec() })).collect()
}

/// Keys that do not exist, of this one and those above it, outermost first.
pub fn missing_keys(key: &str) -> Vec<String> {
    let ends = key.match_indices('\\').map(|(end, _)| end).chain([key.len()]);
    ends.map(|end| key[..end].to_owned()).filter(|key| !has_key(key)).collect()
}

/// Writes a value; makes the key.
pub fn write(ctx: &Ctx, key: &str, name: &str, raw: &Raw) -> Result<()> {
    ctx.count_write();
    let open = LOCAL_MACHINE.create(key);
    told("write", key, open.and_then(|key| key.set_bytes(name, Type::from(raw.kind), &raw.data)))
}

/// Removes a value; none there is fine.
pub fn remove(ctx: &Ctx, key: &str, name: &str) -> Result<()> {
    if read(key, name)?.is_none() {
        return Ok(());
    }
    ctx.count_write();
    let open = LOCAL_MACHINE.options().read().write().open(key);
    told("write", key, open.and_then(|key| key.remove_value(name)))
}

/// Removes a key if there is nothing in it.
pub fn remove_empty_key(ctx: &Ctx, key: &str) -> Result<()> {
    let Ok(open) = LOCAL_MACHINE.open(key) else { return Ok(()) };
    let empty = open.keys().is_ok_and(|mut keys| keys.next().is_none())
        && open.values().is_ok_and(|mut values| values.next().is_none());
    drop(open);
    if !empty {
        return Ok(());
    }
    ctx.count_write();
    told("remove", key, LOCAL_MACHINE.remove_tree(key))
}

//! The calls to Windows that the node half needs and that no safe crate offers.
//!
//! Each function is one question or one act. Nothing here decides anything. On other systems the crate is
//! empty.
#![cfg(windows)]

pub mod accounts;
pub mod adapters;
pub mod hns;
pub mod network;
pub mod process;
pub mod security;
pub mod service;
pub mod system;

use std::{ffi::OsStr, os::windows::ffi::OsStrExt};

/// Text as Windows wants it: UTF-16 with a zero at its end.
fn wide(text: impl AsRef<OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().chain([0]).collect()
}

/// # Safety
/// `start` is null, or a text that ends with a zero.
unsafe fn text(start: *const u16) -> String {
    if start.is_null() {
        return String::new();
    }
    let mut length = 0;
    // SAFETY: the text ends with a zero, and no later character is looked at.
    while unsafe { *start.add(length) } != 0 {
        length += 1;
    }
    // SAFETY: so many characters were seen.
    String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(start, length) })
}

//! The calls to Windows that the node half needs and that no safe crate offers.
//!
//! Each function is one question or one act. Nothing here decides anything. On other systems the crate is
//! empty.
#![cfg(windows)]

pub mod adapters;
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

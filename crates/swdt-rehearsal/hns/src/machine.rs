//! The machine under HNS: its service, its adapters, and the file in which everything is remembered.

use std::{fs, io, net::IpAddr, path::Path, ptr::null};

use swdt_win::adapters;
use windows_registry::LOCAL_MACHINE;
use windows_service::{
    service::{ServiceAccess, ServiceState},
    service_manager::{ServiceManager, ServiceManagerAccess},
};
use windows_sys::{
    Win32::{
        Foundation::{CloseHandle, HANDLE},
        System::{
            Com::CoCreateGuid,
            Threading::{CreateMutexW, INFINITE, ReleaseMutex, WaitForSingleObject},
        },
    },
    core::GUID,
};

use crate::{Machine, Refusal, Result, state::State};

/// Where Windows keeps it too.
const DIR: &str = r"C:\ProgramData\Microsoft\Windows\HNS";
const FILE: &str = r"C:\ProgramData\Microsoft\Windows\HNS\HNS.data";
const FAULTS: &str = r"SOFTWARE\swdt-rehearsal\hns";
const BOOT: &str = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";

const UNAVAILABLE: Refusal = Refusal(0x8007_06ba, "The RPC server is unavailable. ");
const FAULT: Refusal = Refusal(0x8000_4005, "Unspecified error ");
const DAMAGED: Refusal = Refusal(0x8007_000d, "The data is invalid. ");

/// This machine.
pub(crate) struct This;

impl Machine for This {
    fn new_id(&self) -> String {
        let mut id = GUID::default();
        // SAFETY: one GUID is written to.
        unsafe { CoCreateGuid(&raw mut id) };
        text_of(&id)
    }

    fn address(&self, adapter: Option<&str>) -> Option<String> {
        let adapters = adapters::all().ok()?;
        let chosen = adapters.iter().filter(|one| adapter.is_none_or(|name| one.name == name));
        let addresses = chosen.flat_map(|one| one.addresses.iter());
        let usable = |ip: &IpAddr| ip.is_ipv4() && !ip.is_loopback();
        addresses.map(|(ip, _)| *ip).find(usable).map(|ip| ip.to_string())
    }
}

/// Lets something be done with all that is remembered, by one program at a time, and remembers what it changed.
pub(crate) fn with_state<T>(call: &str, act: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
    if !runs() {
        return Err(UNAVAILABLE);
    }
    let fault = LOCAL_MACHINE.open(FAULTS).and_then(|key| key.get_string("Fail"));
    if fault.is_ok_and(|name| name == call) {
        return Err(FAULT);
    }
    let _turn = Turn::take();
    let boot = LOCAL_MACHINE.open(BOOT).and_then(|key| key.get_u32("BootId")).unwrap_or(0);
    let was = match fs::read(FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(_) => return Err(DAMAGED),
    };
    let state = if was.is_empty() { Ok(State::default()) } else { serde_json::from_slice(&was) };
    let mut state = state.map_err(|_| DAMAGED)?.since(boot);
    let done = act(&mut state)?;
    save(&state, &was).map_err(|_| FAULT)?;
    Ok(done)
}

/// With nothing to remember there is no file.
fn save(state: &State, was: &[u8]) -> io::Result<()> {
    if state.is_empty() {
        for gone in [fs::remove_file(FILE), fs::remove_dir(DIR)] {
            gone.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        }
        return Ok(());
    }
    let bytes = serde_json::to_vec_pretty(state)?;
    if bytes == was {
        return Ok(());
    }
    fs::create_dir_all(DIR)?;
    let new = Path::new(FILE).with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(new, FILE)
}

/// Does the service run?
fn runs() -> bool {
    let state = ServiceManager::local_computer(None::<&str>, ServiceManagerAccess::CONNECT)
        .and_then(|manager| manager.open_service("hns", ServiceAccess::QUERY_STATUS))
        .and_then(|service| service.query_status());
    state.is_ok_and(|status| status.current_state == ServiceState::Running)
}

/// A turn at the file, among all processes.
struct Turn(HANDLE);

impl Turn {
    fn take() -> Self {
        let name: Vec<u16> = "Global\\swdt-rehearsal-hns\0".encode_utf16().collect();
        // SAFETY: the name ends with a zero.
        let mutex = unsafe { CreateMutexW(null(), 0, name.as_ptr()) };
        // SAFETY: a handle of ours. A turn that a dead program left is ours too: files are replaced whole.
        unsafe { WaitForSingleObject(mutex, INFINITE) };
        Self(mutex)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // SAFETY: taken by this thread, closed once.
        unsafe {
            ReleaseMutex(self.0);
            CloseHandle(self.0);
        }
    }
}

/// `0E2A…-…` in capital letters.
pub(crate) fn text_of(id: &GUID) -> String {
    let tail = u64::from_be_bytes(id.data4);
    format!(
        "{:08X}-{:04X}-{:04X}-{:04X}-{:012X}",
        id.data1,
        id.data2,
        id.data3,
        tail >> 48,
        tail & 0xffff_ffff_ffff
    )
}

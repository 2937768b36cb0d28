//! The machine.

use std::{io, path::Path, ptr::null_mut};

use windows_sys::Win32::{
    Storage::FileSystem::{GetDiskFreeSpaceExW, GetDriveTypeW, GetLogicalDrives},
    System::SystemInformation::{
        ComputerNamePhysicalDnsHostname, GetComputerNameExW, GetPhysicallyInstalledSystemMemory,
        GlobalMemoryStatusEx, MEMORYSTATUSEX, SetComputerNameExW,
    },
    System::Threading::{IsProcessorFeaturePresent, PF_VIRT_FIRMWARE_ENABLED},
    UI::WindowsAndMessaging::{HWND_BROADCAST, SMTO_ABORTIFHUNG, SendMessageTimeoutW, WM_SETTINGCHANGE},
};

use crate::wide;

/// What `GetDriveTypeW` answers for a disk that stays.
const DRIVE_FIXED: u32 = 3;

/// Bytes of memory: what is built in where the firmware tells, otherwise what Windows can use.
pub fn memory() -> u64 {
    let mut kilobytes = 0;
    // SAFETY: one number is written to.
    if unsafe { GetPhysicallyInstalledSystemMemory(&raw mut kilobytes) } != 0 {
        return kilobytes << 10;
    }
    // SAFETY: a plain structure of numbers, for which zero is a value.
    let mut status: MEMORYSTATUSEX = unsafe { std::mem::zeroed() };
    status.dwLength = u32::try_from(size_of::<MEMORYSTATUSEX>()).unwrap_or(0);
    // SAFETY: the structure says its own length.
    if unsafe { GlobalMemoryStatusEx(&raw mut status) } == 0 { 0 } else { status.ullTotalPhys }
}

/// Disks that stay: `C:\`, …
pub fn disks() -> Vec<String> {
    // SAFETY: no arguments.
    let drives = unsafe { GetLogicalDrives() };
    let names = ('A'..='Z').enumerate().filter(|(bit, _)| drives & (1 << bit) != 0);
    names
        .map(|(_, letter)| format!("{letter}:\\"))
        // SAFETY: the name ends with a zero.
        .filter(|disk| unsafe { GetDriveTypeW(wide(disk).as_ptr()) } == DRIVE_FIXED)
        .collect()
}

/// Size and free bytes of the disk a path is on.
pub fn disk_space(path: &Path) -> io::Result<(u64, u64)> {
    let (name, mut size, mut free) = (wide(path), 0, 0);
    // SAFETY: the name ends with a zero; two numbers are written to.
    let asked = unsafe { GetDiskFreeSpaceExW(name.as_ptr(), null_mut(), &raw mut size, &raw mut free) };
    if asked == 0 { Err(io::Error::last_os_error()) } else { Ok((size, free)) }
}

/// The machine's name now.
pub fn computer_name() -> io::Result<String> {
    let mut buffer = [0; 256];
    let mut length = 256;
    // SAFETY: the buffer is as long as said.
    let asked =
        unsafe { GetComputerNameExW(ComputerNamePhysicalDnsHostname, buffer.as_mut_ptr(), &raw mut length) };
    if asked == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(String::from_utf16_lossy(&buffer[..length as usize]))
}

/// The machine's name after the next restart.
pub fn set_computer_name(name: &str) -> io::Result<()> {
    let name = wide(name);
    // SAFETY: the name ends with a zero.
    let set = unsafe { SetComputerNameExW(ComputerNamePhysicalDnsHostname, name.as_ptr()) };
    if set == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Tells running programs that the environment of the machine changed.
pub fn announce_environment() {
    let what = wide("Environment");
    // SAFETY: the text outlives the call, which waits for a second at most for each window.
    unsafe {
        SendMessageTimeoutW(
            HWND_BROADCAST,
            WM_SETTINGCHANGE,
            0,
            what.as_ptr().expose_provenance().cast_signed(),
            SMTO_ABORTIFHUNG,
            1000,
            null_mut(),
        )
    };
}

/// Can this machine run virtual machines of its own?
pub fn can_virtualize() -> bool {
    // SAFETY: a number is asked about a number.
    unsafe { IsProcessorFeaturePresent(PF_VIRT_FIRMWARE_ENABLED) != 0 }
}

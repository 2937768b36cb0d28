//! The one account that every Windows has, by whatever name: the administrator with number 500.

use std::{
    io,
    ptr::{null, null_mut},
};

use windows_sys::Win32::{
    NetworkManagement::NetManagement::{NetUserSetInfo, USER_INFO_0, USER_INFO_1003},
    Security::{
        CreateWellKnownSid,
        Cryptography::{BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom},
        LookupAccountNameW, LookupAccountSidW, SECURITY_MAX_SID_SIZE, WinAccountAdministratorSid,
    },
    System::SystemInformation::{ComputerNameNetBIOS, GetComputerNameExW},
};

use crate::wide;

/// Names of accounts and machines are shorter.
const LONGEST: u32 = 512;

/// Room for any SID, aligned as one must be.
type Sid = [u64; (SECURITY_MAX_SID_SIZE as usize).div_ceil(8)];

/// The name of the administrator with number 500. It differs with the language of Windows.
pub fn administrator() -> io::Result<String> {
    let machine = machine_sid()?;
    let mut sid = Sid::default();
    let mut size = u32::try_from(size_of::<Sid>()).unwrap_or(0);
    // SAFETY: both are large enough for any SID; the first one is valid.
    let made = unsafe {
        CreateWellKnownSid(
            WinAccountAdministratorSid,
            machine.as_ptr().cast_mut().cast(),
            sid.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    if made == 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut name, mut domain) = ([0_u16; LONGEST as usize], [0_u16; LONGEST as usize]);
    let (mut name_size, mut domain_size, mut kind) = (LONGEST, LONGEST, 0);
    // SAFETY: the SID is valid; the buffers are as long as said.
    let found = unsafe {
        LookupAccountSidW(
            null(),
            sid.as_mut_ptr().cast(),
            name.as_mut_ptr(),
            &raw mut name_size,
            domain.as_mut_ptr(),
            &raw mut domain_size,
            &raw mut kind,
        )
    };
    if found == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(String::from_utf16_lossy(&name[..name_size as usize]))
}

/// What the SIDs of all accounts of this machine begin with.
fn machine_sid() -> io::Result<Sid> {
    let (mut computer, mut length) = ([0_u16; LONGEST as usize], LONGEST);
    // SAFETY: the buffer is as long as said.
    if unsafe { GetComputerNameExW(ComputerNameNetBIOS, computer.as_mut_ptr(), &raw mut length) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let mut sid = Sid::default();
    let mut size = u32::try_from(size_of::<Sid>()).unwrap_or(0);
    let mut domain = [0_u16; LONGEST as usize];
    let (mut domain_size, mut kind) = (LONGEST, 0);
    // SAFETY: the name ends with a zero; the buffers are as long as said.
    let found = unsafe {
        LookupAccountNameW(
            null(),
            computer.as_ptr(),
            sid.as_mut_ptr().cast(),
            &raw mut size,
            domain.as_mut_ptr(),
            &raw mut domain_size,
            &raw mut kind,
        )
    };
    if found == 0 { Err(io::Error::last_os_error()) } else { Ok(sid) }
}

/// Gives an account of this machine another name.
pub fn rename(name: &str, to: &str) -> io::Result<()> {
    let mut to = wide(to);
    let info = USER_INFO_0 { usri0_name: to.as_mut_ptr() };
    set(name, 0, (&raw const info).cast())
}

/// Of passwords: six bits each.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Gives an account of this machine a password that nobody knows, and nobody is told.
pub fn forget_password(name: &str) -> io::Result<()> {
    let mut random = [0_u8; 48];
    // SAFETY: the buffer is as long as said; Windows' own generator is asked for.
    let status =
        unsafe { BCryptGenRandom(null_mut(), random.as_mut_ptr(), 48, BCRYPT_USE_SYSTEM_PREFERRED_RNG) };
    if status != 0 {
        return Err(io::Error::other(format!("Windows has no random numbers: {status:#x}")));
    }
    // At its end one letter of each kind, which is what policies ask for.
    let letters = random.iter().map(|byte| LETTERS[usize::from(byte & 63)]);
    let mut password: Vec<u16> = letters.chain(*b"aA1!").map(u16::from).chain([0]).collect();
    let info = USER_INFO_1003 { usri1003_password: password.as_mut_ptr() };
    let done = set(name, 1003, (&raw const info).cast());
    password.fill(0);
    done
}

fn set(name: &str, level: u32, info: *const u8) -> io::Result<()> {
    let name = wide(name);
    // SAFETY: the name ends with a zero; `info` is the structure of that level, and its text outlives the call.
    match unsafe { NetUserSetInfo(null(), name.as_ptr(), level, info, null_mut()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.cast_signed())),
    }
}

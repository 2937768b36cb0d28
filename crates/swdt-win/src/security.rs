//! Who may do what with a file, as a text in Windows' own language (SDDL).

use std::{
    ffi::c_void,
    io,
    path::Path,
    ptr::{null, null_mut},
};

use windows_sys::Win32::{
    Foundation::{ERROR_SUCCESS, LocalFree},
    Security::{
        ACL,
        Authorization::{
            ConvertSecurityDescriptorToStringSecurityDescriptorW,
            ConvertStringSecurityDescriptorToSecurityDescriptorW, GetNamedSecurityInfoW, SDDL_REVISION_1,
            SE_FILE_OBJECT, SetNamedSecurityInfoW,
        },
        DACL_SECURITY_INFORMATION, GetSecurityDescriptorDacl, OWNER_SECURITY_INFORMATION,
        PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, SECURITY_ATTRIBUTES, SetFileSecurityW,
        UNPROTECTED_DACL_SECURITY_INFORMATION,
    },
    Storage::FileSystem::CreateDirectoryW,
};

use crate::wide;

/// Memory that Windows allocated for us.
struct Local(*mut c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a function that says to free it so, and is freed once.
        unsafe { LocalFree(self.0) };
    }
}

/// Owner and access list of a file or directory: `O:BAD:P(A;;FA;;;BA)…`.
pub fn of(path: &Path) -> io::Result<String> {
    let name = wide(path);
    let parts = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    let mut descriptor: PSECURITY_DESCRIPTOR = null_mut();
    // SAFETY: the name ends with a zero, and the descriptor is the only thing asked for.
    let code = unsafe {
        GetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            parts,
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
            &raw mut descriptor,
        )
    };
    if code != ERROR_SUCCESS {
        return Err(io::Error::from_raw_os_error(code.cast_signed()));
    }
    let descriptor = Local(descriptor);
    let (mut text, mut length) = (null_mut(), 0);
    // SAFETY: the descriptor is a valid one from above; text and length are written to.
    let done = unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor.0,
            SDDL_REVISION_1,
            parts,
            &raw mut text,
            &raw mut length,
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let text = Local(text.cast());
    // SAFETY: Windows wrote `length` characters there, the zero included.
    let characters = unsafe { std::slice::from_raw_parts(text.0.cast::<u16>(), length as usize) };
    Ok(String::from_utf16_lossy(characters).trim_end_matches('\0').to_owned())
}

/// Gives a file or directory exactly this access list; nothing is inherited any more.
pub fn protect(path: &Path, sddl: &str) -> io::Result<()> {
    if path.is_dir() {
        return set(path, PROTECTED_DACL_SECURITY_INFORMATION, sddl);
    }
    // A file has nothing to hand its list on to, so the plainer call does; Wine merges what is inherited into
    // the list of the other one.
    let (descriptor, name) = (parse(sddl)?, wide(path));
    // SAFETY: name and descriptor are valid during the call.
    let done = unsafe { SetFileSecurityW(name.as_ptr(), DACL_SECURITY_INFORMATION, descriptor.0) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn set(path: &Path, how: u32, sddl: &str) -> io::Result<()> {
    let descriptor = parse(sddl)?;
    let name = wide(path);
    let (mut present, mut defaulted) = (0, 0);
    let mut list: *mut ACL = null_mut();
    // SAFETY: the descriptor is valid and outlives the list, which points into it.
    let found = unsafe {
        GetSecurityDescriptorDacl(descriptor.0, &raw mut present, &raw mut list, &raw mut defaulted)
    };
    if found == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the name ends with a zero; only the access list is set.
    let code = unsafe {
        SetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION | how,
            null_mut(),
            null_mut(),
            list,
            null(),
        )
    };
    if code == ERROR_SUCCESS { Ok(()) } else { Err(io::Error::from_raw_os_error(code.cast_signed())) }
}

/// Takes a file's own access list away: it has what its directory hands on.
pub fn inherit(path: &Path) -> io::Result<()> {
    set(path, UNPROTECTED_DACL_SECURITY_INFORMATION, "D:")
}

/// Makes one directory that has this access list from its first moment.
pub fn create_dir(path: &Path, sddl: &str) -> io::Result<()> {
    let descriptor = parse(sddl)?;
    let name = wide(path);
    let attributes = SECURITY_ATTRIBUTES {
        nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or(0),
        lpSecurityDescriptor: descriptor.0,
        bInheritHandle: 0,
    };
    // SAFETY: name and attributes are valid during the call.
    let made = unsafe { CreateDirectoryW(name.as_ptr(), &raw const attributes) };
    if made == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn parse(sddl: &str) -> io::Result<Local> {
    let text = wide(sddl);
    let mut descriptor: PSECURITY_DESCRIPTOR = null_mut();
    // SAFETY: the text ends with a zero; the descriptor is written to.
    let done = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            null_mut(),
        )
    };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(Local(descriptor)) }
}

//! This process.

use std::{
    fs::File,
    io,
    os::windows::io::{AsRawHandle, IntoRawHandle},
    ptr::null_mut,
};

use windows_sys::Win32::{
    Foundation::{CloseHandle, HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation},
    Security::{GetTokenInformation, TOKEN_ELEVATION, TOKEN_QUERY, TokenElevation},
    System::{
        Console::{
            GetStdHandle, STD_ERROR_HANDLE, STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle,
        },
        JobObjects::{
            IsProcessInJob, JOB_OBJECT_LIMIT_BREAKAWAY_OK, JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK,
            JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
            QueryInformationJobObject,
        },
        Threading::{GetCurrentProcess, OpenProcessToken},
    },
};

/// Does it have an administrator's full rights?
pub fn elevated() -> bool {
    let mut token: HANDLE = null_mut();
    // SAFETY: asks for the token of this very process.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return false;
    }
    let mut elevation = TOKEN_ELEVATION { TokenIsElevated: 0 };
    let mut length = 0;
    // SAFETY: the buffer is as long as said.
    let asked = unsafe {
        GetTokenInformation(
            token,
            TokenElevation,
            (&raw mut elevation).cast(),
            u32::try_from(size_of::<TOKEN_ELEVATION>()).unwrap_or(0),
            &raw mut length,
        )
    };
    // SAFETY: opened above, closed once.
    unsafe { CloseHandle(token) };
    asked != 0 && elevation.TokenIsElevated != 0
}

/// May a child leave the job of this process? Also if there is no job to leave.
pub fn may_break_away() -> bool {
    let mut inside = 0;
    // SAFETY: asks about this very process and any job.
    let asked = unsafe { IsProcessInJob(GetCurrentProcess(), null_mut(), &raw mut inside) };
    if asked == 0 || inside == 0 {
        return asked != 0;
    }
    // SAFETY: a plain structure of numbers, for which zero is a value.
    let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
    // SAFETY: the buffer is as long as said; no job means the one of this process.
    let asked = unsafe {
        QueryInformationJobObject(
            null_mut(),
            JobObjectExtendedLimitInformation,
            (&raw mut limits).cast(),
            u32::try_from(size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>()).unwrap_or(0),
            null_mut(),
        )
    };
    let ways_out = JOB_OBJECT_LIMIT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;
    asked != 0 && limits.BasicLimitInformation.LimitFlags & ways_out != 0
}

/// Keeps our standard streams from children. Windows hands on whatever can be inherited, and a connection
/// would stay open while a child holds its pipe.
pub fn keep_streams() {
    for stream in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: a handle that is none is refused by the call.
        unsafe { SetHandleInformation(GetStdHandle(stream), HANDLE_FLAG_INHERIT, 0) };
    }
}

/// From now on, standard error goes into this file.
pub fn redirect_errors(to: &File) -> io::Result<()> {
    redirect(STD_ERROR_HANDLE, to.try_clone()?)
}

/// From now on, standard output goes into this file.
pub fn redirect_output(to: File) -> io::Result<()> {
    redirect(STD_OUTPUT_HANDLE, to)
}

fn redirect(stream: STD_HANDLE, to: File) -> io::Result<()> {
    // SAFETY: the handle is open, and stays so for the rest of the process.
    if unsafe { SetStdHandle(stream, to.as_raw_handle()) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let _ = to.into_raw_handle();
    Ok(())
}

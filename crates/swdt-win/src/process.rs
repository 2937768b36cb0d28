//! This process.

use std::{
    fs::File,
    io,
    os::windows::{
        io::{AsRawHandle, IntoRawHandle},
        process::CommandExt,
    },
    process::{Child, Command},
    ptr::{null, null_mut},
};

use windows_sys::Win32::{
    Foundation::{CloseHandle, HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation},
    Security::{
        CheckTokenMembership, CreateWellKnownSid, SECURITY_MAX_SID_SIZE, WinBuiltinAdministratorsSid,
    },
    System::{
        Console::{
            AllocConsole, CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent, GetStdHandle, STD_ERROR_HANDLE,
            STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle,
        },
        JobObjects::{
            AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_BREAKAWAY_OK,
            JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK,
            JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
        },
        Threading::{
            CREATE_NEW_PROCESS_GROUP, GetCurrentProcess, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
            QueryFullProcessImageNameW,
        },
        WindowsProgramming::GetUserNameW,
    },
};

/// Does it have an administrator's full rights? A token that was cut down does not count.
pub fn elevated() -> bool {
    let mut sid = [0_u8; SECURITY_MAX_SID_SIZE as usize];
    let mut length = SECURITY_MAX_SID_SIZE;
    // SAFETY: the buffer is as long as said.
    let made = unsafe {
        CreateWellKnownSid(WinBuiltinAdministratorsSid, null_mut(), sid.as_mut_ptr().cast(), &raw mut length)
    };
    let mut member = 0;
    // SAFETY: the identifier was just made; no token means the one of this thread.
    made != 0
        && unsafe { CheckTokenMembership(null_mut(), sid.as_mut_ptr().cast(), &raw mut member) } != 0
        && member != 0
}

/// Whose process it is: the name of the user.
pub fn user() -> io::Result<String> {
    let mut buffer = [0; 257];
    let mut length = 257;
    // SAFETY: the buffer is as long as said.
    if unsafe { GetUserNameW(buffer.as_mut_ptr(), &raw mut length) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // The zero at its end is counted.
    Ok(String::from_utf16_lossy(&buffer[..(length as usize).saturating_sub(1)]))
}

/// The program of a process; none where it may not be asked for, or is gone.
pub fn program_of(id: u32) -> Option<String> {
    // SAFETY: no pointers; a handle that is none is looked for below.
    let process = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, id) };
    if process.is_null() {
        return None;
    }
    let mut buffer = [0; 1024];
    let mut length = 1024;
    // SAFETY: the buffer is as long as said, and the handle was just opened.
    let asked = unsafe { QueryFullProcessImageNameW(process, 0, buffer.as_mut_ptr(), &raw mut length) };
    // SAFETY: the handle was opened above and is closed once.
    unsafe { CloseHandle(process) };
    (asked != 0).then(|| String::from_utf16_lossy(&buffer[..length as usize]))
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

/// Makes a console that nobody sees, unless there is one.
pub fn make_console() {
    // SAFETY: no arguments. Refused where there is one.
    unsafe { AllocConsole() };
}

/// The process gets a group of its own, so that it can be interrupted alone.
pub fn own_group(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Asks the group of a process to stop, as Ctrl-Break does. It must share our console.
pub fn interrupt(group: u32) {
    // SAFETY: two numbers. A group that is gone is refused.
    unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group) };
}

/// Ends a child when this process ends, however that happens. The child's own children go free: containers
/// outlive the program that started them.
pub fn tie(child: &Child) -> io::Result<()> {
    join_job(child.as_raw_handle(), JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK)
}

/// Ends all that this process starts when it ends, except what asks to be let out.
pub fn enclose() -> io::Result<()> {
    // SAFETY: no arguments; the answer is a constant that means this process.
    join_job(unsafe { GetCurrentProcess() }, JOB_OBJECT_LIMIT_BREAKAWAY_OK)
}

/// Puts a process into a job that ends with us.
fn join_job(process: HANDLE, way_out: u32) -> io::Result<()> {
    // SAFETY: a plain structure of numbers, for which zero is a value.
    let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | way_out;
    // SAFETY: a job without a name; its handle stays open for the rest of this process, on purpose.
    let job = unsafe { CreateJobObjectW(null(), null()) };
    if job.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the buffer is as long as said, and both handles are open.
    let joined = unsafe {
        SetInformationJobObject(
            job,
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            u32::try_from(size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>()).unwrap_or(0),
        ) != 0
            && AssignProcessToJobObject(job, process) != 0
    };
    if joined { Ok(()) } else { Err(io::Error::last_os_error()) }
}

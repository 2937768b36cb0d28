//! The way in for a program that Windows starts as a service, and what windows-service cannot change.

use std::{
    ffi::OsString,
    io,
    ptr::{null, null_mut},
    sync::{
        OnceLock,
        mpsc::{self, Receiver},
    },
    time::Duration,
};

use windows_service::{
    define_windows_service,
    service::{
        ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
    },
    service_control_handler::{self, ServiceControlHandlerResult, ServiceStatusHandle},
    service_dispatcher,
};
use windows_sys::Win32::System::Services::{
    ChangeServiceConfigW, CloseServiceHandle, OpenSCManagerW, OpenServiceW, SC_HANDLE, SC_MANAGER_CONNECT,
    SERVICE_CHANGE_CONFIG, SERVICE_NO_CHANGE,
};

use crate::wide;

/// What a service does: works until told to stop, and gives an exit code.
pub type Work = fn(name: &str, told_to_stop: &Receiver<()>, phase: &Phase) -> u32;

/// Tells Windows how far the service is.
pub struct Phase(ServiceStatusHandle);

/// How long a phase may take before Windows thinks that the service hangs.
const PATIENCE: Duration = Duration::from_mins(1);

static JOB: OnceLock<(String, Work)> = OnceLock::new();

/// Changes when a service starts (`SERVICE_AUTO_START`, …) and nothing else of it.
pub fn set_start(name: &str, start: u32) -> io::Result<()> {
    let name = wide(name);
    // SAFETY: no names: this machine, and its services.
    let manager = Handle::new(unsafe { OpenSCManagerW(null(), null(), SC_MANAGER_CONNECT) })?;
    // SAFETY: the handle is open; the name ends with a zero.
    let service = Handle::new(unsafe { OpenServiceW(manager.0, name.as_ptr(), SERVICE_CHANGE_CONFIG) })?;
    // SAFETY: the handle is open; what is null is left as it is.
    let changed = unsafe {
        ChangeServiceConfigW(
            service.0,
            SERVICE_NO_CHANGE,
            start,
            SERVICE_NO_CHANGE,
            null(),
            null(),
            null_mut(),
            null(),
            null(),
            null(),
            null(),
        )
    };
    if changed == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Of the service manager; closed when it goes.
struct Handle(SC_HANDLE);

impl Handle {
    fn new(handle: SC_HANDLE) -> io::Result<Self> {
        if handle.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self(handle)) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it is open, and closed once.
        unsafe { CloseServiceHandle(self.0) };
    }
}

define_windows_service!(entered, service_main);

/// Hands this process to Windows as the service of that name; returns when the service has stopped. Fails
/// where Windows did not start this process as a service.
pub fn run(name: &str, work: Work) -> io::Result<()> {
    let _ = JOB.set((name.to_owned(), work));
    service_dispatcher::start(name, entered).map_err(io::Error::other)
}

fn service_main(_arguments: Vec<OsString>) {
    let Some((name, work)) = JOB.get() else { return };
    let (stop, told_to_stop) = mpsc::channel();
    let handler = move |control| match control {
        ServiceControl::Stop | ServiceControl::Shutdown | ServiceControl::Preshutdown => {
            // Told twice, it stops once.
            let _ = stop.send(());
            ServiceControlHandlerResult::NoError
        }
        ServiceControl::Interrogate => ServiceControlHandlerResult::NoError,
        _ => ServiceControlHandlerResult::NotImplemented,
    };
    let Ok(handle) = service_control_handler::register(name, handler) else { return };
    let phase = Phase(handle);
    phase.tell(ServiceState::Running, ServiceExitCode::NO_ERROR);
    let code = work(name, &told_to_stop, &phase);
    let code = if code == 0 { ServiceExitCode::NO_ERROR } else { ServiceExitCode::ServiceSpecific(code) };
    phase.tell(ServiceState::Stopped, code);
}

impl Phase {
    /// The service is about to stop.
    pub fn stopping(&self) {
        self.tell(ServiceState::StopPending, ServiceExitCode::NO_ERROR);
    }

    fn tell(&self, state: ServiceState, exit_code: ServiceExitCode) {
        let accepted = match state {
            ServiceState::Running => ServiceControlAccept::STOP | ServiceControlAccept::SHUTDOWN,
            _ => ServiceControlAccept::empty(),
        };
        let wait_hint = if state == ServiceState::StopPending { PATIENCE } else { Duration::ZERO };
        // Windows that does not listen cannot be helped.
        let _ = self.0.set_service_status(ServiceStatus {
            service_type: ServiceType::OWN_PROCESS,
            current_state: state,
            controls_accepted: accepted,
            exit_code,
            checkpoint: 0,
            wait_hint,
            process_id: None,
        });
    }
}

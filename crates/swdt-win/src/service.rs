//! The way in for a program that Windows starts as a service.

use std::{
    ffi::OsString,
    io,
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

/// What a service does: works until told to stop, and gives an exit code.
pub type Work = fn(name: &str, told_to_stop: &Receiver<()>, phase: &Phase) -> u32;

/// Tells Windows how far the service is.
pub struct Phase(ServiceStatusHandle);

/// How long a phase may take before Windows thinks that the service hangs.
const PATIENCE: Duration = Duration::from_mins(1);

static JOB: OnceLock<(String, Work)> = OnceLock::new();

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

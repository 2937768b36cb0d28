//! The service manager: what services of ours and those of Windows have in common.

use std::{
    ffi::OsStr,
    time::{Duration, Instant},
};

use windows_service::{
    Error as Trouble,
    service::{Service, ServiceAccess, ServiceExitCode, ServiceState},
    service_manager::{ServiceManager, ServiceManagerAccess},
};

use super::hints;
use crate::{Ctx, Error, Result, host, registry};

/// How long a service may take to start or stop.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
pub(super) const PAUSE: Duration = Duration::from_millis(100);

const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";

/// `ERROR_SERVICE_DOES_NOT_EXIST`, `ERROR_SERVICE_MARKED_FOR_DELETE`, `ERROR_SERVICE_NOT_ACTIVE`.
const ABSENT: i32 = 1060;
const GOING: i32 = 1072;
const STOPPED: i32 = 1062;
/// `ERROR_PROCESS_ABORTED`, `ERROR_SERVICE_REQUEST_TIMEOUT`.
const ENDED: i32 = 1067;
const SLOW: i32 = 1053;

pub(super) fn manager(access: ServiceManagerAccess) -> Result<ServiceManager> {
    ServiceManager::local_computer(None::<&OsStr>, access).map_err(|error| {
        let hint = code(&error).and_then(|code| hints::of_service(code, "NAME"));
        Error {
            message: format!("cannot reach the service manager: {}", words(&error)),
            output: Vec::new(),
            hint,
        }
    })
}

/// The service; none when there is none, or none any more.
pub(super) fn open(name: &str) -> Result<Option<Service>> {
    match manager(ServiceManagerAccess::CONNECT)?.open_service(name, ServiceAccess::all()) {
        Ok(service) => Ok(Some(service)),
        Err(error) if matches!(code(&error), Some(ABSENT | GOING)) => Ok(None),
        Err(error) => Err(trouble(name, "look at", &error)),
    }
}

fn code(error: &Trouble) -> Option<i32> {
    match error {
        Trouble::Winapi(error) => error.raw_os_error(),
        _ => None,
    }
}

fn words(error: &Trouble) -> String {
    match error {
        Trouble::Winapi(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// What went wrong with a service, with the last lines of its log, which say why, and what to do.
pub(super) fn trouble(name: &str, what: &str, error: &Trouble) -> Error {
    Error {
        message: format!("cannot {what} the service {name}: {}", words(error)),
        output: host::last_words(name),
        hint: code(error).and_then(|code| hints::of_service(code, name)),
    }
}

pub(super) fn state(name: &str, service: &Service) -> Result<ServiceState> {
    let status = service.query_status().map_err(|error| trouble(name, "look at", &error))?;
    Ok(status.current_state)
}

/// Starts it and waits until it runs.
pub(super) fn start(ctx: &Ctx, name: &str, service: &Service) -> Result<()> {
    ctx.count_write();
    service.start::<&OsStr>(&[]).map_err(|error| trouble(name, "start", &error))?;
    wait(ctx, name, service, ServiceState::Running)
}

/// Stops it and waits until it has, and before it those that need it; nothing to do where it has already.
pub(super) fn stop(ctx: &Ctx, name: &str, service: &Service) -> Result<()> {
    for dependent in dependents(name) {
        if let Some(service) = open(&dependent)? {
            stop(ctx, &dependent, &service)?;
        }
    }
    if state(name, service)? == ServiceState::Stopped {
        return Ok(());
    }
    ctx.count_write();
    match service.stop() {
        Err(error) if code(&error) != Some(STOPPED) => return Err(trouble(name, "stop", &error)),
        _ => {}
    }
    wait(ctx, name, service, ServiceState::Stopped)
}

/// Services that need this one. The service manager of Wine does not tell them, but writes them down.
fn dependents(name: &str) -> Vec<String> {
    let needs = |other: &String| {
        let key = format!(r"{SERVICES}\{other}");
        let needed = registry::read(&key, "DependOnService").ok().flatten().map(|raw| raw.items());
        needed.unwrap_or_default().iter().any(|needed| needed.eq_ignore_ascii_case(name))
    };
    registry::keys(SERVICES).into_iter().filter(needs).collect()
}

fn wait(ctx: &Ctx, name: &str, service: &Service, wanted: ServiceState) -> Result<()> {
    let begun = Instant::now();
    loop {
        let status = service.query_status().map_err(|error| trouble(name, "look at", &error))?;
        let now = status.current_state;
        if now == wanted {
            return Ok(());
        }
        // A service that died stays stopped: there is nothing to wait for.
        let died = wanted == ServiceState::Running && now == ServiceState::Stopped;
        if !died && begun.elapsed() < PATIENCE {
            ctx.pause(PAUSE)?;
            continue;
        }
        let code = match status.exit_code {
            ServiceExitCode::Win32(code) if died => code.cast_signed(),
            _ if died => ENDED,
            _ => SLOW,
        };
        let seconds = begun.elapsed().as_secs();
        return Err(Error {
            message: format!("the service {name} is {now:?} and not {wanted:?} after {seconds} s"),
            output: host::last_words(name),
            hint: hints::of_service(code, name).or_else(|| hints::of_service(ENDED, name)),
        });
    }
}

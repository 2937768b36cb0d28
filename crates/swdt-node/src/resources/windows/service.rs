//! A service of Windows, through its service manager.

use std::{
    ffi::{OsStr, OsString},
    thread,
    time::{Duration, Instant},
};

use swdt_wire::{Prior, ServiceStart, Status, WindowsService};
use windows_service::{
    Error as Trouble,
    service::{
        Service, ServiceAccess, ServiceAction, ServiceActionType, ServiceDependency, ServiceErrorControl,
        ServiceFailureActions, ServiceFailureResetPeriod, ServiceInfo, ServiceStartType, ServiceState,
        ServiceType,
    },
    service_manager::{ServiceManager, ServiceManagerAccess},
};

use crate::{
    Ctx, Error, Result, host, os, registry,
    resources::{Behaviour, Reverted},
};

/// At the end of the description of every service of ours.
const MARK: &str = "(swdt)";

/// How long a service may take to start or stop.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long it must stay alive to count as started.
const SETTLE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

/// `ERROR_SERVICE_DOES_NOT_EXIST`, `ERROR_SERVICE_MARKED_FOR_DELETE`, `ERROR_SERVICE_NOT_ACTIVE`.
const ABSENT: i32 = 1060;
const GOING: i32 = 1072;
const STOPPED: i32 = 1062;

/// Is there a service of this name that is not ours?
pub fn is_of_somebody_else(name: &str) -> bool {
    let key = format!(r"SYSTEM\CurrentControlSet\Services\{name}");
    registry::has_key(&key) && !registry::text(&key, "Description").ends_with(MARK)
}

/// Does a service of that name run?
pub fn runs(name: &str) -> Result<bool> {
    let Some(service) = open(name)? else { return Ok(false) };
    Ok(state(name, &service)? == ServiceState::Running)
}

/// Starts a service that is there.
pub fn start_by_name(ctx: &Ctx, name: &str) -> Result<()> {
    match open(name)? {
        Some(service) => start(ctx, name, &service),
        None => Err(Error::new(format!("there is no service {name}"))),
    }
}

/// Stops a service, if there is one.
pub fn stop_by_name(ctx: &Ctx, name: &str) -> Result<()> {
    open(name)?.map_or(Ok(()), |service| stop(ctx, name, &service))
}

impl Behaviour for WindowsService {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        validate(self)?;
        let Some(service) = open(&self.name)? else { return Ok(Status::Differs("missing".into())) };
        let mut differs = shape(self, &service)?;
        let state = state(&self.name, &service)?;
        match (self.running, state) {
            (Some(true), ServiceState::Running) => {
                let changed = changed_since_start(ctx, self);
                if !changed.is_empty() {
                    differs.push(format!("started before {} changed", changed.join(", ")));
                }
            }
            (Some(true), _) => differs.push("not running".into()),
            (None, _) | (Some(false), ServiceState::Stopped) => {}
            (Some(false), _) => differs.push("running".into()),
        }
        Ok(if differs.is_empty() { Status::Satisfied } else { Status::Differs(differs.join("; ")) })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        if is_of_somebody_else(&self.name) {
            return Err(Error::new(format!("there is a service {} that swdt did not make", self.name))
                .hinted(format!(
                    "see what it is: sc.exe qc {0}; if it may go: sc.exe delete {0}",
                    self.name
                )));
        }
        Ok(Prior::WindowsService)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let service = match open(&self.name)? {
            Some(service) if shape(self, &service)?.is_empty() => service,
            Some(service) => {
                stop(ctx, &self.name, &service)?;
                ctx.count_write();
                service.change_config(&info(self)).map_err(|error| trouble(&self.name, "change", &error))?;
                decorate(ctx, self, &service)?;
                service
            }
            None => {
                ctx.count_write();
                let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
                let service = manager(access)?
                    .create_service(&info(self), ServiceAccess::all())
                    .map_err(|error| trouble(&self.name, "make", &error))?;
                decorate(ctx, self, &service)?;
                service
            }
        };
        match self.running {
            None => return Ok(()),
            Some(false) => return stop(ctx, &self.name, &service),
            Some(true) => {}
        }
        if !changed_since_start(ctx, self).is_empty() {
            stop(ctx, &self.name, &service)?;
        }
        start(ctx, &self.name, &service)
    }

    fn revert(&self, ctx: &Ctx, _prior: &Prior, _force: bool) -> Result<Reverted> {
        if is_of_somebody_else(&self.name) && !is_unfinished(self) {
            return Ok(Reverted::Kept(format!("the service {} is another than swdt made", self.name)));
        }
        let Some(service) = open(&self.name)? else { return Ok(Reverted::Yes) };
        stop(ctx, &self.name, &service)?;
        ctx.count_write();
        service.delete().map_err(|error| trouble(&self.name, "delete", &error))?;
        drop(service);
        host::forget(ctx, &self.name);
        let begun = Instant::now();
        // It goes when the last who looks at it lets go.
        while open(&self.name)?.is_some() && begun.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
        Ok(Reverted::Yes)
    }
}

/// Did a killed run make it, and not come to its description?
fn is_unfinished(it: &WindowsService) -> bool {
    let key = format!(r"SYSTEM\CurrentControlSet\Services\{}", it.name);
    registry::text(&key, "Description").is_empty() && registry::text(&key, "ImagePath") == command_line(it)
}

fn validate(it: &WindowsService) -> Result<()> {
    if !host::is_name(&it.name) {
        return Err(Error::new(format!("{:?} is no name of a service", it.name)));
    }
    if !os::is_plain(&it.program) {
        return Err(Error::new(format!("{:?} is no plain absolute path", it.program)));
    }
    if !it.description.ends_with(MARK) {
        return Err(Error::new(format!("the description of {} does not end with {MARK}", it.name)));
    }
    Ok(())
}

fn manager(access: ServiceManagerAccess) -> Result<ServiceManager> {
    ServiceManager::local_computer(None::<&OsStr>, access)
        .map_err(|error| Error::new(format!("cannot reach the service manager: {}", words(&error))))
}

/// The service; none when there is none, or none any more.
fn open(name: &str) -> Result<Option<Service>> {
    match manager(ServiceManagerAccess::CONNECT)?.open_service(name, ServiceAccess::all()) {
        Ok(service) => Ok(Some(service)),
        Err(error) if matches!(code(&error), Some(ABSENT | GOING)) => Ok(None),
        Err(error) => Err(Error::new(format!("cannot look at the service {name}: {}", words(&error)))),
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

fn trouble(name: &str, what: &str, error: &Trouble) -> Error {
    Error {
        message: format!("cannot {what} the service {name}: {}", words(error)),
        output: host::last_words(name),
        hint: None,
    }
}

fn info(it: &WindowsService) -> ServiceInfo {
    ServiceInfo {
        name: OsString::from(&it.name),
        display_name: OsString::from(&it.display_name),
        service_type: ServiceType::OWN_PROCESS,
        start_type: start_type(it.start),
        error_control: ServiceErrorControl::Normal,
        executable_path: it.program.clone().into(),
        launch_arguments: it.arguments.iter().map(OsString::from).collect(),
        dependencies: dependencies(it),
        account_name: None,
        account_password: None,
    }
}

fn dependencies(it: &WindowsService) -> Vec<ServiceDependency> {
    it.depends_on.iter().map(|name| ServiceDependency::Service(name.into())).collect()
}

fn start_type(start: ServiceStart) -> ServiceStartType {
    match start {
        ServiceStart::Automatic | ServiceStart::Delayed => ServiceStartType::AutoStart,
        ServiceStart::Manual => ServiceStartType::OnDemand,
    }
}

/// If the service host itself dies, Windows starts it again: at once, and then more slowly.
fn recovery() -> ServiceFailureActions {
    let after = |seconds| ServiceAction {
        action_type: ServiceActionType::Restart,
        delay: Duration::from_secs(seconds),
    };
    ServiceFailureActions {
        reset_period: ServiceFailureResetPeriod::After(Duration::from_mins(10)),
        reboot_msg: None,
        command: None,
        actions: Some(vec![after(1), after(10), after(60)]),
    }
}

/// What a service has besides its configuration. The description comes last: with it the service is ours.
fn decorate(ctx: &Ctx, it: &WindowsService, service: &Service) -> Result<()> {
    ctx.count_write();
    service.update_failure_actions(recovery()).map_err(|error| trouble(&it.name, "change", &error))?;
    if start_type(it.start) == ServiceStartType::AutoStart {
        let delayed = it.start == ServiceStart::Delayed;
        service.set_delayed_auto_start(delayed).map_err(|error| trouble(&it.name, "change", &error))?;
    }
    service.set_description(&it.description).map_err(|error| trouble(&it.name, "change", &error))
}

/// What of a service is not as it shall be, apart from whether it runs. What Windows does when it dies is set
/// but not compared: an administrator may want something else, and Wine forgets it.
fn shape(it: &WindowsService, service: &Service) -> Result<Vec<String>> {
    let config = service.query_config().map_err(|error| trouble(&it.name, "look at", &error))?;
    let key = format!(r"SYSTEM\CurrentControlSet\Services\{}", it.name);
    let delayed = registry::number(&key, "DelayedAutostart") != 0;
    let command = command_line(it);
    let mut differs = Vec::new();
    let mut unless = |same: bool, what: &str| {
        if !same {
            differs.push(what.to_owned());
        }
    };
    unless(config.executable_path.to_string_lossy() == command, "another command");
    unless(config.start_type == start_type(it.start), "another start type");
    unless(delayed == (it.start == ServiceStart::Delayed), "another start type");
    // The service manager of Wine does not tell them, but writes them down.
    let depends_on = registry::read(&key, "DependOnService")?.map(|raw| raw.items()).unwrap_or_default();
    unless(depends_on == it.depends_on, "other dependencies");
    unless(config.display_name == OsStr::new(&it.display_name), "another display name");
    unless(registry::text(&key, "Description") == it.description, "another description");
    differs.dedup();
    Ok(differs)
}

/// The command as the service manager keeps it: quoted where a word has a blank, as windows-service does.
fn command_line(it: &WindowsService) -> String {
    let quoted = |word: &String| {
        if word.is_empty() || word.contains([' ', '\t', '"']) {
            format!("\"{}\"", word.replace('"', "\\\""))
        } else {
            word.clone()
        }
    };
    std::iter::once(&it.program).chain(&it.arguments).map(quoted).collect::<Vec<_>>().join(" ")
}

fn state(name: &str, service: &Service) -> Result<ServiceState> {
    let status = service.query_status().map_err(|error| trouble(name, "look at", &error))?;
    Ok(status.current_state)
}

/// Files that changed after the service host started its program.
fn changed_since_start(ctx: &Ctx, it: &WindowsService) -> Vec<String> {
    let Ok(started) = os::stat(&host::started(ctx, &it.name)) else { return Vec::new() };
    let newer = |path: &&String| {
        os::stat(&ctx.path(path)).is_ok_and(|file| file.modified().max(file.changed()) > started.modified())
    };
    it.newer_than.iter().filter(newer).cloned().collect()
}

fn stop(ctx: &Ctx, name: &str, service: &Service) -> Result<()> {
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

fn start(ctx: &Ctx, name: &str, service: &Service) -> Result<()> {
    if state(name, service)? == ServiceState::Running {
        return Ok(());
    }
    ctx.count_write();
    service.start::<&OsStr>(&[]).map_err(|error| trouble(name, "start", &error))?;
    wait(ctx, name, service, ServiceState::Running)?;
    let begun = Instant::now();
    while begun.elapsed() < SETTLE {
        if state(name, service)? != ServiceState::Running || host::has_failed(ctx, name) {
            let message = format!("{name} was started but did not stay alive");
            return Err(
                Error { message, output: host::last_words(name), hint: None }.hinted("its log says more")
            );
        }
        ctx.pause(PAUSE)?;
    }
    Ok(())
}

fn wait(ctx: &Ctx, name: &str, service: &Service, wanted: ServiceState) -> Result<()> {
    let begun = Instant::now();
    while state(name, service)? != wanted {
        if begun.elapsed() > PATIENCE {
            let message = format!("the service {name} is not {wanted:?} after {} s", PATIENCE.as_secs());
            return Err(Error { message, output: host::last_words(name), hint: None });
        }
        ctx.pause(PAUSE)?;
    }
    Ok(())
}

//! A service of Windows, through its service manager.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use swdt_wire::{Prior, ServiceStart, Status, WindowsService};
use windows_service::{
    service::{
        Service, ServiceAccess, ServiceAction, ServiceActionType, ServiceDependency, ServiceErrorControl,
        ServiceFailureActions, ServiceFailureResetPeriod, ServiceInfo, ServiceStartType, ServiceState,
        ServiceType,
    },
    service_manager::ServiceManagerAccess,
};

use super::scm::{self, PATIENCE, PAUSE, trouble};
use crate::{
    Ctx, Error, Result, host, os, registry,
    resources::{Behaviour, Reverted},
};

/// At the end of the description of every service of ours.
pub const MARK: &str = "(swdt)";

/// How long it must stay alive to count as started.
const SETTLE: Duration = Duration::from_secs(2);

/// Is there a service of this name that is not ours?
fn is_of_somebody_else(name: &str) -> bool {
    let key = format!(r"SYSTEM\CurrentControlSet\Services\{name}");
    registry::has_key(&key) && !registry::text(&key, "Description").ends_with(MARK)
}

/// Stops a service, if there is one.
pub fn stop_by_name(ctx: &Ctx, name: &str) -> Result<()> {
    scm::open(name)?.map_or(Ok(()), |service| scm::stop(ctx, name, &service))
}

/// Stops what runs this program, for a program that runs cannot be replaced. Whoever wants those services to run
/// starts them again.
pub fn release(ctx: &Ctx, program: &str) -> Result<()> {
    running(&ctx.path(program)).iter().try_for_each(|name| stop_by_name(ctx, name))
}

/// Services that run this program, by themselves or through the service host.
pub(crate) fn running(program: &Path) -> Vec<String> {
    let program = program.to_string_lossy().to_lowercase();
    let ctx = Ctx::new(os::ROOT);
    let runs = |name: &String| {
        let command = registry::text(&format!(r"SYSTEM\CurrentControlSet\Services\{name}"), "ImagePath");
        command.to_lowercase().contains(&program)
            || host::load(&ctx, name).is_ok_and(|host| host.program.to_lowercase() == program)
    };
    registry::keys(r"SYSTEM\CurrentControlSet\Services").into_iter().filter(runs).collect()
}

impl Behaviour for WindowsService {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        validate(self)?;
        let Some(service) = scm::open(&self.name)? else { return Ok(Status::Differs("missing".into())) };
        let mut differs = shape(self, &service)?;
        let state = scm::state(&self.name, &service)?;
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
        let service = match scm::open(&self.name)? {
            Some(service) if shape(self, &service)?.is_empty() => service,
            Some(service) => {
                scm::stop(ctx, &self.name, &service)?;
                ctx.count_write();
                service.change_config(&info(self)).map_err(|error| trouble(&self.name, "change", &error))?;
                decorate(ctx, self, &service)?;
                service
            }
            None => {
                ctx.count_write();
                let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
                let service = scm::manager(access)?
                    .create_service(&info(self), ServiceAccess::all())
                    .map_err(|error| trouble(&self.name, "make", &error))?;
                decorate(ctx, self, &service)?;
                service
            }
        };
        match self.running {
            None => return Ok(()),
            Some(false) => return scm::stop(ctx, &self.name, &service),
            Some(true) => {}
        }
        if !changed_since_start(ctx, self).is_empty() {
            scm::stop(ctx, &self.name, &service)?;
        }
        start(ctx, &self.name, &service)
    }

    fn revert(&self, ctx: &Ctx, _prior: &Prior, _force: bool) -> Result<Reverted> {
        if is_of_somebody_else(&self.name) && !is_unfinished(self) {
            return Ok(Reverted::Kept(format!("the service {} is another than swdt made", self.name)));
        }
        let Some(service) = scm::open(&self.name)? else { return Ok(Reverted::Yes) };
        scm::stop(ctx, &self.name, &service)?;
        ctx.count_write();
        service.delete().map_err(|error| trouble(&self.name, "delete", &error))?;
        drop(service);
        host::forget(ctx, &self.name);
        let begun = Instant::now();
        // It goes when the last who looks at it lets go.
        while scm::open(&self.name)?.is_some() && begun.elapsed() < PATIENCE {
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

/// Files that changed after the service host started its program.
fn changed_since_start(ctx: &Ctx, it: &WindowsService) -> Vec<String> {
    let Ok(started) = os::stat(&host::started(ctx, &it.name)) else { return Vec::new() };
    let newer = |path: &&String| {
        os::stat(&ctx.path(path)).is_ok_and(|file| file.modified().max(file.changed()) > started.modified())
    };
    it.newer_than.iter().filter(newer).cloned().collect()
}

fn start(ctx: &Ctx, name: &str, service: &Service) -> Result<()> {
    if scm::state(name, service)? == ServiceState::Running {
        return Ok(());
    }
    host::forgive(ctx, name);
    scm::start(ctx, name, service)?;
    let begun = Instant::now();
    while begun.elapsed() < SETTLE {
        if scm::state(name, service)? != ServiceState::Running || host::has_failed(ctx, name) {
            return Err(died(ctx, name));
        }
        ctx.pause(PAUSE)?;
    }
    Ok(())
}

/// It was started, and its program ended by itself.
fn died(ctx: &Ctx, name: &str) -> Error {
    let message = format!("{name} was started but did not stay alive");
    let hint = match host::load(ctx, name) {
        Ok(host) => format!(
            "the lines above are the end of its log, {}; once the cause is mended, run the same command again",
            host.log
        ),
        Err(error) => error.message,
    };
    Error { message, output: host::last_words(name), hint: Some(hint) }
}

//! A service that Windows brings: when it starts, and whether it runs now. It is never made, and never deleted.

use swdt_win::service::set_start;
use swdt_wire::{Prior, Service, Status};
use windows_service::service::{ServiceStartType, ServiceState};

use super::{hints, scm};
use crate::{
    Ctx, Error, Result,
    resources::{Behaviour, Reverted, foreign},
};

/// Words for receipts and people, and Windows' own numbers.
const STARTS: [(&str, ServiceStartType); 3] = [
    ("automatic", ServiceStartType::AutoStart),
    ("manual", ServiceStartType::OnDemand),
    ("disabled", ServiceStartType::Disabled),
];

/// A service as it is.
struct Now {
    service: windows_service::service::Service,
    start: ServiceStartType,
    state: ServiceState,
}

impl Now {
    fn running(&self) -> bool {
        self.state != ServiceState::Stopped
    }
}

impl Behaviour for Service {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        if !self.newer_than.is_empty() {
            return Err(Error::new(format!("nobody can tell when {} was started", self.name)));
        }
        let Some(now) = look(&self.name)? else { return Ok(Status::Differs("missing".into())) };
        let mut differs = Vec::new();
        if (now.start == ServiceStartType::AutoStart) != self.enabled {
            differs.push(format!("starts {}", word(now.start)));
        }
        let running = now.state == ServiceState::Running;
        if self.running != if self.running { running } else { now.running() } {
            differs.push(if self.running { "not running".into() } else { "running".into() });
        }
        Ok(if differs.is_empty() { Status::Satisfied } else { Status::Differs(differs.join("; ")) })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        let now = look(&self.name)?.ok_or_else(|| absent(&self.name))?;
        Ok(Prior::Service { enabled: Some(word(now.start).to_owned()), running: now.running() })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let now = look(&self.name)?.ok_or_else(|| absent(&self.name))?;
        if (now.start == ServiceStartType::AutoStart) != self.enabled {
            let start = if self.enabled { ServiceStartType::AutoStart } else { ServiceStartType::OnDemand };
            set(ctx, &self.name, start)?;
        }
        run(ctx, &self.name, &now, self.running)
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Service { enabled, running } = prior else { return Err(foreign("service")) };
        let Some(now) = look(&self.name)? else {
            return Ok(Reverted::Kept(format!("the service {} is gone", self.name)));
        };
        let was = STARTS.iter().find(|(word, _)| enabled.as_deref() == Some(word));
        let (_, was) = was.ok_or_else(|| foreign("service"))?;
        let ours = (now.start == ServiceStartType::AutoStart) == self.enabled;
        if !ours && now.start != *was && !force {
            return Ok(Reverted::Kept(format!(
                "{} starts {} since somebody changed it",
                self.name,
                word(now.start)
            )));
        }
        if now.start != *was {
            set(ctx, &self.name, *was)?;
        }
        run(ctx, &self.name, &now, *running)?;
        Ok(Reverted::Yes)
    }
}

fn look(name: &str) -> Result<Option<Now>> {
    let Some(service) = scm::open(name)? else { return Ok(None) };
    let config = service.query_config().map_err(|error| scm::trouble(name, "look at", &error))?;
    let state = scm::state(name, &service)?;
    Ok(Some(Now { service, start: config.start_type, state }))
}

fn absent(name: &str) -> Error {
    Error::new(format!("this Windows has no service {name}"))
        .hinted("leave this resource out with `--skip` if it is not wanted here")
}

/// What is neither is a driver's.
fn word(start: ServiceStartType) -> &'static str {
    STARTS.iter().find(|(_, its)| *its == start).map_or("with the kernel", |(word, _)| word)
}

fn set(ctx: &Ctx, name: &str, start: ServiceStartType) -> Result<()> {
    ctx.count_write();
    set_start(name, start.to_raw()).map_err(|error| Error {
        message: format!("cannot change the service {name}: {error}"),
        output: Vec::new(),
        hint: error.raw_os_error().and_then(|code| hints::of_service(code, name)),
    })
}

fn run(ctx: &Ctx, name: &str, now: &Now, shall: bool) -> Result<()> {
    match (now.running(), shall) {
        (false, true) => scm::start(ctx, name, &now.service),
        (true, false) => scm::stop(ctx, name, &now.service),
        _ => Ok(()),
    }
}

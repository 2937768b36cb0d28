//! A systemd unit as `systemctl show` tells it.

/// What we ask for, in one call.
pub(super) const PROPERTIES: &str =
    "LoadState,LoadError,ActiveState,SubState,UnitFileState,NeedDaemonReload,Type,NRestarts";

/// The state of a unit.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    load: String,
    load_error: String,
    active: String,
    sub: String,
    kind: String,
    /// `enabled`, `disabled`, `static`, … ; none when there is no such unit.
    pub(super) enablement: Option<String>,
    /// The unit file on disk is newer than what systemd has read.
    pub(super) stale: bool,
    /// How often systemd started it again by itself since it was last started by somebody.
    pub(super) restarts: u32,
}

impl Unit {
    /// Reads `NAME=value` lines.
    pub(crate) fn parse(text: &str) -> Self {
        let mut unit = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value = value.to_owned();
            match name {
                "LoadState" => unit.load = value,
                "LoadError" => unit.load_error = value,
                "ActiveState" => unit.active = value,
                "SubState" => unit.sub = value,
                "Type" => unit.kind = value,
                "UnitFileState" => unit.enablement = Some(value).filter(|state| !state.is_empty()),
                "NeedDaemonReload" => unit.stale = value == "yes",
                "NRestarts" => unit.restarts = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        unit
    }

    /// A unit of which only `systemctl is-enabled` can tell.
    pub(super) fn offline(is_enabled: &str) -> Self {
        let state = is_enabled.trim();
        let exists = !state.is_empty() && state != "not-found";
        Self {
            load: if exists { "loaded".into() } else { "not-found".into() },
            active: "inactive".into(),
            enablement: exists.then(|| state.to_owned()),
            ..Self::default()
        }
    }

    /// Is there a unit file, or a unit without one that runs?
    pub(super) fn exists(&self) -> bool {
        self.load != "not-found"
    }

    pub(super) fn masked(&self) -> bool {
        self.load == "masked" || self.enablement.as_deref().is_some_and(|state| state.starts_with("masked"))
    }

    /// Why systemd cannot use the unit file, if so.
    pub(super) fn load_problem(&self) -> Option<String> {
        let bad = matches!(self.load.as_str(), "bad-setting" | "error");
        bad.then(|| if self.load_error.is_empty() { self.load.clone() } else { self.load_error.clone() })
    }

    pub(super) fn enabled(&self) -> bool {
        is_enabled(self.enablement.as_deref())
    }

    /// Enabling or disabling has no effect on such units.
    pub(super) fn fixed(&self) -> bool {
        matches!(self.enablement.as_deref(), None | Some("static" | "transient" | "generated" | "indirect"))
    }

    pub(super) fn running(&self) -> bool {
        matches!(self.active.as_str(), "active" | "reloading" | "refreshing")
    }

    /// Neither runs nor is about to.
    pub(super) fn stopped(&self) -> bool {
        matches!(self.active.as_str(), "inactive" | "failed")
    }

    pub(super) fn failed(&self) -> bool {
        self.active == "failed"
    }

    /// For people.
    pub(super) fn state(&self) -> String {
        format!("{}, {}", self.active, self.sub)
    }

    /// Does being active mean that the program said it is ready?
    pub(super) fn tells_readiness(&self) -> bool {
        matches!(self.kind.as_str(), "notify" | "notify-reload" | "dbus" | "oneshot")
    }
}

/// Starts at boot? `enabled-runtime` lasts until the next boot only; `generated` and `alias` are
/// enabled by other means.
pub(super) fn is_enabled(state: Option<&str>) -> bool {
    matches!(state, Some("enabled" | "alias" | "generated" | "indirect"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_unit() {
        let unit = Unit::parse(
            "Type=simple\nNRestarts=2\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=disabled\nNeedDaemonReload=yes\n",
        );
        assert!(unit.exists() && unit.running() && unit.stale && !unit.enabled() && !unit.fixed());
        assert_eq!(unit.restarts, 2);
        assert!(!unit.tells_readiness());
    }

    #[test]
    fn a_unit_that_is_not_there() {
        let unit = Unit::parse("LoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\n");
        assert!(!unit.exists() && unit.stopped());
        assert_eq!(unit.enablement, None);
        assert_eq!(Unit::offline("").enablement, None);
        assert!(!Unit::offline("not-found\n").exists());
        assert!(Unit::offline("enabled\n").enabled());
    }

    #[test]
    fn a_loop_of_failing_starts_neither_runs_nor_rests() {
        let unit = Unit::parse(
            "LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nUnitFileState=static\n",
        );
        assert!(!unit.running() && !unit.stopped() && unit.fixed());
    }

    #[test]
    fn masked_and_broken() {
        assert!(Unit::parse("LoadState=masked\nUnitFileState=masked\n").masked());
        let broken =
            Unit::parse("LoadState=bad-setting\nLoadError=org.freedesktop.systemd1.BadUnitSetting \"no\"\n");
        assert!(broken.load_problem().is_some_and(|problem| problem.contains("BadUnitSetting")));
    }
}

//! How long it has been, and how long it may take: from earlier runs on this host, or not a word.

use std::{collections::VecDeque, time::Duration};

use swdt_core::event::{Event, EventKind, PhaseAhead};

/// What is known of the time ahead.
#[derive(Default)]
pub(super) struct Forecast {
    /// What the phase at work took before.
    usual: Option<Duration>,
    /// Phases after it that have something to do.
    ahead: VecDeque<PhaseAhead>,
    /// Was it ever said what is ahead?
    told: bool,
}

impl Forecast {
    pub(super) fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Started { .. } => *self = Self::default(),
            EventKind::Ahead { phases } => {
                self.ahead = phases.iter().cloned().collect();
                self.told = true;
            }
            EventKind::PhaseStarted { phase, usual_ms, .. } => {
                let later = self.ahead.iter().position(|it| it.phase == *phase);
                // A phase that nothing is to be done in is over at once, whatever it took before.
                self.usual = usual_ms.map(Duration::from_millis).filter(|_| !self.told || later.is_some());
                if let Some(later) = later {
                    self.ahead.drain(..=later);
                }
            }
            EventKind::PhaseDone { .. } => self.usual = None,
            _ => {}
        }
    }

    /// How long the phase at work has been so, once that is worth a word, and what to expect of it.
    pub(super) fn of_phase(&self, elapsed: Duration) -> String {
        if elapsed < WORTH_A_WORD {
            return String::new();
        }
        match self.usual {
            Some(usual) if elapsed <= usual => format!("{} of {}", clock(elapsed), about(usual)),
            Some(usual) if usual >= WORTH_A_WORD => format!("{}, before {}", clock(elapsed), about(usual)),
            _ => clock(elapsed),
        }
    }

    /// What is left of the run, where all of it was seen before; `elapsed` is that of the phase at work.
    pub(super) fn left(&self, elapsed: Duration) -> Option<String> {
        let later = self.ahead.iter().map(|it| it.usual_ms).sum::<Option<u64>>().filter(|_| self.told)?;
        let now = self.usual?.saturating_sub(elapsed);
        let left = now + Duration::from_millis(later);
        // Whoever waits longer than ever before is not told that it is over any moment.
        (left >= Duration::from_secs(1)).then(|| format!("{} left", about(left)))
    }

    /// The whole, when it is first said what is ahead; for lines that do not change.
    pub(super) fn whole(phases: &[PhaseAhead]) -> Option<String> {
        let all = phases.iter().map(|it| it.usual_ms).sum::<Option<u64>>()?;
        (all >= 1000).then(|| about(Duration::from_millis(all)))
    }
}

/// Sooner, nobody asks.
pub(super) const WORTH_A_WORD: Duration = Duration::from_secs(3);

/// `12 s`, `4 min 05 s`.
pub(super) fn clock(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

/// As exact as an estimate may look: `about 40 s`, `about 2 min 30 s`, `about 12 min`.
fn about(time: Duration) -> String {
    let round = |seconds: u64, to: u64| (seconds + to / 2) / to * to;
    let seconds = time.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX);
    let seconds = match seconds {
        ..10 => seconds,
        10..55 => round(seconds, 5),
        55..300 => round(seconds, 10),
        _ => round(seconds, 60),
    };
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("about {seconds} s"),
        (minutes, 0) => format!("about {minutes} min"),
        (minutes, seconds) => format!("about {minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind) -> Event {
        Event { seq: 0, at: "2026-01-01T00:00:00Z".parse().unwrap(), elapsed_ms: 0, node: None, kind }
    }

    fn started(phase: &str, usual_ms: Option<u64>) -> Event {
        event(EventKind::PhaseStarted { phase: phase.into(), title: phase.into(), usual_ms })
    }

    fn ahead(phases: &[(&str, Option<u64>)]) -> Event {
        let phases =
            phases.iter().map(|(phase, usual_ms)| PhaseAhead { phase: (*phase).into(), usual_ms: *usual_ms });
        event(EventKind::Ahead { phases: phases.collect() })
    }

    const fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn without_history_nothing_is_guessed() {
        let mut forecast = Forecast::default();
        forecast.take(&ahead(&[("runtime", None), ("join", Some(5_000))]));
        forecast.take(&started("runtime", None));
        assert_eq!(forecast.of_phase(seconds(2)), "");
        assert_eq!(forecast.of_phase(seconds(65)), "1 min 05 s");
        assert_eq!(forecast.left(seconds(0)), None);
    }

    #[test]
    fn what_is_left_is_what_earlier_runs_took() {
        let mut forecast = Forecast::default();
        forecast.take(&started("connect", Some(2_000)));
        assert_eq!(forecast.left(seconds(1)), None, "nobody has looked yet");
        forecast.take(&ahead(&[("runtime", Some(42_300)), ("join", Some(6_100)), ("smoke", Some(27_000))]));
        forecast.take(&started("runtime", Some(42_300)));
        assert_eq!(forecast.of_phase(seconds(12)), "12 s of about 45 s");
        assert_eq!(forecast.left(seconds(12)).as_deref(), Some("about 1 min left"));
        // Longer than before: it says so, and does not count down to less than what is still to come.
        assert_eq!(forecast.of_phase(seconds(80)), "1 min 20 s, before about 45 s");
        assert_eq!(forecast.left(seconds(80)).as_deref(), Some("about 35 s left"));
        forecast.take(&started("smoke", Some(27_000)));
        assert_eq!(forecast.left(seconds(0)).as_deref(), Some("about 25 s left"));
        assert_eq!(forecast.left(seconds(60)), None);
    }

    #[test]
    fn a_phase_without_work_is_not_expected_to_take_its_time() {
        let mut forecast = Forecast::default();
        forecast.take(&ahead(&[("join", Some(6_000))]));
        forecast.take(&started("runtime", Some(42_000)));
        assert_eq!(forecast.of_phase(seconds(4)), "4 s");
    }

    #[test]
    fn estimates_do_not_look_exact() {
        let told = [1, 7, 12, 48, 57, 95, 299, 725].map(|number| about(seconds(number)));
        assert_eq!(
            told,
            [
                "about 1 s",
                "about 7 s",
                "about 10 s",
                "about 50 s",
                "about 1 min",
                "about 1 min 40 s",
                "about 5 min",
                "about 12 min"
            ]
        );
    }
}

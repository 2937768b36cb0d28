//! "Press any key to boot from CD or DVD": Microsoft's disc asks for five seconds whenever firmware with UEFI starts it.
//!
//! Keys are pressed only while it can be asking. One that comes late lands on a button of Setup that stops everything.

use std::time::{Duration, Instant};

/// Between two keys.
const BETWEEN: Duration = Duration::from_millis(500);
/// The question stands for five seconds; a slow host may need a while until it is asked.
const WINDOW: Duration = Duration::from_secs(12);

/// When keys are pressed.
#[derive(Debug, Default)]
pub(super) struct Keys {
    since: Option<Instant>,
    next: Option<Instant>,
}

impl Keys {
    /// The firmware starts the disc, now.
    pub(super) fn disc_starts(&mut self, now: Instant) {
        self.since = Some(now);
        self.next = Some(now);
    }

    /// Whatever was asked is answered.
    pub(super) fn enough(&mut self) {
        self.since = None;
    }

    /// Shall a key be pressed now?
    pub(super) fn due(&mut self, now: Instant) -> bool {
        let (Some(since), Some(next)) = (self.since, self.next) else { return false };
        if now.duration_since(since) > WINDOW {
            self.enough();
            return false;
        }
        let due = now >= next;
        if due {
            self.next = Some(now + BETWEEN);
        }
        due
    }

    /// How soon somebody should ask again.
    pub(super) fn pause(&self) -> Duration {
        if self.since.is_some() { BETWEEN / 2 } else { Duration::from_secs(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_pressed_while_the_disc_can_be_asking_and_not_later() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let mut keys = Keys::default();
        assert!(!keys.due(at(0)), "nobody asked");
        keys.disc_starts(at(1000));
        let pressed: Vec<u64> =
            (0..400).map(|tick| 1000 + tick * 100).filter(|&ms| keys.due(at(ms))).collect();
        assert_eq!((pressed[0], pressed[1]), (1000, 1500));
        assert!(pressed.last().is_some_and(|&last| last <= 13_000), "{pressed:?}");
        keys.disc_starts(at(60_000));
        assert!(keys.due(at(60_000)));
        keys.enough();
        assert!(!keys.due(at(61_000)));
    }
}

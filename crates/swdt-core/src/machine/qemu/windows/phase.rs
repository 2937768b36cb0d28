//! How far an installation is, as far as one can tell from outside.

use swdt_wire::FirstBootWord;

use super::serial::Said;

/// Where an installation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was started yet, or nothing that says so: old firmware is silent.
    Firmware,
    /// Microsoft's disc was started.
    Disc,
    /// What is on the disk was started, so often.
    Disk {
        /// How often.
        starts: u32,
    },
    /// Our own program is at work; this is what it said last.
    FirstBoot(String),
    /// Everything is done.
    Ready,
    /// Windows is made anonymous.
    Sealing,
    /// It is, and the machine goes off by itself.
    Sealed,
    /// Our own program could not go on.
    Failed(String),
}

impl Phase {
    /// The phase after something was said.
    pub(super) fn after(self, said: &Said) -> Self {
        match (said, self) {
            (Said::FirstBoot(FirstBootWord::Ready, _), _) => Self::Ready,
            (Said::FirstBoot(FirstBootWord::Sealing, _), _) => Self::Sealing,
            (Said::FirstBoot(FirstBootWord::Sealed, _), _) => Self::Sealed,
            (Said::FirstBoot(FirstBootWord::Failed, why), _) => Self::Failed(why.clone()),
            (Said::FirstBoot(FirstBootWord::Step, step), _) => Self::FirstBoot(step.clone()),
            (Said::FirstBoot(FirstBootWord::Started, _), _) => Self::FirstBoot("begins".to_owned()),
            (Said::StartsDisc, _) => Self::Disc,
            (Said::StartsDisk, Self::Disk { starts }) => Self::Disk { starts: starts + 1 },
            (Said::StartsDisk, Self::Firmware | Self::Disc) => Self::Disk { starts: 1 },
            (_, phase) => phase,
        }
    }

    /// In words. Only the firmware's and our own program's words are certain, so the rest says what it is.
    pub(super) fn told(&self, disk_mib: u64) -> String {
        match self {
            // Some megabytes are written by cutting the disk into partitions.
            Self::Firmware | Self::Disc if disk_mib > 64 => {
                format!("looks like: Setup copies files ({} on the disk)", size(disk_mib))
            }
            Self::Firmware => "the firmware starts".to_owned(),
            Self::Disc => "the disc was started; looks like: Setup loads".to_owned(),
            Self::Disk { starts } => {
                format!(
                    "looks like: Windows sets itself up (start {starts} from its disk, {})",
                    size(disk_mib)
                )
            }
            Self::FirstBoot(step) => format!("first boot: {step}"),
            Self::Ready => "Windows is ready".to_owned(),
            Self::Sealing => "Windows becomes a base for others".to_owned(),
            Self::Sealed => "Windows is a base for others, and switches itself off".to_owned(),
            Self::Failed(why) => format!("the first boot failed: {why}"),
        }
    }
}

/// A tenth of a gigabyte is what moves within a minute.
fn size(mib: u64) -> String {
    format!("{}.{} GiB", mib / 1024, mib % 1024 * 10 / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_installation_in_words() {
        let first = |word, more: &str| Said::FirstBoot(word, more.to_owned());
        let mut phase = Phase::Firmware;
        let mut told = vec![phase.told(0)];
        for (said, disk) in [
            (Said::StartsDisc, 0),
            (Said::NothingToStart, 3174),
            (Said::StartsDisk, 9000),
            (Said::StartsDisk, 9100),
            (first(FirstBootWord::Started, "0.1.0"), 9200),
            (first(FirstBootWord::Step, "keys"), 9200),
            (first(FirstBootWord::Ready, ""), 9200),
        ] {
            phase = phase.after(&said);
            told.push(phase.told(disk));
        }
        assert_eq!(
            told,
            [
                "the firmware starts",
                "the disc was started; looks like: Setup loads",
                "looks like: Setup copies files (3.0 GiB on the disk)",
                "looks like: Windows sets itself up (start 1 from its disk, 8.7 GiB)",
                "looks like: Windows sets itself up (start 2 from its disk, 8.8 GiB)",
                "first boot: begins",
                "first boot: keys",
                "Windows is ready",
            ]
        );
    }
}

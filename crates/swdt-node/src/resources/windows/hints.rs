//! What to do about failures of Windows, by their numbers. Pure, so that it is tested on every system.

use super::QUARANTINE;

/// `ERROR_SHARING_VIOLATION`: somebody holds the file.
pub(crate) const HELD: i32 = 32;

/// What Windows answers where a scanner refused a file, or took it away.
const INFECTED: [i32; 2] = [225, 226];

/// For a file that could not be read or written. `holders` are services whose program it is.
pub(crate) fn of_file(code: i32, holders: &[String]) -> Option<String> {
    Some(match code {
        5 => "log in as an administrator; if you did, the file's access list or a security program denies it".into(),
        HELD if holders.is_empty() => {
            "another program has it open: close what uses it (a log viewer, a console in that directory, a scanner), \
             and run the same command again"
                .into()
        }
        HELD => format!(
            "it is the program of the service {0}: `sc.exe stop {0}` on the machine, then run the same command again",
            holders.join(", ")
        ),
        code if INFECTED.contains(&code) => format!("Defender takes it for malware; {QUARANTINE}"),
        112 => "free some space on this disk and run the same command again".into(),
        _ => return None,
    })
}

/// For a service that could not be made, changed, started or stopped.
pub(crate) fn of_service(code: i32, name: &str) -> Option<String> {
    Some(match code {
        2 | 3 => format!("its program is not where the service says (`sc.exe qc {name}`); {QUARANTINE}"),
        5 => "services are an administrator's business: log in as a member of the group Administrators".into(),
        193 | 216 => "its program is none for this machine: is it built for windows/amd64?".into(),
        code if INFECTED.contains(&code) => format!("Defender takes its program for malware; {QUARANTINE}"),
        1053 => format!(
            "it did not report to the service manager in 30 seconds: it died before, or the machine is very busy; the \
             lines above are the end of its log, and `sc.exe query {name}` has its exit code"
        ),
        1058 => format!(
            "it, or a service that it depends on, is disabled: `sc.exe qc {name}` shows which, and \
             `sc.exe config NAME start= demand` enables it"
        ),
        1067 => "it ended by itself as soon as it was started; the lines above are the end of its log".into(),
        1068 | 1075 => format!("a service that it depends on is missing or did not start: `sc.exe qc {name}` shows which"),
        1072 => "it is deleted as soon as nobody looks at it: close services.msc and Task Manager on the machine, and \
                 run the same command again; otherwise restart the machine"
            .into(),
        1260 => "a policy of this machine (AppLocker, software restriction) forbids its program: allow it there".into(),
        _ => return None,
    })
}

/// Words in what dism.exe says or ends with, and what to do.
const DISM: [(&[&str], &str); 7] = [
    (
        &["14098", "0x80073712"],
        "Windows' store of components is damaged: run `dism /Online /Cleanup-Image /RestoreHealth` on the machine, \
         restart it, and run the same command again",
    ),
    (
        &["0x800f081f", "0x800f0906", "0x800f0907", "0x800f0954"],
        "the files of the feature are not on the machine and could not be downloaded: insert the installation medium and \
         run `dism /Online /Enable-Feature /FeatureName:NAME /All /LimitAccess /Source:D:\\sources\\sxs` there",
    ),
    (
        &["3017", "3018", "0x80070bc9", "0x800f082f"],
        "an earlier change waits for a restart, or for being rolled back by one: restart the machine, and run the same \
         command again",
    ),
    (
        &["0x800f0922", "0x80070070", "exit code: 112"],
        "there was too little space: free some on C: (and on the system partition), restart, and run the same command again",
    ),
    (
        &["0x80070652", "1618"],
        "Windows installs something else just now: wait for it to end, and run the same command again",
    ),
    (&["exit code: 740", "exit code: 5", "0x80070005"], "log in as a member of the group Administrators"),
    (
        &["0x800f080c"],
        "this Windows has no such feature: is it a Windows Server? `dism /Online /Get-Features` lists what there is",
    ),
];

/// For dism.exe that failed; where nothing is known, its own log.
pub(crate) fn of_dism(feature: &str, said: &[&str]) -> String {
    let known = DISM.iter().find(|(words, _)| {
        said.iter().any(|line| words.iter().any(|word| has_word(&line.to_ascii_lowercase(), word)))
    });
    let hint = known.map_or_else(String::new, |(_, hint)| format!("{}; ", hint.replace("NAME", feature)));
    format!(r"{hint}C:\Windows\Logs\DISM\dism.log says more")
}

/// Whole words only: 3017 is not in 130171.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        !is_part(line[..at].chars().next_back()) && !is_part(line[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dism_that_fails_midway_is_known_by_its_numbers() {
        let hint = |said: &str| of_dism("Containers", &["`dism.exe` failed", said]);
        assert!(hint("exit code: 14098").starts_with("Windows' store of components is damaged"));
        assert!(hint("Error: 0x800F081F").contains("/FeatureName:Containers /All"), "in either case");
        assert!(hint("exit code: 0x800f0922").contains("too little space"));
        assert!(hint("exit code: 3017").contains("waits for a restart"));
        assert!(hint("exit code: 740").contains("Administrators"));
        // A number inside another says nothing, and whatever is unknown has its log.
        for unknown in ["exit code: 130171", "exit code: 57", ""] {
            assert_eq!(hint(unknown), r"C:\Windows\Logs\DISM\dism.log says more");
        }
    }

    #[test]
    fn every_failure_of_a_service_says_what_to_do() {
        for (code, words) in [
            (2, "sc.exe qc kubelet"),
            (5, "Administrators"),
            (193, "windows/amd64"),
            (225, "Defender"),
            (1053, "end of its log"),
            (1058, "start= demand"),
            (1067, "end of its log"),
            (1068, "depends on"),
            (1072, "services.msc"),
            (1260, "AppLocker"),
        ] {
            let hint = of_service(code, "kubelet").unwrap_or_default();
            assert!(hint.contains(words), "{code}: {hint}");
        }
        assert_eq!(of_service(1, "kubelet"), None);
    }

    #[test]
    fn a_file_that_is_held_says_by_whom() {
        let by = of_file(HELD, &["kubelet".into()]).unwrap_or_default();
        assert!(by.contains("sc.exe stop kubelet"), "{by}");
        assert!(of_file(HELD, &[]).is_some_and(|hint| hint.contains("another program")));
        assert!(of_file(225, &[]).is_some_and(|hint| hint.contains("Get-MpThreatDetection")));
        assert!(of_file(5, &[]).is_some_and(|hint| hint.contains("administrator")));
        assert_eq!(of_file(2, &[]), None);
    }
}

//! The Go toolchain: found or fetched, and always of the same version, so that the same inputs give the same
//! bytes on every host.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use semver::Version;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    process::Command,
};

use super::{
    cache::{Cache, Scratch},
    hide, toolchain,
};
use crate::{
    Error, Result,
    event::Reporter,
    files::make_private_dir,
    id,
    spec::{OsFamily, Platform},
};

/// Since this version an installed Go fetches, and checks, the version it is asked for by itself.
const OLDEST_THAT_SWITCHES: Version = Version::new(1, 21, 0);

/// How many lines of a failed build are shown.
const LAST_LINES: usize = 20;

/// What Go and the C compiler say when a disk is full.
pub(super) const NO_SPACE: &str = "no space left on device";

/// How often the eye is told how far a build is.
const TICK: Duration = Duration::from_secs(2);

/// A Go that works.
#[derive(Debug, Clone)]
pub(super) struct Go {
    program: PathBuf,
    version: Version,
    modules: PathBuf,
    packages: PathBuf,
    env: BTreeMap<String, String>,
    hidden: Vec<String>,
}

impl Go {
    /// Finds the installed Go, or fetches one.
    pub(super) async fn find(cache: &Cache, wanted: &toolchain::Wanted, reporter: &Reporter) -> Result<Self> {
        let program = match installed(wanted).await {
            Some(found) if found >= OLDEST_THAT_SWITCHES => wanted.program.clone(),
            found => {
                let why = found.map_or("there is no Go on this host".to_owned(), |found| {
                    format!("Go {found} on this host is older than {OLDEST_THAT_SWITCHES}")
                });
                toolchain::fetch(cache, wanted, &why, reporter).await?
            }
        };
        let go = cache.go();
        let (modules, packages) = (go.join("mod"), go.join("build"));
        make_private_dir(&modules)?;
        make_private_dir(&packages)?;
        let (version, env, hidden) = (wanted.version.clone(), wanted.env.clone(), wanted.hidden.clone());
        Ok(Self { program, version, modules, packages, env, hidden })
    }

    /// The same Go at the version that a module needs, if that is newer.
    pub(super) fn at_least(&self, needed: &str) -> Self {
        let needed = parse(needed).filter(|needed| *needed > self.version);
        Self { version: needed.unwrap_or_else(|| self.version.clone()), ..self.clone() }
    }

    /// Its version.
    pub(super) fn version(&self) -> &Version {
        &self.version
    }

    /// Where compiled packages are kept.
    pub(super) fn packages(&self) -> &Path {
        &self.packages
    }

    /// `go` with arguments, in a directory. Of the user's own settings of Go only those count that were passed on.
    pub(super) fn command<'a>(&self, dir: &Path, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(dir).stdin(Stdio::null()).kill_on_drop(true);
        command.env("GOTOOLCHAIN", format!("go{}", self.version));
        command.envs(&self.env);
        hide(command.as_std_mut(), &self.hidden);
        // A cache that its owner can remove.
        let flags = self.env.get("GOFLAGS").map(String::as_str).unwrap_or_default();
        command.env("GOFLAGS", format!("-modcacherw -buildvcs=false {flags}").trim_end());
        command.env("GOWORK", "off");
        command.env("GOMODCACHE", &self.modules).env("GOCACHE", &self.packages);
        command.env("GOPATH", self.modules.with_file_name("path"));
        command
    }

    /// The same for programs of a platform; what the compiler puts aside goes where it is swept.
    pub(super) fn build<'a>(
        &self,
        dir: &Path,
        scratch: &Scratch,
        platform: Platform,
        cgo: bool,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Command {
        let (os, arch) = platform_words(platform);
        let mut command = self.command(dir, args);
        command.env("GOOS", os).env("GOARCH", arch).env("GOTMPDIR", scratch.path());
        // The oldest level, so that a program runs on every machine of its architecture.
        command.env("GOAMD64", "v1").env("GOARM64", "v8.0");
        command.env("CGO_ENABLED", if cgo && platform.os() == OsFamily::Linux { "1" } else { "0" });
        command
    }
}

/// Go's words for a platform.
pub(super) fn platform_words(platform: Platform) -> (&'static str, &'static str) {
    match platform {
        Platform::LinuxAmd64 => ("linux", "amd64"),
        Platform::LinuxArm64 => ("linux", "arm64"),
        Platform::WindowsAmd64 => ("windows", "amd64"),
    }
}

/// The version of the Go that is installed, if there is one.
async fn installed(wanted: &toolchain::Wanted) -> Option<Version> {
    let mut command = Command::new(&wanted.program);
    hide(command.as_std_mut(), &wanted.hidden);
    command.args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.ok().filter(|output| output.status.success())?;
    parse(std::str::from_utf8(&output.stdout).ok()?.trim().trim_start_matches("go"))
}

/// `1.26`, `1.26.8`, `1.27rc1 X:flag`: Go leaves out what is zero, and glues what comes before a release.
pub(crate) fn parse(text: &str) -> Option<Version> {
    let numbers = text.split(|c: char| c != '.' && !c.is_ascii_digit()).next()?;
    let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    Some(Version::new(major, minor, parts.next().flatten().unwrap_or(0)))
}

/// Runs `go`; what it says goes on as progress. Gives its standard output.
pub(super) async fn run(mut command: Command, what: &str, reporter: &Reporter) -> Result<String> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        Error::new(id::PROGRAM_MISSING, format!("cannot run `{}`: {error}", name(&command)))
    })?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Error::new(id::INTERNAL, "go has no output"));
    };
    let (said, last, status) = tokio::join!(whole(stdout), follow(stderr, what, reporter), child.wait());
    let said = said.unwrap_or_default();
    match status {
        Ok(status) if status.success() => Ok(said),
        // `go mod download -json` tells its failures on standard output.
        Ok(status) if last.is_empty() => {
            Err(explain(what, &status.to_string(), said.lines().map(str::to_owned).collect()))
        }
        Ok(status) => Err(explain(what, &status.to_string(), last)),
        Err(error) => Err(Error::new(id::INTERNAL, format!("waiting for go: {error}"))),
    }
}

fn name(command: &Command) -> String {
    command.as_std().get_program().to_string_lossy().into_owned()
}

async fn whole(mut from: impl AsyncRead + Unpin) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Tells now and then how far it is; gives the last lines that are no progress.
async fn follow(from: impl AsyncRead + Unpin, what: &str, reporter: &Reporter) -> Vec<String> {
    let mut lines = BufReader::new(from).lines();
    let mut last = Vec::new();
    let (mut compiled, mut told) = (0_u32, Instant::now());
    while let Ok(Some(line)) = lines.next_line().await {
        let downloading = line.starts_with("go: downloading ");
        // `go build -v` names each package as it is compiled: one word.
        let package = !line.contains(' ');
        if !downloading && !package {
            last.push(line);
            continue;
        }
        compiled += u32::from(package);
        if told.elapsed() >= TICK {
            told = Instant::now();
            let detail = if package { format!("{compiled} packages, now {line}") } else { line };
            reporter.doing(format!("{what}: {detail}"));
        }
    }
    last.split_off(last.len().saturating_sub(LAST_LINES))
}

fn explain(what: &str, status: &str, output: Vec<String>) -> Error {
    let all = output.join("\n");
    let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
    let error = Error::new(id::GO_FAILED, format!("{what}: go ended with {status}"));
    let error = if has(&[NO_SPACE]) {
        error.hinted("what was compiled so far is kept: free some space and run the command again")
    } else if has(&["unknown revision", "invalid version"]) {
        error.hinted("is there such a version? the tag must exist in the module's repository")
    } else if has(&[
        "<html",
        "<!DOCTYPE",
        "<!doctype",
        "invalid character '<'",
        r"invalid character '\u003c'",
    ]) {
        error.hinted("what came is an HTML page: does a proxy ask for a login?")
    } else if has(&["not available", "403 Forbidden", "404 Not Found"]) {
        error.hinted("the module proxy does not serve this version; choose another, or another source")
    } else if has(&["dial tcp", "no such host", "i/o timeout"]) {
        error.hinted("is the Go module proxy reachable? GOPROXY names another one")
    } else if has(&["C compiler", "gcc"]) {
        error.hinted("install a C compiler (gcc) for this platform, or choose another source")
    } else {
        error
    };
    error.with_output(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_are_read() {
        assert_eq!(parse("1.26"), Some(Version::new(1, 26, 0)));
        assert_eq!(parse("1.26.8"), Some(Version::new(1, 26, 8)));
        assert_eq!(parse("1.27rc1"), Some(Version::new(1, 27, 0)));
        assert_eq!(parse("devel"), None);
    }

    #[test]
    fn a_build_is_not_told_passwords() {
        let go = Go {
            program: "go".into(),
            version: Version::new(1, 26, 0),
            modules: "/cache/mod".into(),
            packages: "/cache/build".into(),
            env: BTreeMap::new(),
            hidden: vec!["LAB_PASSWORD".into()],
        };
        let command = go.command(Path::new("/"), ["build"]);
        assert!(command.as_std().get_envs().any(|(name, value)| name == "LAB_PASSWORD" && value.is_none()));
    }

    #[test]
    fn a_failed_build_says_what_to_do() {
        let output = vec!["x@v9.9.9: unknown revision v9.9.9".to_owned()];
        let error = explain("build x 9.9.9", "exit status: 1", output);
        assert!(error.hints[0].contains("such a version"), "{error:?}");
    }
}

//! Measurements. Both sides in one run; ratios are printed, never asserted.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    agents, setup,
    sh::{self, Result},
};

/// The version that the figures in the documentation come from.
const ANSIBLE: &str = "ansible-core==2.19.14";
const STARTS: usize = 101;

pub(crate) fn run() -> Result<()> {
    setup::packages()?;
    setup::install(&["python3", "python3-venv"])?;
    let agent = agents::build()?;
    sh::cargo(&["build", "--workspace", "--bins", "--examples"]).run()?;
    let swdt = released(&agent)?;
    let ansible = ansible()?;

    start_of_help(&swdt)?;
    let example = |name: &str, arguments: &[&str]| {
        sh::command(&sh::target().join("debug/examples").join(name).to_string_lossy())
            .args(arguments)
            .env("SWDT_CACHE_DIR", &sh::cache().to_string_lossy())
            .run()
    };
    example("bench", &[&ansible.to_string_lossy(), &agent.to_string_lossy()])?;
    example("bench_cluster", &[&swdt.to_string_lossy()])
}

/// swdt as users have it, with the node program beside it.
fn released(agent: &Path) -> Result<PathBuf> {
    sh::cargo(&["build", "--release", "--package", "swdt"]).run()?;
    let dir = sh::target().join("release");
    let to = dir.join(agent.file_name().unwrap_or_default());
    fs::copy(agent, &to).map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(dir.join("swdt"))
}

/// Ansible from PyPI, in a place of its own.
fn ansible() -> Result<PathBuf> {
    let venv = sh::cache().join("bench").join(ANSIBLE);
    let program = venv.join("bin/ansible-playbook");
    if !program.exists() {
        sh::command("python3").args(&["-m", "venv", &venv.to_string_lossy()]).run()?;
        let pip = venv.join("bin/pip");
        sh::command(&pip.to_string_lossy()).args(&["install", "--quiet", ANSIBLE]).run()?;
    }
    Ok(program)
}

/// How long `swdt --help` takes, against a program that does nothing.
fn start_of_help(swdt: &Path) -> Result<()> {
    let nothing = median_start(Path::new("/bin/true"), &[])?;
    let help = median_start(swdt, &["--help"])?;
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    sh::say(&format!("starting a program, median of {STARTS}"));
    sh::say(&format!("  true         {:>8.2} ms", ms(nothing)));
    sh::say(&format!("  swdt --help  {:>8.2} ms", ms(help)));
    sh::say(&format!("  ratio        {:>8.2}", ms(help) / ms(nothing)));
    Ok(())
}

fn median_start(program: &Path, arguments: &[&str]) -> Result<Duration> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let began = Instant::now();
        let status = Command::new(program).args(arguments).stdout(Stdio::null()).status();
        times.push(began.elapsed());
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("{} failed", program.display()));
        }
    }
    times.sort();
    Ok(times[STARTS / 2])
}

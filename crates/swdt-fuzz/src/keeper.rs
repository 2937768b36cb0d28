//! Starts workers, and learns what a dead one had in its hands.

use std::{
    env,
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    targets,
    worker::{self, Figures},
};

/// What is to be done, for each of some targets.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Names.
    pub targets: Vec<String>,
    /// Where all inputs follow from.
    pub seed: u64,
    /// Inputs for each target.
    pub inputs: u64,
    /// Time for each target.
    pub time: Duration,
    /// Time for each input.
    pub deadline: Duration,
    /// Targets at the same time.
    pub at_once: usize,
    /// Where inputs go that were not survived.
    pub keep: PathBuf,
}

/// What became of a target.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name.
    pub target: String,
    /// What its worker told.
    pub figures: Figures,
    /// Where the input lies that it did not survive.
    pub input: Option<PathBuf>,
}

/// Does it; rows in the order of the targets. `said` is told of each as it ends.
pub fn run(plan: &Plan, said: &(dyn Fn(&Row) + Sync)) -> io::Result<Vec<Row>> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let one = || {
        while let Some(target) = plan.targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let row = follow(plan, target);
            if let Ok(row) = &row {
                said(row);
            }
            rows.lock().expect("nobody dies with it").push(row);
        }
    };
    thread::scope(|scope| (0..plan.at_once.max(1)).for_each(|_| drop(scope.spawn(one))));
    let rows = rows.into_inner().expect("nobody dies with it");
    let mut rows: Vec<Row> = rows.into_iter().collect::<io::Result<_>>()?;
    rows.sort_by_key(|row| plan.targets.iter().position(|target| *target == row.target));
    Ok(rows)
}

fn follow(plan: &Plan, target: &str) -> io::Result<Row> {
    let dir = memory_dir().join(format!("swdt-fuzz-{}-{target}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let said = start(plan, target, &dir);
    let row = said.and_then(|said| judge(plan, target, &said, &dir));
    fs::remove_dir_all(&dir)?;
    row
}

/// Files in memory, where the system has such a place.
fn memory_dir() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.to_owned() } else { env::temp_dir() }
}

fn start(plan: &Plan, target: &str, dir: &Path) -> io::Result<Output> {
    Command::new(env::current_exe()?)
        .args(["work", target])
        .arg(dir)
        .args(
            [plan.seed, plan.inputs, plan.time.as_secs(), plan.deadline.as_secs()]
                .map(|number| number.to_string()),
        )
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
}

fn judge(plan: &Plan, target: &str, said: &Output, dir: &Path) -> io::Result<Row> {
    let told = serde_json::from_slice::<Figures>(&said.stdout).ok();
    let figures = told.unwrap_or_else(|| {
        let words = String::from_utf8_lossy(&said.stderr).trim().to_owned();
        Figures { failure: Some(format!("its process died ({}) {words}", said.status)), ..Figures::default() }
    });
    let mut input = None;
    if figures.failure.is_some() {
        let bytes = worker::in_hand(dir);
        let at = plan.keep.join(target);
        fs::create_dir_all(&at)?;
        let path = at.join(format!("once-bad-{:016x}", fingerprint(&bytes)));
        fs::write(&path, bytes)?;
        input = Some(path);
    }
    Ok(Row { target: target.to_owned(), figures, input })
}

fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The rows as a table in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| target | inputs | different answers | failures | slowest input | peak memory |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for Row { target, figures, .. } in rows {
        let _ = writeln!(
            text,
            "| {target} | {} | {} | {} | {} ({}) | {} MiB |",
            figures.inputs,
            figures.answers,
            u8::from(figures.failure.is_some()),
            time(figures.slowest_us),
            bytes(figures.slowest_bytes),
            figures.peak_kib >> 10,
        );
    }
    let sum = |of: fn(&Figures) -> u64| rows.iter().map(|row| of(&row.figures)).sum::<u64>();
    let most = |of: fn(&Figures) -> u64| rows.iter().map(|row| of(&row.figures)).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "| **all** | **{}** | {} | **{}** | {} | {} MiB |",
        sum(|figures| figures.inputs),
        sum(|figures| figures.answers),
        sum(|figures| u64::from(figures.failure.is_some())),
        time(most(|figures| figures.slowest_us)),
        most(|figures| figures.peak_kib) >> 10,
    );
    text
}

fn time(micros: u64) -> String {
    if micros < 10_000 { format!("{micros} µs") } else { format!("{} ms", micros / 1000) }
}

fn bytes(number: u64) -> String {
    if number < 10_240 { format!("{number} B") } else { format!("{} KiB", number >> 10) }
}

/// The names of all targets, as words.
pub fn all() -> Vec<String> {
    targets::names().into_iter().map(ToOwned::to_owned).collect()
}

//! One target in one process, so that nothing it does can hurt another: it may use so much memory, so much
//! stack, and so much time for each input.

use std::{
    collections::HashSet,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::FileExt,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        prctl::set_pdeathsig,
        resource::{Resource, setrlimit},
        signal::Signal,
    },
    time::{ClockId, clock_gettime},
};
use serde::{Deserialize, Serialize};

use crate::{mutate, random::Random, targets};

/// All memory that the process may ask for, itself included.
pub const MEMORY: u64 = 512 << 20;
/// Threads of swdt have as much.
const STACK: usize = 2 << 20;
/// Inputs that were answered in a new way are kept, so many.
const POOL: usize = 4000;

/// What a worker is to do.
#[derive(Debug, Clone)]
pub struct Job {
    /// Name of the target.
    pub target: String,
    /// Where all inputs follow from.
    pub seed: u64,
    /// It ends after so many inputs,
    pub inputs: u64,
    /// or after that time.
    pub time: Duration,
    /// The time for one input.
    pub deadline: Duration,
    /// A directory of its own: `hand` is the input it reads now, `scratch` is the target's.
    pub dir: PathBuf,
}

/// What a worker tells at its end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Inputs that were read.
    pub inputs: u64,
    /// Different answers.
    pub answers: u64,
    /// Time of the processor for the slowest input.
    pub slowest_us: u64,
    /// Its length.
    pub slowest_bytes: u64,
    /// The most memory that the process had.
    pub peak_kib: u64,
    /// Why it ended early.
    pub failure: Option<String>,
}

/// Does a job; the answer is a line on standard output. Does not come back.
pub fn work(job: Job) -> ! {
    let code = match thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || inner(&job))
        .map(thread::JoinHandle::join)
    {
        Ok(Ok(figures)) => tell(&figures),
        _ => 3,
    };
    process::exit(code)
}

fn tell(figures: &Figures) -> i32 {
    use std::io::Write;
    let line = serde_json::to_string(figures).unwrap_or_default();
    let _ = writeln!(std::io::stdout(), "{line}");
    i32::from(figures.failure.is_some())
}

fn inner(job: &Job) -> Figures {
    let read = targets::find(&job.target).expect("the keeper knows the names");
    let scratch = job.dir.join("scratch");
    fs::create_dir_all(&scratch).expect("a directory of our own");
    let hand = File::create(job.dir.join("hand")).expect("a file of our own");
    let said = Arc::new(Mutex::new(String::new()));
    listen_to_panics(&said);
    let began = Instant::now();
    let busy_since = Arc::new(AtomicU64::new(0));
    watch(&busy_since, began, job.deadline);
    // Whoever ends the keeper ends its workers.
    set_pdeathsig(Signal::SIGKILL).expect("a wish of our own");
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY).expect("a limit may be lowered");

    let mut pool = targets::examples(&job.target);
    let examples = pool.len() as u64;
    let mut random = Random::new(job.seed, &job.target);
    let (mut figures, mut answers) = (Figures::default(), HashSet::new());
    while figures.inputs < job.inputs && began.elapsed() < job.time {
        let at = usize::try_from(figures.inputs).unwrap_or(usize::MAX);
        // What once was bad must be good now, before anything else.
        let input =
            if figures.inputs < examples { pool[at].clone() } else { mutate::input(&mut random, &pool) };
        hold(&hand, &input);
        clear(&scratch);
        busy_since.store(millis(began).max(1), Ordering::Relaxed);
        let before = processor_time();
        let answer = panic::catch_unwind(AssertUnwindSafe(|| read(&input, &scratch)));
        let took = processor_time().saturating_sub(before).as_micros();
        busy_since.store(0, Ordering::Relaxed);
        figures.inputs += 1;
        if took > u128::from(figures.slowest_us) {
            figures.slowest_us = u64::try_from(took).unwrap_or(u64::MAX);
            figures.slowest_bytes = input.len() as u64;
        }
        let Ok(answer) = answer else {
            figures.failure = Some(format!("panic: {}", said.lock().expect("nobody dies with it")));
            break;
        };
        if answers.insert(shape(&answer)) && pool.len() < POOL {
            pool.push(input);
        }
    }
    figures.answers = answers.len() as u64;
    figures.peak_kib = peak_kib();
    figures
}

/// The input goes to a file before it is read, so that the death of this process leaves it behind.
fn hold(hand: &File, input: &[u8]) {
    let mut record = (input.len() as u64).to_le_bytes().to_vec();
    record.extend_from_slice(input);
    hand.write_all_at(&record, 0).expect("room for an input");
}

/// The input that a worker had in its hands.
pub fn in_hand(dir: &Path) -> Vec<u8> {
    let record = fs::read(dir.join("hand")).unwrap_or_default();
    let Some((length, input)) = record.split_first_chunk() else { return Vec::new() };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    input[..length.min(input.len())].to_vec()
}

fn clear(scratch: &Path) {
    if fs::read_dir(scratch).is_ok_and(|mut entries| entries.next().is_some()) {
        fs::remove_dir_all(scratch).and_then(|()| fs::create_dir(scratch)).expect("a directory of our own");
    }
}

fn listen_to_panics(said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    panic::set_hook(Box::new(move |info| {
        if let Ok(mut said) = said.lock() {
            *said = info.to_string();
        }
    }));
}

/// Ends the process when one input takes too long.
fn watch(busy_since: &Arc<AtomicU64>, began: Instant, deadline: Duration) {
    let busy_since = Arc::clone(busy_since);
    thread::spawn(move || {
        loop {
            thread::sleep(deadline / 10);
            let since = busy_since.load(Ordering::Relaxed);
            if since > 0 && u128::from(millis(began).saturating_sub(since)) > deadline.as_millis() {
                let failure = Some(format!("no end after {} s", deadline.as_secs()));
                process::exit(tell(&Figures { failure, ..Figures::default() }));
            }
        }
    });
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Of this thread alone: the machine may have other work.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}

/// An answer without what is only quoted, and without numbers.
fn shape(answer: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut quoted = false;
    for byte in answer.bytes().take(400) {
        if matches!(byte, b'"' | b'`') {
            quoted = !quoted;
        } else if !quoted && !byte.is_ascii_digit() {
            byte.hash(&mut hasher);
        }
    }
    hasher.finish()
}

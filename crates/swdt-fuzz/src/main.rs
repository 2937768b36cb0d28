//! `swdt-fuzz run …` starts `swdt-fuzz work …` for each target. People use `cargo xtask fuzz`.

use std::{
    io::Write,
    path::PathBuf,
    process::ExitCode,
    sync::Mutex,
    time::{Duration, SystemTime},
};

use swdt_fuzz::{
    keeper::{self, Plan, Row},
    targets,
    worker::{self, Job},
};

const USAGE: &str = "\
usage: swdt-fuzz run [--target NAME]… [--inputs N] [--minutes M] [--seed S] [--keep DIR] [--table FILE] [--jobs N]
                     [--deadline SECONDS]

  N inputs for each target, or M minutes for all together; 10000 inputs unless told. Inputs that were not
  survived go to DIR, figures to FILE.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["work", target, dir, seed, inputs, seconds, deadline] => {
            let number = |word: &str| word.parse::<u64>().unwrap_or(0);
            worker::work(Job {
                target: (*target).to_owned(),
                dir: PathBuf::from(dir),
                seed: number(seed),
                inputs: number(inputs),
                time: Duration::from_secs(number(seconds)),
                deadline: Duration::from_secs(number(deadline)),
            })
        }
        ["run", rest @ ..] => match plan(rest).and_then(|(plan, table)| run(&plan, table)) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(message) => {
                say(&message);
                ExitCode::from(2)
            }
        },
        _ => {
            say(USAGE);
            ExitCode::from(2)
        }
    }
}

fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

fn plan(words: &[&str]) -> Result<(Plan, Option<PathBuf>), String> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    let mut plan = Plan {
        targets: Vec::new(),
        seed: now,
        inputs: 10_000,
        time: Duration::from_hours(1000),
        deadline: Duration::from_secs(20),
        at_once: std::thread::available_parallelism().map_or(1, usize::from),
        keep: std::env::temp_dir().join("swdt-fuzz"),
    };
    let (mut table, mut minutes) = (None, None);
    for pair in words.chunks(2) {
        let [option, value] = pair else { return Err(format!("`{}` needs a value\n\n{USAGE}", pair[0])) };
        let number = || value.parse::<u64>().map_err(|_| format!("`{option} {value}`: that is no number"));
        match *option {
            "--target" if targets::find(value).is_none() => {
                return Err(format!("no target `{value}`; there are {}", targets::names().join(", ")));
            }
            "--target" => plan.targets.push((*value).to_owned()),
            "--inputs" => plan.inputs = number()?,
            "--minutes" => minutes = Some(number()?),
            "--seed" => plan.seed = number()?,
            "--deadline" => plan.deadline = Duration::from_secs(number()?.max(1)),
            "--jobs" => plan.at_once = usize::try_from(number()?).unwrap_or(1),
            "--keep" => plan.keep = PathBuf::from(value),
            "--table" => table = Some(PathBuf::from(value)),
            _ => return Err(format!("no option `{option}`\n\n{USAGE}")),
        }
    }
    if plan.targets.is_empty() {
        plan.targets = keeper::all();
    }
    if let Some(minutes) = minutes {
        let share = minutes * 60 * plan.at_once as u64 / plan.targets.len() as u64;
        plan.time = Duration::from_secs(share.max(1));
        if !words.contains(&"--inputs") {
            plan.inputs = u64::MAX;
        }
    }
    Ok((plan, table))
}

/// True when everything was survived.
fn run(plan: &Plan, table: Option<PathBuf>) -> Result<bool, String> {
    say(&format!("seed {}, {} targets", plan.seed, plan.targets.len()));
    let one_at_a_time = Mutex::new(());
    let told = |row: &Row| {
        let _alone = one_at_a_time.lock();
        let figures = &row.figures;
        match &figures.failure {
            None => say(&format!(
                "{:<20} {:>9} inputs, {:>5} answers",
                row.target, figures.inputs, figures.answers
            )),
            Some(failure) => {
                let input = row.input.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
                say(&format!(
                    "{:<20} FAILED after {} inputs: {failure}\n  the input: {input}",
                    row.target, figures.inputs
                ));
            }
        }
    };
    let rows = keeper::run(plan, &told).map_err(|error| error.to_string())?;
    let text = keeper::table(&rows);
    match table {
        Some(path) => std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?,
        None => say(&text),
    }
    Ok(rows.iter().all(|row| row.figures.failure.is_none()))
}

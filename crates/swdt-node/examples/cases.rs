//! Runs cases from `tests/cases/*.json` on the machine it is started on, as root. A case changes that
//! machine: use one that may break. Prints one line a case; exits with 1 when one failed.
//!
//! `cases FILE... [--only NAME]`; `cases --facts` prints the machine's facts, and how long they took.

#![allow(clippy::print_stdout, reason = "a program for people who try things by hand")]

#[path = "../tests/cases/mod.rs"]
mod cases;
#[path = "../tests/here/mod.rs"]
mod here;

use std::{process::ExitCode, time::Instant};

use here::Here;
use swdt_node::Ctx;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--facts"] {
        let begin = Instant::now();
        let facts = swdt_node::facts::gather(&Ctx::new("/")).expect("facts");
        let took = begin.elapsed();
        println!("{}\n{took:?}", serde_json::to_string_pretty(&facts).expect("facts as JSON"));
        return ExitCode::SUCCESS;
    }
    let only = arguments.iter().position(|word| word == "--only").map(|at| {
        let name = arguments.remove(at + 1);
        arguments.remove(at);
        name
    });
    let mut failed = false;
    let mut here = Here::new();
    for file in &arguments {
        let text = std::fs::read_to_string(file).expect("a readable file");
        let cases = cases::parse(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        for case in cases.iter().filter(|case| only.as_ref().is_none_or(|only| case.name.contains(only))) {
            let begin = Instant::now();
            let outcome = cases::run(case, &mut here);
            let took = begin.elapsed().as_secs_f32();
            match outcome {
                Ok(()) => println!("ok   {} ({took:.1} s)", case.name),
                Err(problem) => {
                    failed = true;
                    println!("FAIL {} ({took:.1} s)\n     {}", case.name, problem.replace('\n', "\n     "));
                }
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

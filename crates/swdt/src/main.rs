//! The command `swdt`: arguments, rendering, exit codes. It decides nothing; `swdt-core` does.

mod args;
mod commands;
mod complete;
mod failure;
mod host;
mod mistyped;
mod out;
mod render;
mod report;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;

fn main() -> ExitCode {
    complete::answer();
    let cli = Cli::try_parse().unwrap_or_else(|error| failure::command_line(&mistyped::helped(error)));
    ExitCode::from(commands::run(cli))
}

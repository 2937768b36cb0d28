//! Waits until the test process that started it is dead, then removes its machines.

use std::{env, path::Path, process::ExitCode};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(cache) = env::args_os().nth(1) else { return ExitCode::from(2) };
    match swdt_ground::janitor::main(Path::new(&cache)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

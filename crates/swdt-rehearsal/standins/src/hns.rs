//! hns.exe: the Host Network Service, which does nothing but run. As long as it does, `computenetwork.dll` answers.

use std::sync::mpsc::Receiver;

use swdt_win::service::{self, Phase};

pub(crate) fn run() -> i32 {
    i32::from(service::run("hns", until_told).is_err())
}

fn until_told(_name: &str, told_to_stop: &Receiver<()>, phase: &Phase) -> u32 {
    // Nobody left to tell is as good as being told.
    let _ = told_to_stop.recv();
    phase.stopping();
    0
}

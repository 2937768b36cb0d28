//! sysprep.exe: remembers what it was told.

use windows_registry::LOCAL_MACHINE;

pub(crate) fn run(words: &[String]) -> i32 {
    let key = LOCAL_MACHINE.create(r"SOFTWARE\swdt-rehearsal\sysprep");
    i32::from(key.and_then(|key| key.set_string("Told", words.join(" "))).is_err())
}

//! sysprep.exe: remembers what it was told, and says of Windows what the real one would, in its registry.

use windows_registry::LOCAL_MACHINE;

const STATE: &str = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State";

pub(crate) fn run(words: &[String]) -> i32 {
    let set = |key: &str, name: &str, text: &str| {
        LOCAL_MACHINE.create(key).and_then(|key| key.set_string(name, text)).is_err()
    };
    let failed = set(r"SOFTWARE\swdt-rehearsal\sysprep", "Told", &words.join(" "))
        || set(STATE, "ImageState", "IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE");
    i32::from(failed)
}

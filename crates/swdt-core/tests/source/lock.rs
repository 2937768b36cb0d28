//! `lock.json`: what was resolved is what later runs use.

use std::{collections::BTreeMap, fs};

use swdt_core::{
    source::lock::Lock,
    spec::{Platform, Source},
};

use super::{Desk, kubelet, program};

#[tokio::test]
async fn what_is_pinned_is_used_and_what_differs_is_refused() {
    let desk = Desk::new();
    let bundle = desk.path().join("bundle.tar");
    let want = kubelet(Source::Bundle { path: bundle.clone() });
    let pack = async |text: &str| {
        let other = Desk::new();
        let file = other.write("kubelet", &program(text));
        let files = kubelet(Source::Files(BTreeMap::from([(Platform::LinuxAmd64, file)])));
        let artifacts = other.resolve(&files).await.unwrap();
        swdt_core::source::write_bundle(&bundle, &[(files, artifacts)]).unwrap();
    };
    pack("one").await;
    let mut lock = Lock::default();
    let first = desk.sources().resolve_one(&want, &mut lock).await.unwrap();
    lock.save(desk.path()).unwrap();

    // The bundle changed, but the pinned bytes are in the cache: they are used.
    pack("two").await;
    let mut lock = Lock::load(desk.path()).unwrap();
    assert_eq!(desk.sources().resolve_one(&want, &mut lock).await.unwrap(), first);

    // The cache is gone: what comes now is not what was pinned.
    fs::remove_dir_all(desk.path().join("cache")).unwrap();
    let error = desk.sources().resolve_one(&want, &mut lock).await.unwrap_err();
    assert!(error.to_string().contains("is not what lock.json says"), "{error}");
}

#[tokio::test]
async fn a_file_of_the_users_own_may_change() {
    let desk = Desk::new();
    let mut lock = Lock::default();
    for text in ["one", "two"] {
        let file = desk.write("kubelet", &program(text));
        let want = kubelet(Source::Files(BTreeMap::from([(Platform::LinuxAmd64, file)])));
        let supply = desk.sources().resolve_one(&want, &mut lock).await.unwrap();
        assert_eq!(lock.pins()["kubelet linux/amd64"].programs[0].sha256, supply.programs()[0].sha256);
    }
}

#[test]
fn a_lock_of_the_first_schema_still_loads_and_a_newer_one_is_refused() {
    let desk = Desk::new();
    let text = include_str!("../state/lock-v1.json");
    fs::write(desk.path().join("lock.json"), text).unwrap();
    let lock = Lock::load(desk.path()).unwrap();
    let pin = &lock.pins()["containerd linux/amd64"];
    assert_eq!(pin.programs[1].name, "ctr");
    lock.save(desk.path()).unwrap();
    assert_eq!(fs::read_to_string(desk.path().join("lock.json")).unwrap(), text);
    fs::write(desk.path().join("lock.json"), text.replace("\"schema\": 1", "\"schema\": 2")).unwrap();
    assert!(Lock::load(desk.path()).unwrap_err().to_string().contains("newer swdt"));
}

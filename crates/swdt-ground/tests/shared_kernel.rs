//! The host's own settings are as before when the last machine is gone. A file of its own, because
//! Cargo runs test files one after the other, and this looks at the whole host.

use std::{fs, path::Path, time::Duration};

use swdt_core::Result;
use swdt_ground::{Ground, cache_dir};

const SETTINGS: &[&str] = &[
    "net/ipv4/ip_forward",
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
    "vm/overcommit_memory",
    "kernel/panic",
    "kernel/panic_on_oops",
];

fn settings() -> Vec<String> {
    SETTINGS.iter().map(|key| fs::read_to_string(format!("/proc/sys/{key}")).unwrap_or_default()).collect()
}

#[tokio::test]
async fn settings_of_the_host_are_restored() -> Result<()> {
    // One record for the whole host. Whoever lets go also lets go for clusters that were removed by hand.
    let record = Path::new("/run/swdt/shared-kernel.json");
    drop(Ground::open(&cache_dir()).await?.machine("a").await?);
    for _ in 0..100 {
        if !record.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // Another cluster on this host keeps everything as it is; then we may not change what only the last one puts back.
    let alone = !record.exists();
    let before = settings();
    {
        let (one, two) = (Ground::open(&cache_dir()).await?, Ground::open(&cache_dir()).await?);
        let (a, b) = tokio::try_join!(one.machine("a"), two.machine("a"))?;
        assert_ne!(a.address(), b.address(), "every cluster has a range of its own");
        assert_eq!(settings()[0], "1\n");
        if alone {
            // As a kubelet does.
            a.must(["sysctl", "-q", "-w", "kernel.panic=10"]).await?;
        }
        drop(one);
        assert_eq!(settings()[0], "1\n", "the other cluster still needs it");
    }
    assert_eq!(settings(), before);
    assert_eq!(!record.exists(), alone, "the last one takes the record with it");
    Ok(())
}

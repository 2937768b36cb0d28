//! Machines on the real kernel: they boot, find each other, come back, and go without trace.

use std::path::Path;

use swdt_core::Result;
use swdt_ground::{Ground, cache_dir};

#[tokio::test]
async fn two_machines_boot_and_reach_each_other() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let begun = std::time::Instant::now();
    let (a, b) = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
    println!("two machines in {:?}", begun.elapsed());
    a.must(["ping", "-c1", "-W2", b.address()]).await?;
    b.must(["ping", "-c1", "-W2", a.address()]).await?;
    if let Ok(seconds) = std::env::var("LINGER") {
        println!("{} {} {}", ground.dir().display(), a.address(), b.address());
        tokio::time::sleep(std::time::Duration::from_secs(seconds.parse().unwrap())).await;
    }
    assert_ne!(a.host_key(), b.host_key());
    assert!(Path::new(a.key()).exists());
    Ok(())
}

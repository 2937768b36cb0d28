//! Other versions of Kubernetes, and Kubernetes' own tests. Slow, because both are built from source first.

mod common;

use std::fs;

use common::Swdt;
use swdt_core::Result;
use swdt_ground::{Ground, cache_dir};

#[tokio::test]
#[ignore = "slow: builds Kubernetes 1.35 from source; `cargo xtask test --slow` runs it"]
async fn another_version_is_one_line_away() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (cp1, w1) = tokio::try_join!(ground.machine("cp1"), ground.machine("w1"))?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&cp1, &w1]);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("version: 1.36.3", "version: 1.35.4")).unwrap();

    let made = swdt.run(&["cluster", "create", "--config", &config, "--format", "json"]).ok();
    let events = made.events();
    let tried: Vec<_> = events.iter().filter(|event| event["kind"]["tried"].is_object()).collect();
    assert!(tried.len() > 15 && tried.iter().all(|event| event["kind"]["tried"]["ok"] == true), "{tried:#?}");
    let nodes = swdt.run(&["get", "nodes"]).ok().stdout;
    assert_eq!(nodes.matches("v1.35.4").count(), 2, "{nodes}");
    swdt.run(&["cluster", "destroy"]).ok();
    Ok(())
}

#[tokio::test]
#[ignore = "slow: builds Kubernetes' own tests from source; `cargo xtask test --slow` runs it"]
async fn kubernetes_own_tests_pass() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (cp1, w1) = tokio::try_join!(ground.machine("cp1"), ground.machine("w1"))?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&cp1, &w1]);
    swdt.run(&["cluster", "create", "--config", &config, "--until", "verify"]).ok();

    let reports = swdt.home().join("reports");
    let ran = swdt.run(&["test", "e2e", "--format", "json", "--reports", &reports.to_string_lossy()]).ok();
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let tests = told["tests"].as_array().unwrap();
    assert!(tests.len() >= 8 && tests.iter().all(|test| test["ok"] == true), "{told:#}");
    let junit = fs::read_to_string(reports.join("junit.xml")).unwrap();
    assert!(junit.contains("<testcase ") && junit.contains("failures=\"0\""));

    swdt.run(&["test", "e2e", "--focus", "no test is called this"]).fails(9, &["no test has such a name"]);
    swdt.run(&["cluster", "destroy"]).ok();
    Ok(())
}

//! GPUs of a library that only says it has them.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::common::series;
use stepscope_metrics::Metrics;

const PATIENCE: Duration = Duration::from_secs(60);

/// The exporter on a scenario, and the folder of that.
fn started(scenario: &str) -> (Metrics, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let library = stepscope_fake_nvml::install(folder.path(), scenario).unwrap();
    let metrics =
        Metrics::builder().interval(Duration::from_millis(200)).gpu_library(library).start().unwrap();
    (metrics, folder)
}

/// The series as soon as `is_so`; `None` where that does not come to be.
fn series_when(metrics: &Metrics, is_so: impl Fn(&BTreeMap<String, f64>) -> bool) -> BTreeMap<String, f64> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let series = series(&metrics.snapshot());
        if is_so(&series) {
            return series;
        }
        assert!(
            Instant::now() < deadline,
            "{:?}",
            series.keys().filter(|key| key.contains("gpu")).collect::<Vec<_>>()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn of(series: &BTreeMap<String, f64>, device: usize) -> Vec<&String> {
    let id = format!("GPU-fake-{device},");
    series.keys().filter(|key| key.contains(&id)).collect()
}

#[test]
fn eight_gpus_have_all_figures_and_say_that_they_are_fake() {
    let (metrics, _folder) = started("devices 8\nxid 3 79\nthrottled 2 thermal\n");
    let busy = "stepscope.gpu.busy_time{GPU-fake-7,gpu7,Fake H200,fake}";
    let series = series_when(&metrics, |series| series.get(busy).is_some_and(|seconds| *seconds > 0.0));
    let expected = [
        ("hw.gpu.utilization{GPU-fake-0,gpu0,Fake H200,fake,general}", 0.1),
        ("hw.gpu.utilization{GPU-fake-7,gpu7,Fake H200,fake,general}", 0.8),
        ("hw.gpu.utilization{GPU-fake-7,gpu7,Fake H200,fake,decoder}", 0.04),
        ("hw.gpu.memory.usage{GPU-fake-4,gpu4,Fake H200,fake}", 5.0 * f64::from(1 << 30)),
        ("hw.gpu.memory.utilization{GPU-fake-3,gpu3,Fake H200,fake}", 0.05),
        ("stepscope.gpu.process.memory{GPU-fake-4,gpu4,Fake H200,fake,own}", f64::from(1 << 29)),
        ("hw.gpu.io{GPU-fake-1,gpu1,Fake H200,fake,receive}", 198_001.0),
        ("stepscope.gpu.clock.frequency{GPU-fake-0,gpu0,Fake H200,fake,memory}", 2.6e9),
        ("stepscope.gpu.throttled{GPU-fake-2,gpu2,Fake H200,fake,thermal}", 1.0),
        ("stepscope.gpu.throttled{GPU-fake-1,gpu1,Fake H200,fake,thermal}", 0.0),
        ("stepscope.gpu.xid{GPU-fake-3,gpu3,Fake H200,fake,79}", 1.0),
        ("hw.errors{GPU-fake-0,gpu0,Fake H200,fake,gpu,ecc_corrected}", 7.0),
        ("hw.power{GPU-fake-5,gpu5,Fake H200,fake,gpu}", 105.0),
        ("hw.temperature{GPU-fake-5,gpu5,Fake H200,fake}", 45.0),
        ("hw.energy{GPU-fake-0,gpu0,Fake H200,fake,gpu}", 5_000.0),
        ("hw.status{GPU-fake-0,gpu0,Fake H200,fake,gpu,ok}", 1.0),
    ];
    for (key, value) in expected {
        let found = series.get(key).unwrap_or_else(|| panic!("{key} is absent"));
        assert!((found - value).abs() < 1e-6 * value.max(1.0), "{key}: {found}");
    }
    assert_eq!(series.keys().filter(|key| key.starts_with("hw.status{") && key.ends_with(",ok}")).count(), 8);
}

#[test]
fn a_lost_gpu_has_nothing_but_its_state_and_comes_back() {
    let (metrics, _folder) = started("devices 2\nlost 1 after 150\nback 1 after 151\n");
    series_when(&metrics, |series| of(series, 1).len() > 10);
    let lost = "hw.status{GPU-fake-1,gpu1,Fake H200,fake,gpu,failed}";
    let series = series_when(&metrics, |series| series.get(lost) == Some(&1.0));
    assert_eq!(of(&series, 1).len(), 3, "{:?}", of(&series, 1));
    assert!(of(&series, 0).len() > 10);
    let notes = metrics.notes();
    assert_eq!(notes.iter().filter(|note| note.contains("lost")).count(), 1, "{notes:?}");
    series_when(&metrics, |series| of(series, 1).len() > 10);
}

#[test]
fn a_driver_that_hangs_takes_its_gpus_figures_along_and_nothing_else() {
    let (metrics, _folder) = started("devices 2\nhang after 150\n");
    series_when(&metrics, |series| of(series, 1).len() > 10);
    let failed = "hw.status{GPU-fake-0,gpu0,Fake H200,fake,gpu,failed}";
    let series = series_when(&metrics, |series| series.get(failed) == Some(&1.0));
    assert_eq!((of(&series, 0).len(), of(&series, 1).len()), (3, 3));
    // The machine's figures go on.
    let passes = metrics.snapshot().passes;
    assert!(metrics.wait_for_pass(passes + 3, PATIENCE));
    assert!(metrics.snapshot().host.memory.is_some());
    assert!(metrics.notes().iter().any(|note| note.contains("does not answer")));
    let begun = Instant::now();
    metrics.stop();
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn what_is_not_permitted_is_absent_and_told_once() {
    let (metrics, _folder) = started("deny power energy\n");
    let series =
        series_when(&metrics, |series| series.keys().any(|key| key.starts_with("hw.temperature{GPU")));
    assert!(!series.keys().any(|key| key.starts_with("hw.power{GPU") || key.starts_with("hw.energy{GPU")));
    let notes = metrics.notes();
    assert_eq!(notes.iter().filter(|note| note.contains("power")).count(), 1, "{notes:?}");
}

#[test]
fn parts_of_a_gpu_have_their_own_memory() {
    let (metrics, _folder) = started("mig 0 2\n");
    let of_part = "hw.gpu.memory.limit{MIG-fake-0-1,gpu0.mig1,Fake H200 MIG 1g.18gb,fake}";
    let series = series_when(&metrics, |series| series.contains_key(of_part));
    assert!((series[of_part] - 18.0 * f64::from(1 << 30)).abs() < 1.0);
    assert!(!series.keys().any(|key| key.starts_with("hw.gpu.utilization{MIG")));
}

#[test]
fn a_ramp_a_slow_driver_and_none() {
    let (metrics, _folder) = started("ramp\nleak\nslow 5\n");
    let key = "hw.gpu.utilization{GPU-fake-0,gpu0,Fake H200,fake,general}";
    let series = series_when(&metrics, |series| series.get(key).is_some_and(|share| *share > 0.02));
    let peak = series["stepscope.gpu.memory.peak{GPU-fake-0,gpu0,Fake H200,fake}"];
    assert!(peak > f64::from(1 << 30));
    let folder = tempfile::tempdir().unwrap();
    let metrics = Metrics::builder().gpu_library(folder.path().join("none.so")).start().unwrap();
    assert!(metrics.wait_for_devices(PATIENCE));
    assert!(metrics.snapshot().gpus.is_empty());
    assert!(metrics.notes().iter().any(|note| note.contains("failed to load")));
    let (refused, _folder) = started("init no_permission\n");
    let deadline = Instant::now() + PATIENCE;
    while !refused.notes().iter().any(|note| note.contains("permission")) {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(20));
    }
}

//! Allocators that are linked into the program, played by functions of theirs with known figures; and glibc, which is there.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stepscope_metrics::{Builder, Metrics, Sampler};

use crate::common::series;

/// jemalloc's, as `tikv-jemalloc-sys` calls it.
#[unsafe(no_mangle)]
extern "C" fn _rjem_mallctl(
    name: *const c_char,
    old: *mut c_void,
    old_length: *mut usize,
    _: *mut c_void,
    new_length: usize,
) -> c_int {
    // SAFETY: the exporter hands texts on.
    let value: u64 = match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"epoch" if new_length == 8 => return 0,
        b"stats.allocated" => 600,
        b"stats.resident" => 800,
        b"arenas.narenas" => 9,
        _ => return 2,
    };
    // SAFETY: as for the real one.
    unsafe {
        if *old_length == 4 {
            *old.cast::<u32>() = value as u32;
        } else {
            *old.cast::<u64>() = value;
        }
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn mi_process_info(
    _: *mut usize,
    _: *mut usize,
    _: *mut usize,
    _: *mut usize,
    _: *mut usize,
    committed: *mut usize,
    _: *mut usize,
    _: *mut usize,
) {
    // SAFETY: as for the real one.
    unsafe { *committed = 4_096 };
}

#[test]
fn linked_allocators_are_found_and_say_what_they_know() {
    let found = series(Sampler::new(std::process::id()).pass());
    let of =
        |figure: &str, name: &str| found.get(&format!("stepscope.allocator.{figure}{{{name}}}")).copied();
    assert_eq!(
        ["live", "reserved", "fragmentation", "arenas"].map(|figure| of(figure, "jemalloc")),
        [Some(600.0), Some(800.0), Some(0.25), Some(9.0)]
    );
    assert_eq!(
        ["live", "reserved", "fragmentation", "arenas"].map(|figure| of(figure, "mimalloc")),
        [None, Some(4_096.0), None, None]
    );
}

#[cfg(target_env = "gnu")]
#[test]
fn glibc_tells_of_what_was_allocated() {
    const BYTES: usize = 256 << 20;
    let live =
        || series(Sampler::new(std::process::id()).pass()).get("stepscope.allocator.live{glibc}").copied();
    let before = live().unwrap();
    let block = std::hint::black_box(vec![0_u8; BYTES]);
    let after = live().unwrap();
    drop(block);
    // Other tests may allocate and free a little meanwhile.
    assert!((after - before - BYTES as f64).abs() < 64e6, "{before} {after}");
}

#[test]
fn another_process_has_no_allocators_here() {
    let mut sleep = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let found = series(Sampler::new(sleep.id()).pass());
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert!(found.contains_key("process.thread.count"));
    assert!(!found.keys().any(|key| key.starts_with("stepscope.allocator.")));
}

#[test]
fn the_rate_of_allocations_is_that_of_the_counter() {
    static ALLOCATED: AtomicU64 = AtomicU64::new(1_000);
    let count = || Some(ALLOCATED.fetch_add(50_000, Ordering::Relaxed));
    let interval = Duration::from_millis(100);
    let started = |builder: Builder| {
        let metrics = builder.interval(interval).gpus(false).start().unwrap();
        // One reading has no rate yet.
        assert!(metrics.wait_for_pass(2, Duration::from_secs(60)));
        metrics.snapshot().allocation_rate
    };
    let rate = started(Metrics::builder().allocations(count)).unwrap();
    assert!(rate > 0.0 && rate.is_finite(), "{rate}");
    assert_eq!(started(Metrics::builder().allocations(|| None)), None);
    assert_eq!(started(Metrics::builder()), None);
}

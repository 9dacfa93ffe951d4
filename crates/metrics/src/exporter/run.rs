//! The passes: each asks every source, looks at the alerts, puts the snapshot into the holder, and tells who follows it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
#[cfg(feature = "otlp")]
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stepscope_limits::leaks;

use super::PATIENCE;
use super::builder::{Builder, Counter, Told};
use super::holder::{Shared, State};
use crate::alerts::Watcher;
#[cfg(feature = "facade")]
use crate::facade::{Registry, registry};
use crate::gpu;
use crate::slow;
use crate::snapshot::{Program, Snapshot};
use crate::source::{SLOW_PASSES, Sampler};
use crate::watch::Life;

/// The passes.
pub(super) fn run(shared: &Shared, builder: &Builder) {
    let interval = builder.interval;
    let mut sampler = Sampler::with_notes(
        &builder.root,
        builder.pid,
        builder.has_host,
        builder.container.as_ref(),
        &shared.notes,
    );
    let slowly = interval.saturating_mul(u32::try_from(SLOW_PASSES).unwrap_or(10));
    // Twice the time to the next reading, and no less than a slow disk needs.
    let slow_deadline = slowly.saturating_mul(2).max(Duration::from_secs(30));
    let slow = if builder.has_host { slow::start(slowly) } else { None };
    let options = gpu::Options { library: builder.gpu_library.clone(), pid: builder.pid, interval };
    let gpus = if builder.has_gpus && builder.has_host {
        gpu::start(options, Arc::clone(&shared.notes))
    } else {
        None
    };
    let mut watcher = Watcher::new(builder.alerts.clone());
    let mut allocated = None;
    let mut next = Instant::now();
    loop {
        let asked = shared.lock().asked;
        sampler.pass();
        let mut has_devices = true;
        if let Some(slow) = &slow {
            let (life, is_known) = slow::merge(slow, slow_deadline, sampler.snapshot_mut());
            has_devices &= is_known;
            if life == Life::Stuck {
                shared.notes.tell(
                    "slow",
                    "a file system or a sensor does not answer: spaces and temperatures are withheld until it does",
                );
            }
        }
        if let Some(gpus) = &gpus {
            let (life, is_known) = gpu::merge(gpus, sampler.snapshot_mut());
            has_devices &= is_known;
            if life == Life::Stuck {
                shared.notes.tell(
                    "gpus",
                    "the GPUs' driver does not answer: their figures are withheld until it does (nvidia-smi hangs, \
                     too?)",
                );
            }
        }
        complete(shared, builder, sampler.snapshot_mut());
        if let Some(Counter(count)) = &builder.allocations {
            sampler.snapshot_mut().allocation_rate = rate(&**count, &mut allocated);
        }
        watcher.look(sampler.snapshot_mut(), Instant::now());
        let mut state = shared.lock();
        state.has_devices = has_devices;
        state.snapshot.clone_from(sampler.snapshot_mut());
        if builder.keeps_history {
            let State { snapshot, history, .. } = &mut *state;
            history.record(snapshot, builder.budget);
        }
        state.taken = Some(Instant::now());
        state.process_ended = sampler.process_ended();
        state.container_ended = sampler.container_ended();
        shared.notify();
        drop(state);
        watcher.tell(&shared.notes);
        shared.follow(sampler.snapshot_mut());
        let now = Instant::now();
        if now >= next {
            // After a pause of the machine, passes that were missed are not made up for.
            next = (next + interval).max(now);
        }
        let mut state = shared.lock();
        state.answered = asked;
        shared.notify();
        while !state.stops && state.asked == state.answered {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = shared.wait(state, left);
        }
        if state.stops {
            drop(state);
            if let Some(slow) = &slow {
                slow.stop(PATIENCE / 2);
            }
            if let Some(gpus) = &gpus {
                gpus.stop(PATIENCE / 2);
            }
            break;
        }
    }
    shared.let_followers_go();
    shared.lock().ended = true;
    shared.notify();
}

/// Of a counter, whose reading before is in `before`; absent after the first one.
fn rate(count: &dyn Fn() -> Option<u64>, before: &mut Option<(u64, Instant)>) -> Option<f64> {
    let count = std::panic::catch_unwind(AssertUnwindSafe(count)).ok().flatten();
    let reading = count.map(|count| (count, Instant::now()));
    let (now, then) = (reading?, std::mem::replace(before, reading)?);
    let seconds = now.1.duration_since(then.1).as_secs_f64();
    (seconds > 0.0).then(|| now.0.saturating_sub(then.0) as f64 / seconds)
}

/// What others than the system's files know.
fn complete(shared: &Shared, builder: &Builder, snapshot: &mut Snapshot) {
    #[cfg(not(feature = "otlp"))]
    let _ = shared;
    #[cfg(feature = "otlp")]
    if builder.endpoint.is_some() {
        snapshot.pushes_failed = Some(shared.pushes_failed.load(Ordering::Relaxed));
    }
    #[cfg(feature = "facade")]
    if builder.installs_recorder {
        registry().read(&mut snapshot.user);
        snapshot.user_dropped = Some(Registry::refused());
    }
    if let Some(Told(tell)) = &builder.program {
        let program = &mut snapshot.program;
        if std::panic::catch_unwind(AssertUnwindSafe(|| tell(program))).is_err() {
            *program = Program::default();
        }
    }
    if builder.pid == std::process::id() {
        snapshot.program.leak = leaks::latest();
    }
}

//! NVIDIA's GPUs, by NVML. Loads the driver's library, finds the devices, and reads each by tiers: what is cheap several
//! times a pass, the rest once a pass or once in ten. Takes no more than a tenth of its thread's time.

use std::time::{Duration, Instant};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::Options;
use super::unit::{Context, Due, Unit};
use crate::notes::Notes;
use crate::snapshot::Gpu;
use crate::source::SLOW_PASSES;
use crate::watch::Watched;

/// Readings of the cheap figures in a pass.
const FAST_READINGS: u32 = 10;
const MIN_FAST: Duration = Duration::from_millis(50);
/// More devices are left out.
const MAX_UNITS: usize = 64;
/// Between attempts at a driver that refuses, and at a GPU that is lost; doubled each time up to the last.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LAST_RETRY: Duration = Duration::from_secs(300);

/// Reads until it is stopped, or for as long as there is a driver.
pub(super) fn run(watched: &Watched<Vec<Gpu>>, options: &Options, notes: &Notes) {
    let mut retry = FIRST_RETRY;
    loop {
        watched.beat();
        match load(options) {
            Ok(nvml) => {
                session(&nvml, watched, options, notes);
                return;
            }
            // A machine without such GPUs, unless someone says otherwise.
            Err(NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound) if options.library.is_none() => {
                return;
            }
            Err(NvmlError::DriverNotLoaded) if options.library.is_none() => return,
            Err(error @ (NvmlError::LibloadingError(_) | NvmlError::FailedToLoadSymbol(_))) => {
                let path = options.library.as_deref().unwrap_or_else(|| "libnvidia-ml.so.1".as_ref());
                notes.tell("nvml", &format!("no GPU is shown: failed to load {}: {error}", path.display()));
                return;
            }
            Err(error) => notes.tell(
                "nvml",
                &format!(
                    "no GPU is shown: {error}; it is tried again (nvidia-smi shows whether the driver works)"
                ),
            ),
        }
        if !watched.pause(retry) {
            return;
        }
        retry = (2 * retry).min(LAST_RETRY);
    }
}

fn load(options: &Options) -> Result<Nvml, NvmlError> {
    match &options.library {
        Some(path) => Nvml::builder().lib_path(path.as_os_str()).init(),
        None => Nvml::init(),
    }
}

fn session(nvml: &Nvml, watched: &Watched<Vec<Gpu>>, options: &Options, notes: &Notes) {
    // A driver of the tests says so in its version.
    let is_fake = nvml.sys_driver_version().is_ok_and(|version| version.contains("fake"));
    let beat = || watched.beat();
    let context = Context {
        beat: &beat,
        notes,
        pids: pids(options.pid),
        vendor: if is_fake { "fake" } else { "nvidia" }.into(),
    };
    let fast = (options.interval / FAST_READINGS).max(MIN_FAST);
    let slow = options.interval.saturating_mul(u32::try_from(SLOW_PASSES).unwrap_or(10));
    let mut units = find(nvml, &context);
    // Who they are, for the case that the first reading does not end.
    publish(watched, &units);
    let (mut last_pass, mut last_slow) = (None::<Instant>, None::<Instant>);
    let (mut retry, mut last_retry) = (FIRST_RETRY, Instant::now());
    loop {
        let begun = Instant::now();
        let is_due = |last: &mut Option<Instant>, interval: Duration| {
            // A little early is better than a reading later.
            let is_due = last.is_none_or(|last| begun.duration_since(last) + fast / 2 >= interval);
            if is_due {
                *last = Some(begun);
            }
            is_due
        };
        let due = Due { pass: is_due(&mut last_pass, options.interval), slow: is_due(&mut last_slow, slow) };
        for unit in &mut units {
            unit.read(due, &context);
            if watched.stops() {
                return;
            }
        }
        if units.iter().all(|unit| !unit.is_lost()) {
            (retry, last_retry) = (FIRST_RETRY, begun);
        } else if last_retry.elapsed() >= retry {
            (retry, last_retry) = ((2 * retry).min(LAST_RETRY), begun);
            units.iter_mut().filter(|unit| unit.is_lost()).for_each(|unit| unit.revive(nvml, &context));
        }
        publish(watched, &units);
        if !watched.pause(fast.max(9 * begun.elapsed())) {
            return;
        }
    }
}

fn publish(watched: &Watched<Vec<Gpu>>, units: &[Unit<'_>]) {
    watched.publish(|found| {
        let found = found.get_or_insert_default();
        found.resize_with(units.len(), Gpu::default);
        for (slot, unit) in found.iter_mut().zip(units) {
            slot.clone_from(unit.figures());
        }
    });
}

/// All devices, parts of them (MIG) among them.
fn find<'n>(nvml: &'n Nvml, context: &Context<'_>) -> Vec<Unit<'n>> {
    let mut units = Vec::new();
    let count = nvml.device_count().unwrap_or(0);
    for index in 0..count.min(MAX_UNITS as u32) {
        (context.beat)();
        let device = match nvml.device_by_index(index) {
            Ok(device) => device,
            Err(error) => {
                let text = format!("GPU {index} is not shown: {error}");
                context.notes.tell(&format!("gpu{index}"), &text);
                continue;
            }
        };
        let parts = device.mig_mode().is_ok_and(|mode| mode.current == 1);
        let parts = if parts { device.mig_device_count().unwrap_or(0) } else { 0 };
        for part in 0..parts {
            let name = format!("gpu{index}.mig{part}");
            if let Some(unit) =
                device.mig_device_by_index(part).ok().map(|part| Unit::part(part, &name, context))
            {
                units.push(unit);
            }
        }
        units.push(Unit::whole(nvml, device, &format!("gpu{index}"), context));
    }
    units.truncate(MAX_UNITS);
    units
}

/// The ids by which the process is known in the namespaces of processes around it.
fn pids(pid: u32) -> Vec<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    let mut pids: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    pids.push(pid);
    pids
}

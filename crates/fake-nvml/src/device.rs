//! The state of the library: its scenario, how often each device was asked, and what becomes of a call before it is
//! answered.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use nvml_wrapper_sys::bindings::*;

use crate::scenario::Scenario;

/// Most devices that a scenario may have.
const MAX_DEVICES: usize = 16;

static SCENARIO: OnceLock<Scenario> = OnceLock::new();
static CALLS: AtomicU64 = AtomicU64::new(0);
static CALLS_OF: [AtomicU64; MAX_DEVICES] = [const { AtomicU64::new(0) }; MAX_DEVICES];
/// Readings of utilization, of memory.
pub(crate) static READINGS: [[AtomicU64; 2]; MAX_DEVICES] =
    [const { [const { AtomicU64::new(0) }; 2] }; MAX_DEVICES];
/// Whether the device's errors were reported.
pub(crate) static REPORTED: [AtomicU64; MAX_DEVICES] = [const { AtomicU64::new(0) }; MAX_DEVICES];

/// The scenario in the folder of this library.
pub(crate) fn scenario() -> &'static Scenario {
    SCENARIO.get_or_init(|| {
        let text = folder().and_then(|folder| std::fs::read_to_string(folder.join("scenario")).ok());
        Scenario::parse(&text.unwrap_or_default())
    })
}

#[expect(unsafe_code, reason = "asks the loader where this library is")]
fn folder() -> Option<PathBuf> {
    // SAFETY: zero is a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is one of this library, `info` is writable.
    if unsafe { libc::dladdr((&raw const CALLS).cast(), &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a string of the loader's, which lives as long as the library.
    let path = unsafe { CStr::from_ptr(info.dli_fname) };
    PathBuf::from(path.to_str().ok()?).parent().map(PathBuf::from)
}

pub(crate) fn count() -> usize {
    usize::try_from(scenario().number("devices").unwrap_or(1)).unwrap_or(1).min(MAX_DEVICES)
}

/// Device and part of a handle.
pub(crate) fn of(handle: nvmlDevice_t) -> Result<(usize, Option<usize>), nvmlReturn_t> {
    let number = handle.addr();
    let (device, part) = (number & 0xff, number >> 8);
    if device == 0 || device > count() {
        return Err(nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT);
    }
    Ok((device - 1, part.checked_sub(1)))
}

pub(crate) fn handle(device: usize, part: Option<usize>) -> nvmlDevice_t {
    std::ptr::without_provenance_mut((device + 1) | (part.map_or(0, |part| part + 1) << 8))
}

/// A call has come: counts it, delays it, and says what stands against an answer.
pub(crate) fn enter(what: &str, device: Option<usize>) -> Result<(), nvmlReturn_t> {
    let scenario = scenario();
    let calls = CALLS.fetch_add(1, Ordering::SeqCst);
    if let Some(milliseconds) = scenario.number("slow") {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
    let hangs = scenario.all("hang").find_map(|rest| rest.last()?.parse::<u64>().ok());
    while hangs.is_some_and(|after| calls >= after) {
        std::thread::sleep(Duration::from_secs(3_600));
    }
    if scenario.all("deny").any(|rest| rest.iter().any(|word| word == what)) {
        return Err(nvmlReturn_enum_NVML_ERROR_NO_PERMISSION);
    }
    let Some((device, count)) = device.and_then(|device| Some((device, CALLS_OF.get(device)?))) else {
        return Ok(());
    };
    let calls = count.fetch_add(1, Ordering::SeqCst);
    let is_back = scenario.after("back", device).is_some_and(|after| calls >= after);
    let is_lost = scenario.after("lost", device).is_some_and(|after| calls >= after);
    if is_lost && !is_back { Err(nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST) } else { Ok(()) }
}

pub(crate) fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(0))
}

/// Share of its time that a device uses, percent.
pub(crate) fn percent(device: usize) -> u32 {
    let readings = READINGS.get(device).map_or(0, |[readings, _]| readings.load(Ordering::SeqCst));
    let percent = if scenario().has("ramp") { readings } else { 10 * (device as u64 + 1) };
    u32::try_from(percent.min(100)).unwrap_or(100)
}

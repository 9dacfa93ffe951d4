//! The functions that say something of a device, each answered from the scenario.
#![expect(unsafe_code, reason = "functions of C")]
#![expect(unreachable_pub, reason = "they are found by their names")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "pointers are the caller's, which NVML has valid")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong};
use std::sync::atomic::Ordering;

use nvml_wrapper_sys::bindings::*;

use crate::calls::{answer, text};
use crate::device::{READINGS, enter, now_us, of, percent, scenario};

const GIB: u64 = 1 << 30;

/// A call to a device that is no part: those have memory, and nothing else.
pub(crate) fn whole(handle: nvmlDevice_t, what: &str) -> Result<usize, nvmlReturn_t> {
    let (device, part) = of(handle)?;
    enter(what, Some(device))?;
    if part.is_some() { Err(nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED) } else { Ok(device) }
}

/// `uuid` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(
    handle: nvmlDevice_t,
    to: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let (device, part) = of(handle)?;
        enter("uuid", Some(device))?;
        let name =
            part.map_or_else(|| format!("GPU-fake-{device}"), |part| format!("MIG-fake-{device}-{part}"));
        unsafe { text(&name, to, length)? };
        Ok(())
    })
}

/// `name` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(
    handle: nvmlDevice_t,
    to: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let (_device, part) = of(handle)?;
        enter("name", Some(_device))?;
        let name = if part.is_some() { "Fake H200 MIG 1g.18gb" } else { "Fake H200" };
        unsafe { text(name, to, length)? };
        Ok(())
    })
}

/// `utilization` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    handle: nvmlDevice_t,
    to: *mut nvmlUtilization_t,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "utilization")?;
        if let Some([readings, _]) = READINGS.get(device) {
            readings.fetch_add(1, Ordering::SeqCst);
        }
        unsafe { to.write(nvmlUtilization_t { gpu: percent(device), memory: 5 }) };
        Ok(())
    })
}

/// `memory` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    handle: nvmlDevice_t,
    to: *mut nvmlMemory_v2_t,
) -> nvmlReturn_t {
    answer(|| {
        let (device, part) = of(handle)?;
        enter("memory", Some(device))?;
        let total = if part.is_some() { 18 } else { 80 } * GIB;
        let readings =
            READINGS.get(device).map_or(0, |[_, readings]| readings.fetch_add(1, Ordering::SeqCst));
        let used = if scenario().has("leak") { readings } else { device as u64 } + 1;
        let used = (used * GIB).min(total);
        unsafe { to.write(nvmlMemory_v2_t { version: 2, total, reserved: 0, free: total - used, used }) };
        Ok(())
    })
}

/// `encoder` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEncoderUtilization(
    handle: nvmlDevice_t,
    to: *mut c_uint,
    period: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        whole(handle, "encoder")?;
        unsafe { (to.write(3), period.write(1_000)) };
        Ok(())
    })
}

/// `decoder` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDecoderUtilization(
    handle: nvmlDevice_t,
    to: *mut c_uint,
    period: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        whole(handle, "decoder")?;
        unsafe { (to.write(4), period.write(1_000)) };
        Ok(())
    })
}

/// `clocks` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(
    handle: nvmlDevice_t,
    kind: c_uint,
    to: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        whole(handle, "clocks")?;
        unsafe { to.write(if kind == 2 { 2_600 } else { 1_900 }) };
        Ok(())
    })
}

/// `temperature` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    handle: nvmlDevice_t,
    _: c_uint,
    to: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "temperature")?;
        unsafe { to.write(40 + device as c_uint) };
        Ok(())
    })
}

/// `power` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "power")?;
        unsafe { to.write(1_000 * (100 + device as c_uint)) };
        Ok(())
    })
}

/// `energy` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(
    handle: nvmlDevice_t,
    to: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "energy")?;
        unsafe { to.write(5_000_000 + device as c_ulonglong) };
        Ok(())
    })
}

/// `memory errors` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    handle: nvmlDevice_t,
    kind: c_uint,
    _: c_uint,
    to: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer(|| {
        whole(handle, "memory errors")?;
        unsafe { to.write(if kind == 0 { 7 } else { 0 }) };
        Ok(())
    })
}

/// `throttled` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    handle: nvmlDevice_t,
    to: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "throttled")?;
        let of = |rest: &&[String]| rest.first().and_then(|text| text.parse().ok()) == Some(device);
        let reason = scenario().all("throttled").find(of).and_then(|rest| rest.last());
        let bits = match reason.map(String::as_str) {
            Some("thermal") => 0x40,
            Some("power_cap") => 0x4,
            _ => 0,
        };
        unsafe { to.write(bits) };
        Ok(())
    })
}

/// `samples` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSamples(
    handle: nvmlDevice_t,
    _: c_uint,
    since: c_ulonglong,
    kind: *mut c_uint,
    number: *mut c_uint,
    samples: *mut nvmlSample_t,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "samples")?;
        // One now, where the last one is not of this moment.
        let now = now_us();
        let has_new = now > since;
        unsafe { kind.write(nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT) };
        unsafe { number.write(c_uint::from(has_new)) };
        if has_new && !samples.is_null() {
            let value = nvmlValue_t { uiVal: percent(device) };
            unsafe { samples.write(nvmlSample_t { timeStamp: now, sampleValue: value }) };
        }
        Ok(())
    })
}

/// `PCIe traffic` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    handle: nvmlDevice_t,
    number: c_int,
    fields: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "PCIe traffic")?;
        for index in 0..usize::try_from(number).unwrap_or(0) {
            let field = unsafe { &mut *fields.add(index) };
            field.valueType = nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
            field.value = nvmlValue_t { ullVal: 1_000 * u64::from(field.fieldId) + device as u64 };
            field.nvmlReturn = nvmlReturn_enum_NVML_SUCCESS;
        }
        Ok(())
    })
}

/// `processes` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    handle: nvmlDevice_t,
    number: *mut c_uint,
    processes: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "processes")?;
        // This process, and one that is not.
        if processes.is_null() || unsafe { number.read() } < 2 {
            unsafe { number.write(2) };
            return Err(nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE);
        }
        unsafe { number.write(2) };
        for (index, (pid, bytes)) in [(std::process::id(), device as u64 + 1), (1, 5)].into_iter().enumerate()
        {
            let mut process: nvmlProcessInfo_t = unsafe { std::mem::zeroed() };
            (process.pid, process.usedGpuMemory) = (pid, bytes * GIB / 10);
            unsafe { processes.add(index).write(process) };
        }
        Ok(())
    })
}

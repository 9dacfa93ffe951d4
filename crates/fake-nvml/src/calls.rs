//! The functions of the library itself: start, end, handles, parts, events.
#![expect(unsafe_code, reason = "functions of C")]
#![expect(unreachable_pub, reason = "they are found by their names")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "pointers are the caller's, which NVML has valid")]

use std::ffi::{CStr, c_char, c_uint, c_ulonglong};
use std::sync::atomic::Ordering;

use nvml_wrapper_sys::bindings::*;

use crate::device::{REPORTED, count, enter, handle, of, scenario};
use crate::figures::whole;

const LOST_EVENTS: nvmlReturn_t = nvmlReturn_enum_NVML_ERROR_TIMEOUT;

pub(crate) fn answer(body: impl FnOnce() -> Result<(), nvmlReturn_t>) -> nvmlReturn_t {
    body().err().unwrap_or(nvmlReturn_enum_NVML_SUCCESS)
}

pub(crate) unsafe fn text(text: &str, to: *mut c_char, length: c_uint) -> Result<(), nvmlReturn_t> {
    if text.len() >= length as usize {
        return Err(nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE);
    }
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// Starts.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    let mode = scenario().all("init").find_map(|rest| rest.first()).map(String::as_str);
    match mode {
        Some("driver_not_loaded") => nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED,
        Some("no_permission") => nvmlReturn_enum_NVML_ERROR_NO_PERMISSION,
        _ => nvmlReturn_enum_NVML_SUCCESS,
    }
}

/// Ends.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    answer(|| enter("shutdown", None))
}

/// A version that says what this is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    answer(|| unsafe { text("600.1.fake", version, length) })
}

/// How many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(number: *mut c_uint) -> nvmlReturn_t {
    answer(|| {
        enter("count", None)?;
        unsafe { number.write(count() as c_uint) };
        Ok(())
    })
}

/// By its number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut nvmlDevice_t) -> nvmlReturn_t {
    answer(|| {
        let found = handle(index as usize, None);
        let (device, _) = of(found)?;
        enter("handle", Some(device))?;
        unsafe { to.write(found) };
        Ok(())
    })
}

/// By its identity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(
    uuid: *const c_char,
    to: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    answer(|| {
        let uuid = unsafe { CStr::from_ptr(uuid) }.to_str().unwrap_or_default();
        let number = uuid.strip_prefix("GPU-fake-").and_then(|number| number.parse::<usize>().ok());
        let device = number.filter(|number| *number < count()).ok_or(nvmlReturn_enum_NVML_ERROR_NOT_FOUND)?;
        enter("handle", Some(device))?;
        unsafe { to.write(handle(device, None)) };
        Ok(())
    })
}

/// A set of events; of which device is known at the registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(set: *mut nvmlEventSet_t) -> nvmlReturn_t {
    let slot = Box::into_raw(Box::new(0_usize));
    unsafe { set.write(slot.cast()) };
    nvmlReturn_enum_NVML_SUCCESS
}

/// Gives it back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> nvmlReturn_t {
    drop(unsafe { Box::from_raw(set.cast::<usize>()) });
    nvmlReturn_enum_NVML_SUCCESS
}

/// Of this device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceRegisterEvents(
    handle: nvmlDevice_t,
    _: c_ulonglong,
    set: nvmlEventSet_t,
) -> nvmlReturn_t {
    answer(|| {
        let (device, _) = of(handle)?;
        enter("events", Some(device))?;
        unsafe { set.cast::<usize>().write(device + 1) };
        Ok(())
    })
}

/// The errors of the scenario, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(
    set: nvmlEventSet_t,
    data: *mut nvmlEventData_t,
    _: c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let device = unsafe { set.cast::<usize>().read() }.checked_sub(1).ok_or(LOST_EVENTS)?;
        enter("events", Some(device))?;
        let code = scenario().after("xid", device).ok_or(LOST_EVENTS)?;
        if REPORTED.get(device).is_none_or(|reported| reported.swap(1, Ordering::SeqCst) > 0) {
            return Err(LOST_EVENTS);
        }
        let event = nvmlEventData_t {
            device: handle(device, None),
            eventType: nvmlEventTypeXidCriticalError as c_ulonglong,
            eventData: code,
            gpuInstanceId: 0,
            computeInstanceId: 0,
        };
        unsafe { data.write(event) };
        Ok(())
    })
}

/// `mig` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    handle: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "mig")?;
        let mode = c_uint::from(scenario().after("mig", device).is_some());
        unsafe { current.write(mode) };
        unsafe { pending.write(mode) };
        Ok(())
    })
}

/// `mig` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(
    handle: nvmlDevice_t,
    to: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "mig")?;
        unsafe { to.write(scenario().after("mig", device).unwrap_or(0) as c_uint) };
        Ok(())
    })
}

/// `mig` of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    handle: nvmlDevice_t,
    index: c_uint,
    to: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    answer(|| {
        let device = whole(handle, "mig")?;
        unsafe { to.write(crate::device::handle(device, Some(index as usize))) };
        Ok(())
    })
}

//! Metrics of devices: GPUs by NVML, energy of processors, temperatures. Points of a device that is gone are absent.

use crate::attr;
use crate::vocabulary::{Instrument, Metric, Tier, stability};

metrics! {
    /// 1 for the state that the component is in, 0 for the others.
    HW_STATUS = "hw.status", UpDownCounter, "1", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::HW_TYPE, attr::HW_STATE], "nvmlDeviceGetHandleByUUID", Pass;
    /// Share of the time in which at least one kernel ran.
    GPU_UTILIZATION = "hw.gpu.utilization", Gauge, "1", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::HW_GPU_TASK], "nvmlDeviceGetUtilizationRates", Fast;
    /// Memory of the GPU that is in use.
    GPU_MEMORY_USAGE = "hw.gpu.memory.usage", UpDownCounter, "By", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR], "nvmlDeviceGetMemoryInfo_v2", Fast;
    /// Memory of the GPU.
    GPU_MEMORY_LIMIT = "hw.gpu.memory.limit", UpDownCounter, "By", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR], "nvmlDeviceGetMemoryInfo_v2", Fast;
    /// Share of the GPU's memory that is in use.
    GPU_MEMORY_UTILIZATION = "hw.gpu.memory.utilization", Gauge, "1", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR], "nvmlDeviceGetMemoryInfo_v2", Fast;
    /// Most memory of the GPU that was in use at a reading since the exporter started.
    GPU_MEMORY_PEAK = "stepscope.gpu.memory.peak", Gauge, "By", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR], "nvmlDeviceGetMemoryInfo_v2", Fast;
    /// Memory of the GPU by whose it is.
    GPU_PROCESS_MEMORY = "stepscope.gpu.process.memory", UpDownCounter, "By", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::GPU_PROCESS], "nvmlDeviceGetComputeRunningProcesses_v3", Slow;
    /// Time in which at least one kernel ran, since the exporter started: the driver's samples added up.
    GPU_BUSY_TIME = "stepscope.gpu.busy_time", Counter, "s", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR], "nvmlDeviceGetSamples", Pass;
    /// Share of the time in which a unit of the GPU was active; of GPUs that count it.
    GPU_ACTIVITY = "stepscope.gpu.activity", Gauge, "1", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::GPU_UNIT], "nvmlGpmMetricsGet", Pass;
    /// Bytes over PCIe.
    GPU_IO = "hw.gpu.io", Counter, "By", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::NETWORK_IO_DIRECTION], "nvmlDeviceGetFieldValues", Pass;
    /// Clock frequency.
    GPU_CLOCK = "stepscope.gpu.clock.frequency", Gauge, "Hz", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::GPU_CLOCK_DOMAIN], "nvmlDeviceGetClockInfo", Pass;
    /// 1 for each reason for which the clocks are lower than they could be, 0 for the others.
    GPU_THROTTLED = "stepscope.gpu.throttled", Gauge, "1", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::GPU_THROTTLE_REASON], "nvmlDeviceGetCurrentClocksThrottleReasons", Pass;
    /// XID errors that the driver has reported since the exporter started, by code.
    GPU_XID = "stepscope.gpu.xid", Counter, "{error}", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::GPU_XID_CODE], "nvmlEventSetWait_v2", Fast;
    /// Errors of the GPU's memory: `ecc_corrected` and `ecc_uncorrected`.
    HW_ERRORS = "hw.errors", Counter, "{error}", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::HW_TYPE, attr::ERROR_TYPE], "nvmlDeviceGetTotalEccErrors", Slow;
    /// Temperature of a GPU or of a sensor of the machine.
    HW_TEMPERATURE = "hw.temperature", Gauge, "Cel", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR], "nvmlDeviceGetTemperature, /sys/class/hwmon", Pass;
    /// Power that a GPU or a processor package takes.
    HW_POWER = "hw.power", Gauge, "W", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::HW_TYPE], "nvmlDeviceGetPowerUsage, /sys/class/powercap", Pass;
    /// Energy that a GPU or a processor package has taken. Absent where it may not be read.
    HW_ENERGY = "hw.energy", Counter, "J", [attr::HW_ID, attr::HW_NAME, attr::HW_MODEL, attr::HW_VENDOR, attr::HW_TYPE], "nvmlDeviceGetTotalEnergyConsumption, /sys/class/powercap", Pass;
}

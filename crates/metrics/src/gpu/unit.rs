//! One GPU of NVML, or a part of one: its figures, each absent where the driver does not say it, and whether it is lost.

use std::sync::Arc;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, Sampling, TemperatureSensor};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::event::EventSet;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::struct_wrappers::device::Sample;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;
use nvml_wrapper::{Device, Nvml};

use super::fail;
use crate::notes::Notes;
use crate::snapshot::Gpu;

/// Codes of XID errors that are told apart.
const MAX_XIDS: usize = 16;
/// Events taken at once.
const MAX_EVENTS: usize = 64;

/// What is the same for all.
pub(super) struct Context<'c> {
    /// The thread lives.
    pub(super) beat: &'c dyn Fn(),
    pub(super) notes: &'c Notes,
    /// Ids of the process that is followed.
    pub(super) pids: Vec<u32>,
    pub(super) vendor: Arc<str>,
}

/// What is due beside the cheap figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) pass: bool,
    pub(super) slow: bool,
}

pub(super) struct Unit<'n> {
    device: Device<'n>,
    is_lost: bool,
    figures: Gpu,
    events: Option<EventSet<'n>>,
    activity: Option<(&'n Nvml, Option<GpmSample<'n>>)>,
    /// The last sample of utilization that was counted, microseconds.
    counted_us: u64,
}

impl<'n> Unit<'n> {
    /// A GPU.
    pub(super) fn whole(nvml: &'n Nvml, device: Device<'n>, name: &str, context: &Context<'_>) -> Self {
        let mut unit = Self::part(device, name, context);
        unit.attach(nvml);
        unit
    }

    /// A part: it has memory and processes, and else nothing of its own.
    pub(super) fn part(device: Device<'n>, name: &str, context: &Context<'_>) -> Self {
        let figures = Gpu {
            // One that does not say who it is has its place for an identity.
            uuid: device.uuid().unwrap_or_else(|_| name.to_owned()).into(),
            name: name.into(),
            model: device.name().unwrap_or_else(|_| "unknown".to_owned()).into(),
            vendor: Arc::clone(&context.vendor),
            ..Gpu::default()
        };
        Self { device, is_lost: false, figures, events: None, activity: None, counted_us: 0 }
    }

    fn attach(&mut self, nvml: &'n Nvml) {
        let set = nvml.create_event_set().ok();
        let register = |set| self.device.register_events(EventTypes::CRITICAL_XID_ERROR, set).ok();
        self.events = set.and_then(register);
        self.activity = self.device.gpm_support().is_ok_and(|has| has).then_some((nvml, None));
    }

    pub(super) const fn figures(&self) -> &Gpu {
        &self.figures
    }

    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Looks whether a lost one is back.
    pub(super) fn revive(&mut self, nvml: &'n Nvml, context: &Context<'_>) {
        (context.beat)();
        let Ok(device) = nvml.device_by_uuid(&*self.figures.uuid) else { return };
        if device.utilization_rates().is_err() && device.memory_info().is_err() {
            return;
        }
        (self.device, self.is_lost, self.counted_us) = (device, false, 0);
        self.figures.state = "ok";
        self.attach(nvml);
    }

    /// Reads what is due. A lost one has nothing but its state.
    pub(super) fn read(&mut self, due: Due, context: &Context<'_>) {
        if self.is_lost {
            return;
        }
        self.often(context);
        self.events(context);
        if due.pass {
            self.each_pass(context);
        }
        if due.slow {
            self.seldom(context);
        }
        if self.is_lost {
            fail(&mut self.figures);
            (self.events, self.activity) = (None, None);
            let text = format!(
                "{} ({}) is lost: its figures are withdrawn until it is back",
                self.figures.name, self.figures.uuid
            );
            context.notes.tell(&format!("lost {}", self.figures.uuid), &text);
        }
    }

    /// One call. The first that says that the device is lost is the last.
    fn ask<T>(
        &mut self,
        context: &Context<'_>,
        what: &str,
        call: impl FnOnce(&Device<'n>) -> Result<T, NvmlError>,
    ) -> Option<T> {
        if self.is_lost {
            return None;
        }
        (context.beat)();
        match call(&self.device) {
            Ok(answer) => Some(answer),
            Err(NvmlError::GpuLost | NvmlError::ResetRequired) => {
                self.is_lost = true;
                None
            }
            Err(NvmlError::NoPermission) => {
                let text = format!("the driver does not permit reading the GPUs' {what}: it is unknown");
                context.notes.tell(what, &text);
                None
            }
            Err(_) => None,
        }
    }

    fn often(&mut self, context: &Context<'_>) {
        let rates = self.ask(context, "utilization", Device::utilization_rates);
        let [general, ..] = &mut self.figures.utilization;
        *general = rates.map(|rates| f64::from(rates.gpu) / 100.0);
        let memory = self.ask(context, "memory", Device::memory_info);
        self.figures.memory_used_bytes = memory.as_ref().map(|memory| memory.used);
        self.figures.memory_total_bytes = memory.map(|memory| memory.total);
        self.figures.memory_peak_bytes = self.figures.memory_peak_bytes.max(self.figures.memory_used_bytes);
    }

    fn events(&mut self, context: &Context<'_>) {
        let Some(events) = self.events.as_ref().filter(|_| !self.is_lost) else { return };
        for _ in 0..MAX_EVENTS {
            (context.beat)();
            let Ok(event) = events.wait(0) else { break };
            let code = match event.event_data {
                Some(XidError::Value(code)) => code,
                Some(XidError::Unknown) => 999,
                None => continue,
            };
            let xids = &mut self.figures.xids;
            if let Some((_, count)) = xids.iter_mut().find(|(known, _)| *known == code) {
                *count += 1;
            } else if xids.len() < MAX_XIDS {
                xids.push((code, 1));
            }
        }
    }

    fn each_pass(&mut self, context: &Context<'_>) {
        let encoder = self.ask(context, "encoder", Device::encoder_utilization);
        let decoder = self.ask(context, "decoder", Device::decoder_utilization);
        let [_, encoding, decoding] = &mut self.figures.utilization;
        *encoding = encoder.map(|encoder| f64::from(encoder.utilization) / 100.0);
        *decoding = decoder.map(|decoder| f64::from(decoder.utilization) / 100.0);
        self.busy(context);
        self.activity(context);
        let ids = [field_id::NVML_FI_DEV_PCIE_COUNT_RX_BYTES, field_id::NVML_FI_DEV_PCIE_COUNT_TX_BYTES]
            .map(FieldId);
        let fields = self.ask(context, "PCIe traffic", |device| device.field_values_for(&ids));
        // By their places: drivers give some fields other numbers.
        let mut fields = fields.into_iter().flatten().map(|field| integer(&field.ok()?.value.ok()?));
        self.figures.pcie_bytes = std::array::from_fn(|_| fields.next().flatten());
        self.figures.clock_hz = [Clock::SM, Clock::Memory].map(|clock| {
            let megahertz = self.ask(context, "clocks", |device| device.clock_info(clock));
            megahertz.map(|megahertz| u64::from(megahertz) * 1_000_000)
        });
        let reasons = self.ask(context, "reasons of throttling", Device::current_throttle_reasons);
        self.figures.throttled = throttled(reasons);
        let celsius = self.ask(context, "temperature", |device| device.temperature(TemperatureSensor::Gpu));
        self.figures.celsius = celsius.map(f64::from);
        let milliwatts = self.ask(context, "power", Device::power_usage);
        self.figures.watts = milliwatts.map(|milliwatts| f64::from(milliwatts) / 1e3);
        let millijoules = self.ask(context, "energy", Device::total_energy_consumption);
        self.figures.joules = millijoules.map(|millijoules| millijoules as f64 / 1e3);
    }

    /// Adds up the driver's samples, each of which is of the time since the one before.
    fn busy(&mut self, context: &Context<'_>) {
        let since_us = self.counted_us;
        let samples =
            self.ask(context, "samples", |device| device.samples(Sampling::GpuUtilization, since_us));
        let Some(samples) = samples else { return };
        let mut busy_s = self.figures.busy_s.unwrap_or(0.0);
        for Sample { timestamp, value } in samples {
            let Some(percent) = integer(&value).filter(|percent| *percent <= 100) else { continue };
            if timestamp <= self.counted_us {
                continue;
            }
            if self.counted_us > 0 {
                busy_s += (timestamp - self.counted_us) as f64 / 1e6 * percent as f64 / 100.0;
            }
            self.counted_us = timestamp;
        }
        self.figures.busy_s = Some(busy_s);
    }

    fn activity(&mut self, context: &Context<'_>) {
        let Some((nvml, before)) = self.activity.take() else { return };
        let now = self.ask(context, "activity", Device::gpm_sample);
        let units = [GpmMetricId::SmUtil, GpmMetricId::AnyTensorUtil, GpmMetricId::DramBwUtil];
        let shares = before
            .zip(now.as_ref())
            .and_then(|(before, now)| gpm_metrics_get(nvml, &before, now, &units).ok());
        let mut shares = shares.into_iter().flatten().map(|share| share.ok());
        self.figures.activity = std::array::from_fn(|_| {
            let percent = shares.next().flatten().map(|share| share.value);
            percent.filter(|percent| percent.is_finite()).map(|percent| percent / 100.0)
        });
        self.activity = Some((nvml, now));
    }

    fn seldom(&mut self, context: &Context<'_>) {
        self.figures.ecc_errors = [MemoryError::Corrected, MemoryError::Uncorrected].map(|kind| {
            self.ask(context, "memory errors", |device| device.total_ecc_errors(kind, EccCounter::Aggregate))
        });
        let [_, uncorrected] = self.figures.ecc_errors;
        self.figures.state = if uncorrected.is_some_and(|count| count > 0) { "degraded" } else { "ok" };
        let processes = self.ask(context, "processes", Device::running_compute_processes);
        self.figures.process_bytes = [None; 2];
        for process in processes.into_iter().flatten() {
            let UsedGpuMemory::Used(bytes) = process.used_gpu_memory else { continue };
            let [own, other] = &mut self.figures.process_bytes;
            let slot = if context.pids.contains(&process.pid) { own } else { other };
            *slot = Some(slot.unwrap_or(0).saturating_add(bytes));
        }
    }
}

fn integer(value: &SampleValue) -> Option<u64> {
    match *value {
        SampleValue::U32(value) => Some(value.into()),
        SampleValue::U64(value) => Some(value),
        SampleValue::I64(value) => u64::try_from(value).ok(),
        SampleValue::F64(value) => (value >= 0.0).then_some(value as u64),
    }
}

/// In the order of the labels: power, heat, power brake, nothing to do, other reasons.
fn throttled(reasons: Option<ThrottleReasons>) -> [Option<bool>; 5] {
    let named = [
        ThrottleReasons::SW_POWER_CAP,
        ThrottleReasons::SW_THERMAL_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN,
        ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN,
        ThrottleReasons::GPU_IDLE,
    ];
    let all = named.iter().fold(ThrottleReasons::empty(), |all, reason| all | *reason);
    let [power, heat, brake, idle] = named.map(|reason| reasons.map(|reasons| reasons.intersects(reason)));
    [power, heat, brake, idle, reasons.map(|reasons| !(reasons - all).is_empty())]
}

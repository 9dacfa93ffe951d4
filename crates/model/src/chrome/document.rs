//! What a file says about all of its events: where its clock begins, which rank wrote it, what processes and
//! threads are called.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};
use stepscope_core::identity::{hash_parts, mix};

use super::event::Event;
use super::steps::Steps;

/// Processes, and threads, whose names are kept.
const MAX_NAMES: usize = 1 << 16;
/// Times beyond this are since the Unix epoch by themselves (2001), whatever the file says of its clock.
const ABSOLUTE_NS: i128 = 1_000_000_000_000_000_000;
/// Recordings with times before 0 are at most so long: a year.
const MAX_SHIFTED_NS: i128 = 366 * 86_400 * 1_000_000_000;
/// What XLA (JAX, TensorFlow) calls the processes of hosts and of devices.
const XLA_HOST: &str = "/host:";
const XLA_DEVICE: &str = "/device:";

/// A process.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) name: String,
    /// All attributes of its resource, where our converter wrote the file.
    pub(super) attributes: Option<Map<String, Json>>,
}

/// What is known beside the events.
#[derive(Debug, Default)]
pub(crate) struct Document {
    base_ns: i128,
    /// Whether every time is relative to that, whatever it looks like.
    is_relative: bool,
    /// What the times of all events sum up to: files whose clocks begin at 0 differ in it.
    times: u64,
    /// By how much all times are moved, so that none is before 0.
    shift_ns: i128,
    pub(super) rank: Option<i64>,
    pub(super) world_size: Option<i64>,
    pub(super) is_kineto: bool,
    /// Name of the program whose steps these are: devices and threads of others are part of it.
    pub(super) service: String,
    pub(super) processes: HashMap<String, Process>,
    pub(super) threads: HashMap<(String, String), String>,
}

fn integer(value: &Json) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
}

/// A time since the epoch, which may be any that a span can have.
fn time_ns(value: &Json) -> Option<i128> {
    let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let text = || value.as_str().and_then(|text| text.trim().parse().ok());
    number.or_else(text).filter(|ns| ns.unsigned_abs() <= u128::from(u64::MAX))
}

impl Document {
    /// Whether a member of the document, which is small, is read.
    pub(crate) fn wants(name: &[u8]) -> bool {
        matches!(name, b"baseTimeNanoseconds" | b"otherData" | b"distributedInfo" | b"schemaVersion")
    }

    /// Takes a member of the document.
    pub(crate) fn member(&mut self, name: &[u8], value: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Json>(value) else { return };
        match name {
            b"baseTimeNanoseconds" => self.base_ns = time_ns(&value).unwrap_or(0),
            b"otherData" => {
                if let Some(base_ns) = value.get("base_unix_ns").and_then(time_ns) {
                    (self.base_ns, self.is_relative) = (base_ns, true);
                }
            }
            b"distributedInfo" => {
                self.rank = value.get("rank").and_then(integer);
                self.world_size = value.get("world_size").and_then(integer);
                self.is_kineto = true;
            }
            b"schemaVersion" => self.is_kineto = true,
            _ => {}
        }
    }

    /// Takes an event about a process or a thread.
    pub(super) fn metadata(&mut self, event: &Event<'_>) {
        let is_name = matches!(&*event.name, "process_name" | "thread_name");
        let args = is_name.then(|| serde_json::from_slice::<Map<String, Json>>(event.args).ok()).flatten();
        let Some(mut args) = args else { return };
        let Some(Json::String(mut name)) = args.remove("name") else { return };
        name.truncate(crate::intake::bounded(&name, crate::record::MAX_TEXT).len());
        if event.name == "thread_name" {
            if self.threads.len() < MAX_NAMES {
                self.threads.insert((event.pid.to_string(), event.tid.to_string()), name);
            }
        } else if self.processes.len() < MAX_NAMES {
            let attributes = match args.remove("attributes") {
                Some(Json::Object(attributes)) => Some(attributes),
                _ => None,
            };
            self.processes.insert(event.pid.to_string(), Process { name, attributes });
        }
    }

    /// Gives all processes of a program's profile, devices among them, the name of the one that has the steps. Files that were
    /// joined, or filtered, may have lost what says that Kineto wrote them.
    pub(super) fn name_all(&mut self, steps: &Steps) {
        let xla = || self.processes.iter().find(|(_, process)| process.name.starts_with(XLA_HOST));
        let process = steps.process().or_else(|| xla().map(|(pid, _)| pid.as_str()));
        let is_profile =
            steps.are_some() || (xla().is_some() && self.processes.keys().any(|pid| self.is_device(pid)));
        if self.is_kineto || is_profile {
            let named =
                process.and_then(|process| self.processes.get(process)).map(|process| process.name.as_str());
            self.service = named.filter(|name| !name.is_empty()).unwrap_or("pytorch").to_owned();
            self.is_kineto = true;
        }
    }

    /// Whether a process is a device, as XLA names those.
    pub(super) fn is_device(&self, process: &str) -> bool {
        self.processes.get(process).is_some_and(|process| process.name.starts_with(XLA_DEVICE))
    }

    /// Moves all times, of which these are the first and the last, where the first is before 0: some clocks begin at the
    /// start of a recording, or at a moment in it. Gives by how much.
    pub(super) fn shift(&mut self, first_ns: i128, last_ns: i128) -> Option<u64> {
        let is_before = first_ns.checked_add(self.base_ns)? < 0 && !self.is_relative;
        // A time that is far from all others is damage.
        if is_before && last_ns.checked_sub(first_ns)? < MAX_SHIFTED_NS {
            self.shift_ns = first_ns.checked_add(self.base_ns)?.checked_neg()?;
        }
        u64::try_from(self.shift_ns).ok().filter(|&by_ns| by_ns > 0)
    }

    /// Nanoseconds since the Unix epoch; `None` before it.
    pub(super) fn unix_ns(&self, at_ns: i128) -> Option<u64> {
        // Kineto has written both where its times began and times since the epoch.
        let is_absolute = at_ns > ABSOLUTE_NS && self.base_ns > ABSOLUTE_NS;
        let base_ns = if is_absolute && !self.is_relative { 0 } else { self.base_ns };
        u64::try_from(at_ns.checked_add(base_ns)?.checked_add(self.shift_ns)?).ok()
    }

    /// Notes the times of an event, in any order.
    pub(super) fn met(&mut self, at_ns: i128, end_ns: i128) {
        let low = |ns: i128| u64::try_from(ns & i128::from(u64::MAX)).unwrap_or(0);
        self.times = self.times.wrapping_add(mix(low(at_ns) ^ mix(low(end_ns))));
    }

    /// What makes ids of this file's spans differ from those of other files, and not from its own copy's.
    pub(super) fn seed(&self) -> u64 {
        let rank = self.rank.map_or(i64::MIN, |rank| rank);
        let (base, rank) = (self.base_ns.to_le_bytes(), rank.to_le_bytes());
        if self.base_ns != 0 || self.rank.is_some() || self.is_kineto {
            // It says when its clock began, or whose it is: a copy that lacks something is no other file.
            return hash_parts(&[b"trace event", &base, &rank]);
        }
        hash_parts(&[b"trace event", &base, &rank, &self.times.to_le_bytes()])
    }
}

//! Energy of processors and memory: the counters of `/sys/class/powercap`, which begin again at a maximum after minutes
//! to hours, and which most systems let only root read.

use std::sync::Arc;
use std::time::Instant;

use super::Root;
use super::file::{Buffer, Input};
use super::parse::number;
use crate::notes::Notes;
use crate::snapshot::EnergyZone;

/// More are left out.
const MAX_ZONES: usize = 64;

#[derive(Debug)]
pub(super) struct Energy {
    zones: Vec<Zone>,
}

#[derive(Debug)]
struct Zone {
    id: Arc<str>,
    name: Arc<str>,
    file: Input,
    max_uj: Option<u64>,
    /// The system's counter, ours, and when that was.
    before: Option<(u64, u64, Instant)>,
}

impl Energy {
    /// Packages and the memory beside them; other zones are parts of a package, or contain one.
    pub(super) fn new(root: &Root, notes: &Notes) -> Self {
        let folder = root.path.join("sys/class/powercap");
        let mut zones = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(4 * MAX_ZONES) {
            let path = entry.path();
            let text = |name: &str| std::fs::read_to_string(path.join(name)).ok();
            let Some(name) = text("name").map(|name| name.trim().to_owned()) else { continue };
            if !name.starts_with("package") && name != "dram" {
                continue;
            }
            let file = Input::new(path.join("energy_uj"));
            if std::fs::File::open(file.path()).is_err() {
                notes.tell(
                    "energy",
                    "the processors' energy counters may not be read, so their energy is unknown: run as root, \
                     or allow reading /sys/class/powercap/*/energy_uj",
                );
                continue;
            }
            zones.push(Zone {
                id: entry.file_name().to_string_lossy().into(),
                name: name.into(),
                file,
                max_uj: text("max_energy_range_uj").and_then(|text| number(text.as_bytes())),
                before: None,
            });
        }
        zones.sort_by(|one, other| one.id.cmp(&other.id));
        zones.dedup_by(|one, other| one.id == other.id);
        zones.truncate(MAX_ZONES);
        Self { zones }
    }

    pub(super) fn read(&mut self, buffer: &mut Buffer, now: Instant, zones: &mut Vec<EnergyZone>) {
        let mut count = 0;
        for zone in &mut self.zones {
            let Some((joules, watts)) = zone.read(buffer, now) else { continue };
            let (id, name) = (Arc::clone(&zone.id), Arc::clone(&zone.name));
            super::put(zones, count, EnergyZone { id, name, joules: Some(joules), watts });
            count += 1;
        }
        zones.truncate(count);
    }
}

impl Zone {
    fn read(&mut self, buffer: &mut Buffer, now: Instant) -> Option<(f64, Option<f64>)> {
        let raw_uj = self.file.read(buffer).and_then(number)?;
        let Some((before_uj, sum_uj, then)) = self.before else {
            self.before = Some((raw_uj, raw_uj, now));
            return Some((raw_uj as f64 / 1e6, None));
        };
        // It began again. Without a maximum it is not known what was lost, and nothing is added.
        let passed_uj = match raw_uj.checked_sub(before_uj) {
            Some(passed_uj) => passed_uj,
            None => self.max_uj.map_or(0, |max_uj| max_uj.saturating_sub(before_uj).saturating_add(raw_uj)),
        };
        let sum_uj = sum_uj.saturating_add(passed_uj);
        self.before = Some((raw_uj, sum_uj, now));
        let time_s = now.saturating_duration_since(then).as_secs_f64();
        let watts = (time_s > 0.0).then(|| passed_uj as f64 / 1e6 / time_s);
        Some((sum_uj as f64 / 1e6, watts))
    }
}

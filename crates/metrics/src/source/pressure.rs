//! Pressure stall information, of the machine (`/proc/pressure`) or of a control group.

use super::file::{Buffer, Input};
use super::parse::{lines, number, words};
use crate::snapshot::Pressure;

/// The files of one place, in the order of `PRESSURE_RESOURCES`.
#[derive(Debug)]
pub(super) struct PressureFiles([Input; 3]);

impl PressureFiles {
    pub(super) fn new(files: [Input; 3]) -> Self {
        Self(files)
    }

    pub(super) fn read(&mut self, buffer: &mut Buffer) -> [Pressure; 3] {
        let mut all = [Pressure::default(); 3];
        for (pressure, file) in all.iter_mut().zip(&mut self.0) {
            *pressure = file.read(buffer).map(parse).unwrap_or_default();
        }
        all
    }
}

/// `some avg10=0.25 avg60=2.17 avg300=1.63 total=14669562`, microseconds.
fn parse(text: &[u8]) -> Pressure {
    let mut pressure = Pressure::default();
    for line in lines(text) {
        let slot = match words(line).next() {
            Some(b"some") => &mut pressure.some_s,
            Some(b"full") => &mut pressure.full_s,
            _ => continue,
        };
        let total = words(line).find_map(|word| word.strip_prefix(b"total=").and_then(number));
        *slot = total.map(|microseconds| microseconds as f64 / 1e6);
    }
    pressure
}

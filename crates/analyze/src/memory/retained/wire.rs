//! How [`RetainedMemory`] is written: columns by identity, so that equal content has equal bytes whatever order it came in.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::accumulate::step_series::StepSeries;
use crate::memory::retained::{OTHER, RetainedMemory, RetainedPoint};

#[derive(Serialize, Deserialize)]
struct Wire {
    /// In order.
    ids: Vec<u64>,
    steps: [StepSeries<WirePoint>; 3],
    elsewhere: StepSeries<WirePoint>,
}

/// A point without zeros: columns are 0 for the others, else 1 more than the place of the identity.
#[derive(Clone, Serialize, Deserialize)]
struct WirePoint {
    until_ns: u64,
    nets: Vec<(u32, i128)>,
}

impl Serialize for RetainedMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut places = vec![0u32; self.columns.len() + 1];
        for (place, &column) in (1u32..).zip(self.columns.values()) {
            if let Some(slot) = places.get_mut(column as usize) {
                *slot = place;
            }
        }
        let written = |point: &RetainedPoint| {
            let place = |column: u32| places.get(column as usize).copied().unwrap_or(0);
            let mut nets: Vec<(u32, i128)> = point.nets().map(|(column, net)| (place(column), net)).collect();
            nets.sort_unstable();
            WirePoint { until_ns: point.until_ns, nets }
        };
        Wire {
            ids: self.columns.keys().copied().collect(),
            steps: self.steps.each_ref().map(|points| points.map(written)),
            elsewhere: self.elsewhere.map(written),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RetainedMemory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let mut held = Self::default();
        let mut columns = vec![OTHER];
        for id in wire.ids {
            let next = u32::try_from(held.columns.len() + 1)
                .map_err(|_| D::Error::custom("more sections than can be"))?;
            columns.push(*held.columns.entry(id).or_insert(next));
        }
        let read = |point: &WirePoint| {
            let mut read = RetainedPoint { until_ns: point.until_ns, nets: Vec::new() };
            for &(place, net) in &point.nets {
                read.add(columns.get(place as usize).copied().unwrap_or(OTHER), net);
            }
            read
        };
        held.steps = wire.steps.each_ref().map(|points| points.map(read));
        held.elsewhere = wire.elsewhere.map(read);
        Ok(held)
    }
}

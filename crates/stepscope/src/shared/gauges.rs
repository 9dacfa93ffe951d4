//! What the exporter of gauges and the background thread tell each other: where the latest reading is, what steps have said, and
//! which alerts there were. The program's threads have no part in it.

use std::sync::{Arc, Mutex, OnceLock};

use stepscope_core::{Mode, SectionKind};
use stepscope_metrics::Latest;

use crate::shared::attrs::{Entries, Entry};
use crate::shared::lock::lock;
use crate::shared::record::SectionRecord;

/// Names of values that are kept; those of further ones are not taken.
const MAX_VALUES: usize = 64;

/// Changes of alerts that are kept; of further ones the number.
const MAX_CHANGES: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    feed: OnceLock<Feed>,
    said: Mutex<Said>,
    alerts: Mutex<Alerts>,
    /// Number of the pass of the latest reading that was written, and its time.
    time: Mutex<(u64, u64)>,
}

/// Where readings come from, and which sinks of the layer's take them.
#[derive(Debug)]
pub(crate) struct Feed {
    pub latest: Latest,
    /// The endpoint does.
    pub is_sent: bool,
    /// The directory does.
    pub is_kept: bool,
}

/// What steps have said; times are those of the ends of the sections that said it.
#[derive(Debug, Default)]
pub(crate) struct Said {
    step: Option<(u64, u64)>,
    values: Vec<(Arc<str>, u64, f64)>,
    /// There was no room for the name of one.
    pub has_more: bool,
}

impl Said {
    /// Number of the latest training step.
    pub(crate) fn step(&self) -> Option<u64> {
        self.step.map(|(_, number)| number)
    }

    /// The latest value of each name.
    pub(crate) fn values(&self) -> impl Iterator<Item = (Arc<str>, f64)> + '_ {
        self.values.iter().map(|(name, _, value)| (Arc::clone(name), *value))
    }

    fn take(&mut self, record: &SectionRecord, entries: Entries<'_>) {
        let end_ns = record.end_ns;
        let root = record.root.filter(|root| record.kind == SectionKind::Step && root.mode == Mode::Train);
        if let Some(number) = root.and_then(|root| root.step)
            && self.step.is_none_or(|(latest_ns, _)| latest_ns <= end_ns)
        {
            self.step = Some((end_ns, number));
        }
        for entry in entries {
            let Entry::UserValue(name, value) = entry else { continue };
            let has_room = self.values.len() < MAX_VALUES;
            match self.values.iter_mut().find(|(known, ..)| **known == *name) {
                Some((_, latest_ns, latest)) if *latest_ns <= end_ns => {
                    (*latest_ns, *latest) = (end_ns, value)
                }
                Some(_) => {}
                None if has_room => self.values.push((name.into(), end_ns, value)),
                None => self.has_more = true,
            }
        }
    }
}

/// An alert began or ended to fire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AlertChange {
    /// Monotonic.
    pub time_ns: u64,
    pub rule: &'static str,
    pub severity: &'static str,
    pub is_firing: bool,
    pub value: Option<f64>,
}

#[derive(Debug, Default)]
struct Alerts {
    changes: Vec<AlertChange>,
    more: u32,
}

impl Gauges {
    /// The time of a reading: what it was when it was written first. It is found from clocks that are read anew each time, and one
    /// reading at several times would be several.
    pub(crate) fn time_ns(&self, pass: u64, found_ns: u64) -> u64 {
        let mut known = lock(&self.time);
        if known.0 != pass {
            *known = (pass, found_ns);
        }
        known.1
    }

    /// From now on there are readings.
    pub(crate) fn begin(&self, feed: Feed) {
        let _ = self.feed.set(feed);
    }

    /// Where readings are, if there are any.
    pub(crate) fn feed(&self) -> Option<&Feed> {
        self.feed.get()
    }

    /// For the background thread: what an ended section says.
    pub(crate) fn observe(&self, record: &SectionRecord, entries: Entries<'_>) {
        lock(&self.said).take(record, entries);
    }

    /// What steps have said so far.
    pub(crate) fn with_said<R>(&self, look: impl FnOnce(&Said) -> R) -> R {
        look(&lock(&self.said))
    }

    pub(crate) fn note_alert(&self, change: AlertChange) {
        let mut alerts = lock(&self.alerts);
        if alerts.changes.len() < MAX_CHANGES {
            alerts.changes.push(change);
        } else {
            alerts.more = alerts.more.saturating_add(1);
        }
    }

    /// The first changes, in their order.
    pub(crate) fn alerts(&self) -> Vec<AlertChange> {
        lock(&self.alerts).changes.clone()
    }

    /// How many there were beyond these.
    pub(crate) fn further_alerts(&self) -> u32 {
        lock(&self.alerts).more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::attrs::{self, Attrs, Before};
    use crate::shared::record::RootRecord;

    #[test]
    fn a_reading_has_one_time_however_often_it_is_written() {
        let gauges = Gauges::default();
        let times: Vec<u64> = [(1, 500), (1, 493), (2, 900), (2, 911)]
            .map(|(pass, found_ns)| gauges.time_ns(pass, found_ns))
            .into();
        assert_eq!(times, [500, 500, 900, 900]);
    }

    fn ends(end_ns: u64, step: Option<(u64, Mode)>) -> SectionRecord {
        let root = step.map(|(number, mode)| RootRecord {
            mode,
            announces: true,
            is_deep: false,
            trace_spans: 1,
            trace_dropped: 0,
            left_out: None,
            step: Some(number),
            epoch: None,
            trace_parts: None,
            continues: None,
        });
        let kind = if step.is_some() { SectionKind::Step } else { SectionKind::Section };
        SectionRecord { end_ns, kind, root, ..SectionRecord::default() }
    }

    fn say(gauges: &Gauges, record: &SectionRecord, values: &[(&str, f64)]) {
        let mut packed = Attrs::default();
        for (name, value) in values {
            packed.push(Before::default(), Entry::UserValue(name, *value));
        }
        let mut bytes = Vec::new();
        attrs::unpack(packed.words(), &mut bytes);
        gauges.observe(record, Entries::new(&bytes, &[]));
    }

    #[test]
    fn the_latest_word_of_each_name_counts_whatever_thread_comes_first() {
        let gauges = Gauges::default();
        say(&gauges, &ends(20, Some((7, Mode::Train))), &[("loss", 0.5), ("loss", 0.4)]);
        say(&gauges, &ends(10, Some((6, Mode::Train))), &[("loss", 0.9), ("rate", 1.0)]);
        say(&gauges, &ends(30, Some((99, Mode::Eval))), &[("accuracy", 0.75)]);
        say(&gauges, &ends(40, None), &[("rate", 2.0)]);
        let (step, values) = gauges.with_said(|said| (said.step(), said.values().collect::<Vec<_>>()));
        assert_eq!(step, Some(7));
        let expected = [("loss", 0.4), ("rate", 2.0), ("accuracy", 0.75)];
        assert_eq!(values, expected.map(|(name, value)| (Arc::from(name), value)));
    }

    #[test]
    fn names_of_values_and_changes_of_alerts_are_bounded() {
        let gauges = Gauges::default();
        for number in 0..1_000_u32 {
            say(&gauges, &ends(1, None), &[(&format!("value {number}"), 1.0)]);
            let change = AlertChange {
                time_ns: u64::from(number),
                rule: "disk",
                severity: "warning",
                is_firing: number % 2 == 0,
                value: None,
            };
            gauges.note_alert(change);
        }
        let (values, has_more) = gauges.with_said(|said| (said.values().count(), said.has_more));
        assert_eq!((values, has_more), (MAX_VALUES, true));
        assert_eq!(gauges.alerts().len() as u32 + gauges.further_alerts(), 1_000);
        assert_eq!(gauges.alerts().last().map(|change| change.time_ns), Some(MAX_CHANGES as u64 - 1));
    }
}

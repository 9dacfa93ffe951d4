//! What the background thread knows of records that newer ones have taken the place of (`Overflow::DropOldest`): a root that
//! comes through says how many records of its trace were written to its ring before it, and of those the ones that did not
//! come through are lost. So its counts are put right, without a word between the threads but those of the ring.

use std::collections::HashMap;

use stepscope_core::identity::TraceId;

use crate::shared::record::SectionRecord;

/// Traces whose roots have not come by, at most; a root may be lost itself.
const MAX_TRACES: usize = 4_096;

/// What has come out of one ring.
#[derive(Debug, Default)]
pub(crate) struct OverwrittenRecords {
    /// Records of each trace, since its last root that says how many there are.
    by_trace: HashMap<TraceId, u32>,
    /// Some were forgotten for want of room: a trace that is not there may have been.
    has_forgotten: bool,
}

impl OverwrittenRecords {
    /// Counts a record that came out of the ring of the thread with this id, with what was written to it of the same trace
    /// `before`; the counts of a root are put right.
    pub(crate) fn take(&mut self, words: &mut Vec<u64>, thread: u64, before: u32) {
        let Some((mut record, rest)) = SectionRecord::unpack(words, thread) else { return };
        let Some(root) = record.root.as_mut().filter(|root| root.announces) else {
            if self.by_trace.len() >= MAX_TRACES && !self.by_trace.contains_key(&record.trace_id) {
                self.by_trace.clear();
                self.has_forgotten = true;
            }
            *self.by_trace.entry(record.trace_id).or_default() += 1;
            return;
        };
        let came = match self.by_trace.remove(&record.trace_id) {
            Some(came) => came,
            // Better a root that tells of spans that never come, which nobody takes for all, than the other way round.
            None if self.has_forgotten => return,
            None => 0,
        };
        let lost = before.saturating_sub(came);
        if lost > 0 {
            root.trace_spans = root.trace_spans.saturating_sub(lost);
            root.trace_dropped = root.trace_dropped.saturating_add(lost);
            let rest = rest.to_vec();
            words.clear();
            words.extend_from_slice(record.pack().words());
            words.extend(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::record::RootRecord;
    use stepscope_core::Mode;

    fn words(trace: u8, root: Option<(u32, u32)>) -> Vec<u64> {
        let root = root.map(|(trace_spans, trace_dropped)| RootRecord {
            mode: Mode::Train,
            announces: true,
            is_deep: false,
            trace_spans,
            trace_dropped,
            left_out: None,
            step: None,
            epoch: None,
            continues: None,
        });
        let record = SectionRecord { trace_id: [trace; 16], root, ..SectionRecord::default() };
        let mut words = record.pack().words().to_vec();
        words.push(7);
        words
    }

    /// What a root says after so many others of its trace came through.
    fn counts(seen: &mut OverwrittenRecords, came: u32, before: u32) -> (u32, u32) {
        (0..came).for_each(|_| seen.take(&mut words(1, None), 1, 0));
        let mut root = words(1, Some((6, 1)));
        seen.take(&mut root, 1, before);
        let (record, rest) = SectionRecord::unpack(&root, 1).unwrap();
        assert_eq!(rest, [7]);
        (record.root.unwrap().trace_spans, record.root.unwrap().trace_dropped)
    }

    #[test]
    fn a_root_tells_of_what_did_not_come_through() {
        let mut seen = OverwrittenRecords::default();
        assert_eq!(counts(&mut seen, 5, 5), (6, 1));
        assert_eq!(counts(&mut seen, 2, 5), (3, 4));
        assert_eq!(counts(&mut seen, 0, 5), (1, 6));
        // Of another thread's ring nothing is known.
        assert_eq!(counts(&mut seen, 2, 0), (6, 1));
        assert!(seen.by_trace.is_empty());
    }

    #[test]
    fn what_was_forgotten_is_not_taken_for_lost() {
        let mut seen = OverwrittenRecords::default();
        for number in 0..MAX_TRACES as u64 {
            let mut other = words(0, None);
            other[0] = number + 1_000;
            seen.take(&mut other, 1, 0);
        }
        assert_eq!(counts(&mut seen, 1, 5), (2, 5), "in room made for it");
        assert!(seen.has_forgotten);
        assert_eq!(counts(&mut seen, 0, 5), (6, 1));
    }
}

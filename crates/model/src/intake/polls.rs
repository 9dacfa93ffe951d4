//! The poll intervals of the span whose head is still to come: from their spellings to what holds for the span.

use stepscope_otlp::Value;

use super::quads::{self, NUMBERS};
use crate::record::{Interval, MAX_ITEMS};

/// The intervals of one span. Reused from span to span.
#[derive(Debug, Default)]
pub(crate) struct PollsDraft {
    intervals: Vec<Interval>,
    is_damaged: bool,
}

impl PollsDraft {
    pub(super) fn clear(&mut self) {
        self.intervals.clear();
        self.is_damaged = false;
    }

    /// Takes a list of integers, or its JSON text, which is what Jaeger has of it.
    #[cold]
    pub(super) fn read(&mut self, value: Value<'_>) {
        self.clear();
        let is_read = quads::read(value, |quad| self.take(quad)).filter(|()| !self.intervals.is_empty());
        if is_read.is_none() {
            self.intervals.clear();
            self.is_damaged = true;
        }
    }

    fn take(&mut self, [thread, after_ns, length_ns, count]: [i64; NUMBERS]) -> Option<()> {
        let number = |number: i64| u64::try_from(number).ok();
        let start_ns = number(after_ns)?;
        let end_ns = start_ns.saturating_add(number(length_ns)?);
        let count = number(count).filter(|&count| count > 0)?;
        if thread < 0 || self.intervals.len() == MAX_ITEMS {
            return None;
        }
        self.intervals.push(Interval { start_ns, end_ns, thread, count });
        Some(())
    }

    /// Cuts them to the length of the span and puts them in order. `false` where they were none.
    pub(super) fn settle(&mut self, duration_ns: u64) -> bool {
        for interval in &mut self.intervals {
            interval.start_ns = interval.start_ns.min(duration_ns);
            interval.end_ns = interval.end_ns.min(duration_ns);
        }
        self.intervals.sort_unstable();
        !self.is_damaged
    }

    pub(super) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start, end, thread and count of each.
    fn read(value: Value<'_>, duration_ns: u64) -> Option<Vec<(u64, u64, i64, u64)>> {
        let mut draft = PollsDraft::default();
        draft.read(Value::Array(&[Value::Bool(true)]));
        draft.read(value);
        let is_fine = draft.settle(duration_ns);
        assert!(is_fine || draft.intervals().is_empty());
        let tuple =
            |&Interval { start_ns, end_ns, thread, count }: &Interval| (start_ns, end_ns, thread, count);
        is_fine.then(|| draft.intervals().iter().map(tuple).collect())
    }

    #[test]
    fn lists_and_texts_are_read_in_order_and_within_the_span() {
        let expected = Some(vec![(0, 30, 7, 1), (20, 100, 0, 3), (100, 100, 8, 2)]);
        let numbers = [0, 20, 90, 3, 8, 200, i64::MAX, 2, 7, 0, 30, 1];
        let list = numbers.map(Value::Int);
        assert_eq!(read(Value::Array(&list), 100), expected);
        let mixed = numbers.map(|number| if number == 20 { Value::Double(20.0) } else { Value::Int(number) });
        assert_eq!(read(Value::Array(&mixed), 100), expected);
        let text = format!(" {numbers:?}\n");
        assert_eq!(read(Value::Str(&text), 100), expected);
        assert_eq!(read(Value::Str(&text.replace(' ', "")), 100), expected);
    }

    #[test]
    fn what_is_no_interval_is_none() {
        for text in [
            "",
            "[]",
            "7",
            "[7,0,10]",
            "[7,0,10,1,7]",
            "[7,0,10,0]",
            "[7,-1,10,1]",
            "[7,0,-1,1]",
            "[-7,0,10,1]",
            "[7,0,10,x]",
            "[7,0,10,1",
            "[7,0,10,1,]",
            "[[7,0,10,1]]",
            "[7,0,10,1.5]",
        ] {
            assert_eq!(read(Value::Str(text), 100), None, "{text}");
        }
        let half = [Value::Int(7), Value::Int(0), Value::Double(0.5), Value::Int(1)];
        for value in [Value::Array(&half), Value::Array(&[]), Value::Int(7), Value::Empty] {
            assert_eq!(read(value, 100), None, "{value:?}");
        }
        let many = |intervals: usize| format!("[{}]", vec!["7,0,10,1"; intervals].join(","));
        assert_eq!(read(Value::Str(&many(MAX_ITEMS)), 100).map(|read| read.len()), Some(MAX_ITEMS));
        assert_eq!(read(Value::Str(&many(MAX_ITEMS + 1)), 100), None);
    }
}

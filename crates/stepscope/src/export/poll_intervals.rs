//! The intervals of a section that was entered more than once, as an attribute. How they are kept is in `hot::polls`.

use stepscope_core::attr;
use stepscope_otlp::{Value, Visitor};

use crate::hot::polls::{BYTES, MAX_INTERVALS, NUMBERS};
use crate::shared::record::SectionRecord;

/// Writes the attribute of an entry.
pub(crate) fn write(visitor: &mut impl Visitor, record: &SectionRecord, bytes: &[u8]) {
    let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let mut values = [[Value::Empty; NUMBERS]; MAX_INTERVALS];
    let mut len = 0;
    for (slot, interval) in values.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
        let mut numbers = [0; NUMBERS];
        for (number, word) in numbers.iter_mut().zip(interval.as_chunks().0) {
            *number = u64::from_le_bytes(*word);
        }
        let [thread, start_ns, end_ns, count] = numbers;
        let after_ns = start_ns.saturating_sub(record.start_ns);
        *slot = [int(thread), int(after_ns), int(end_ns.saturating_sub(start_ns)), int(count)];
        len += 1;
    }
    visitor.span_attribute(attr::POLLS, Value::Array(values.get(..len).unwrap_or_default().as_flattened()));
}

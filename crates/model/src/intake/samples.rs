//! The thread samples of the deep step whose head is still to come: from their spellings to what holds for the span.

use stepscope_core::ThreadState;
use stepscope_otlp::Value;

use super::quads::{self, NUMBERS};
use crate::record::{MAX_SAMPLES, Sample};

/// The samples of one span. Reused from span to span.
#[derive(Debug, Default)]
pub(crate) struct SamplesDraft(Vec<Sample>);

impl SamplesDraft {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes a list of integers, or its JSON text. What is no list of samples leaves none: a step without them says less, and
    /// nothing wrong.
    #[cold]
    pub(super) fn read(&mut self, value: Value<'_>) {
        self.clear();
        if quads::read(value, |quad| self.take(quad)).is_none() {
            self.clear();
        }
    }

    fn take(&mut self, [thread, after_ns, state, address]: [i64; NUMBERS]) -> Option<()> {
        if self.0.len() == MAX_SAMPLES {
            return None;
        }
        // A state of a later version is another system call to this one.
        let state = u8::try_from(state).ok().and_then(ThreadState::from_index);
        self.0.push(Sample {
            after_ns: u64::try_from(after_ns).ok()?,
            thread,
            state: state.unwrap_or(ThreadState::Other),
            address: address.cast_unsigned(),
        });
        Some(())
    }

    pub(super) fn samples(&self) -> &[Sample] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value<'_>) -> Vec<(u64, i64, &'static str, u64)> {
        let mut draft = SamplesDraft::default();
        draft.read(value);
        let tuple = |of: &Sample| (of.after_ns, of.thread, of.state.as_str(), of.address);
        draft.samples().iter().map(tuple).collect()
    }

    #[test]
    fn lists_and_texts_are_read() {
        let expected = [(20, 7, "futex", 4096), (25, 8, "running", 0), (30, 7, "other", 0)];
        let numbers = [7, 20, 1, 4096, 8, 25, 0, 0, 7, 30, 200, 0];
        assert_eq!(read(Value::Array(&numbers.map(Value::Int))), expected);
        assert_eq!(read(Value::Str(&format!("{numbers:?}"))), expected);
    }

    #[test]
    fn what_is_no_list_of_samples_is_none() {
        for text in ["", "[]", "[7,20,1]", "[7,-1,0,0]", "[7,20,x,0]", "7,20,1,0"] {
            assert_eq!(read(Value::Str(text)), [], "{text}");
        }
        let many = |samples: usize| format!("[{}]", vec!["7,0,0,0"; samples].join(","));
        assert_eq!(read(Value::Str(&many(MAX_SAMPLES))).len(), MAX_SAMPLES);
        assert_eq!(read(Value::Str(&many(MAX_SAMPLES + 1))).len(), 0);
    }
}

//! How often a thread asks for the resident memory around what it does. How it is read is in `stepscope-mem`.

use stepscope_core::SectionKind;

/// Between two steps, batches or requests of a thread that ask, at least.
const EVERY_NS: u64 = 10_000_000;

/// When a step, a batch or a request of this thread asks again. One that began without a reading ends without one.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    due_ns: u64,
}

impl Pace {
    /// Whether a section that begins now is to know the resident memory. Reading it twice costs as much as all else that a
    /// short step pays, so only at `comprehensive` (`is_full`) each of these does.
    pub(crate) fn is_due(&mut self, kind: SectionKind, is_full: bool, now_ns: impl FnOnce() -> u64) -> bool {
        match kind {
            SectionKind::Section => false,
            SectionKind::Run | SectionKind::Epoch => true,
            _ if is_full => true,
            _ => {
                let now_ns = now_ns();
                let is_due = now_ns >= self.due_ns;
                if is_due {
                    self.due_ns = now_ns.saturating_add(EVERY_NS);
                }
                is_due
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_steps_ask_every_ten_milliseconds_and_everything_else_always() {
        const MS: u64 = 1_000_000;
        let mut pace = Pace::default();
        let mut asked = |kind, is_full, now_ns: u64| pace.is_due(kind, is_full, || now_ns);
        let of_steps: Vec<bool> =
            (0..9).map(|step| asked(SectionKind::Step, false, 100 * MS + step * 5 * MS / 2)).collect();
        assert_eq!(of_steps, [true, false, false, false, true, false, false, false, true]);
        // Batches of the same thread share it; all at once after a while.
        assert!(!asked(SectionKind::Batch, false, 121 * MS));
        assert!(asked(SectionKind::Batch, false, 500 * MS));
        assert!(!asked(SectionKind::Step, false, 500 * MS));
        assert!(asked(SectionKind::Step, true, 500 * MS));
        assert!(asked(SectionKind::Epoch, false, 500 * MS));
        assert!(!asked(SectionKind::Section, true, 900 * MS));
    }
}

//! The way on behind damage in JSON: a walk over bytes that are none to the next place where something whole begins.
//! What counts as whole is the formats' business.

pub(crate) mod events;
pub(crate) mod otlp;
pub(crate) mod traces;

use crate::input::Input;
use crate::reading::bytes;
use crate::structure::{Scanned, Strict};

/// A search may look at this many bytes of candidates, and at [`EFFORT_PER_BYTE`] for each byte searched.
const EFFORT: usize = 64 << 20;
const EFFORT_PER_BYTE: usize = 16;
/// How the names of lists of spans, and of scopes with such, end.
const LIST: &[u8] = b"pans\"";
/// Candidates that are larger are none.
const MAX_CANDIDATE: usize = 16 << 20;

/// What is at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Reading goes on here.
    Here,
    /// Not here; so many bytes had to be looked at to know.
    No(usize),
    /// Only more bytes can tell.
    More,
}

/// What was stepped over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed {
    /// Whether reading goes on; otherwise the input is at its end.
    pub(crate) is_found: bool,
    pub(crate) bytes: u64,
    /// How often the mark of an item stands in them.
    pub(crate) items: u64,
    /// How many zeros are among them, as a crash leaves them.
    pub(crate) zeros: u64,
    /// Whether the name of a list of spans is among them.
    pub(crate) has_list: bool,
}

impl Passed {
    /// What it cost, in words: `(one, many)` name an item.
    pub(crate) fn cost(&self, (one, many): (&str, &str)) -> String {
        let has_zeros = self.zeros > 0;
        let zeros = if has_zeros { ", zeros among them," } else { "" };
        // What was where the zeros are cannot be counted, nor what has lost its mark.
        let at_least = if has_zeros { "at least " } else { "" };
        let items = match self.items {
            0 => String::new(),
            1 => format!(": {at_least}1 {one}"),
            items => format!(": {at_least}{items} {many}"),
        };
        format!("{}{zeros} could not be read{items}", bytes(self.bytes))
    }
}

/// Whether the object that `data` begin with is whole and of a kind; `is_all` where no more bytes follow.
pub(crate) fn whole_object(data: &[u8], is_all: bool, is_it: impl FnOnce(&[u8]) -> bool) -> Judged {
    match Strict::default().walk(data) {
        Scanned::End(end) if data.get(..end).is_some_and(is_it) => Judged::Here,
        Scanned::End(end) => Judged::No(end),
        Scanned::Damage(at) => Judged::No(at),
        Scanned::Short if is_all || data.len() > MAX_CANDIDATE => Judged::No(data.len()),
        Scanned::Short => Judged::More,
    }
}

/// Steps over bytes, from `from` of the visible ones on, to the first place that `judge` takes: it is asked at braces that
/// open and brackets that close. Counts the `mark` in what is stepped over.
pub(crate) fn step_over(
    input: &mut Input<'_>,
    from: usize,
    mark: &[u8],
    mut judge: impl FnMut(&[u8], bool) -> Judged,
) -> Passed {
    let mut passed = Passed { is_found: false, bytes: 0, items: 0, zeros: 0, has_list: false };
    let (mut at, mut effort) = (from, 0_usize);
    loop {
        let data = input.data();
        let here = data.get(at..).unwrap_or_default();
        let Some(next) = here.iter().position(|byte| matches!(byte, b'{' | b']')) else {
            pass(input, usize::MAX, mark, &mut passed);
            at = 0;
            if input.fill(1) == 0 {
                return passed;
            }
            continue;
        };
        at += next;
        match judge(data.get(at..).unwrap_or_default(), input.has_ended()) {
            Judged::Here => {
                pass(input, at, mark, &mut passed);
                passed.is_found = true;
                return passed;
            }
            Judged::No(looked_at) => {
                effort = effort.saturating_add(looked_at);
                at += 1;
            }
            Judged::More => {
                effort = effort.saturating_add(data.len() - at);
                pass(input, at, mark, &mut passed);
                at = 0;
                let seen = input.data().len();
                // Doubling, so that large ones are not looked at again and again.
                input.fill(seen.saturating_mul(2).max(1));
            }
        }
        let searched = usize::try_from(passed.bytes).unwrap_or(usize::MAX).saturating_add(at);
        if effort > EFFORT.saturating_add(searched.saturating_mul(EFFORT_PER_BYTE)) {
            // Bytes made to be slow.
            at = usize::MAX;
        }
    }
}

/// Consumes what was stepped over.
fn pass(input: &mut Input<'_>, len: usize, mark: &[u8], passed: &mut Passed) {
    let data = input.data();
    let len = len.min(data.len());
    let marked = data.get(..(len + mark.len()).saturating_sub(1).min(data.len())).unwrap_or_default();
    passed.items += marked.windows(mark.len()).filter(|window| *window == mark).count() as u64;
    passed.zeros += data.iter().take(len).filter(|&&byte| byte == 0).count() as u64;
    let listed = data.get(..(len + LIST.len()).min(data.len())).unwrap_or_default();
    passed.has_list |= listed.windows(LIST.len()).any(|window| window == LIST);
    passed.bytes += len as u64;
    input.consume(len);
}

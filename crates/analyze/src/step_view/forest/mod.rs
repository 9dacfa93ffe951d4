//! The span forest of one trace: parents by index, an order in which parents come first, cycles cut. Spans
//! mostly nest, so that a parent is found among the previous span's ancestors; ids are sorted and searched
//! only where it is not. Memory is reused from trace to trace.

use stepscope_model::Span;

/// No parent in this trace.
pub(crate) const NONE: u32 = u32::MAX;

/// Whether a node is another, or around it: found among the first `most` that `parent_of` leads to, itself included.
pub(crate) fn is_around(parent_of: impl Fn(u32) -> Option<u32>, outer: u32, inner: u32, most: usize) -> bool {
    std::iter::successors(Some(inner), |&at| parent_of(at)).take(most).any(|at| at == outer)
}

/// Ancestors of the previous span that are tried before ids are searched.
const HOPS: usize = 8;

/// Parents and an order of the spans of one trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forest {
    /// Index of each span's parent, or [`NONE`].
    pub(crate) parents: Vec<u32>,
    /// Indices, parents before their children; in time order where that is such an order.
    pub(crate) order: Vec<u32>,
    by_id: Vec<(u64, u32)>,
    marks: Vec<u32>,
    chain: Vec<u32>,
}

impl Forest {
    /// Builds the forest of `spans`.
    pub(crate) fn build(&mut self, spans: &[Span]) {
        self.parents.clear();
        self.by_id.clear();
        let mut is_ordered = true;
        for (index, span) in spans.iter().enumerate() {
            let parent = match span.parent {
                None => NONE,
                Some(id) => self.near(spans, index, id).unwrap_or_else(|| self.search(spans, id)),
            };
            is_ordered &= parent == NONE || (parent as usize) < index;
            self.parents.push(parent);
        }
        self.order.clear();
        if is_ordered {
            self.order.extend(0..self.parents.len() as u32);
        } else {
            self.sort(spans);
        }
    }

    /// The index of the span with this id, once [`Self::index`] was called.
    pub(crate) fn index_of(&self, id: u64) -> Option<u32> {
        let at = self.by_id.partition_point(|&(other, _)| other < id);
        self.by_id.get(at).filter(|&&(other, _)| other == id).map(|&(_, index)| index)
    }

    /// Sorts the ids, where that was not needed before.
    pub(crate) fn index(&mut self, spans: &[Span]) {
        if self.by_id.is_empty() {
            self.by_id.extend(spans.iter().zip(0u32..).map(|(span, index)| (span.id, index)));
            self.by_id.sort_unstable();
        }
    }

    #[inline]
    fn near(&self, spans: &[Span], index: usize, id: u64) -> Option<u32> {
        let mut candidate = index.checked_sub(1)? as u32;
        for _ in 0..HOPS {
            if spans.get(candidate as usize)?.id == id {
                return Some(candidate);
            }
            candidate = *self.parents.get(candidate as usize)?;
        }
        None
    }

    fn search(&mut self, spans: &[Span], id: u64) -> u32 {
        self.index(spans);
        self.index_of(id).unwrap_or(NONE)
    }

    /// Orders by walking up from each span, and cuts each cycle at its smallest span id.
    #[cold]
    fn sort(&mut self, spans: &[Span]) {
        const DONE: u32 = u32::MAX;
        self.marks.clear();
        self.marks.resize(self.parents.len(), 0);
        for start in 0..self.parents.len() as u32 {
            let walk = start + 1;
            self.chain.clear();
            let mut at = start;
            while at != NONE {
                match self.marks.get(at as usize).copied() {
                    Some(DONE) | None => break,
                    Some(mark) if mark == walk => {
                        self.cut_cycle(spans, at);
                        break;
                    }
                    Some(_) => {}
                }
                self.mark(at, walk);
                self.chain.push(at);
                at = self.parents.get(at as usize).copied().unwrap_or(NONE);
            }
            self.emit();
        }
    }

    /// Emits the chain, ancestors first. The chain may have been cut in its middle: what stands above the cut
    /// is emitted first, from the cut's root down.
    fn emit(&mut self) {
        let root = self.chain.iter().position(|&at| self.parents.get(at as usize) == Some(&NONE));
        // Only a cut cycle has its root before the chain's end; the rest of the cycle hangs below that root.
        if let Some(root) = root.filter(|&root| root + 1 < self.chain.len()) {
            let below = self.chain.len() - root - 1;
            self.chain.rotate_right(below);
        }
        while let Some(at) = self.chain.pop() {
            self.mark(at, u32::MAX);
            self.order.push(at);
        }
    }

    fn mark(&mut self, at: u32, mark: u32) {
        if let Some(slot) = self.marks.get_mut(at as usize) {
            *slot = mark;
        }
    }

    fn cut_cycle(&mut self, spans: &[Span], entry: u32) {
        let id = |at: u32| spans.get(at as usize).map_or(u64::MAX, |span| span.id);
        let (mut smallest, mut at) = (entry, entry);
        loop {
            at = self.parents.get(at as usize).copied().unwrap_or(entry);
            if at == entry {
                break;
            }
            if (id(at), at) < (id(smallest), smallest) {
                smallest = at;
            }
        }
        if let Some(parent) = self.parents.get_mut(smallest as usize) {
            *parent = NONE;
        }
    }
}

#[cfg(test)]
mod tests;

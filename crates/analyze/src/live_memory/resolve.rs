//! Lines of addresses, asked of whoever can read the files of the program, and everything by line anew.

use super::symbols::{Origin, origin};
use super::{allocated, lines, peak};
use crate::summary::{LiveMemory, LiveModule, SourceLine, SymbolState};

/// What is known of a module's addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolved {
    /// What was found.
    pub state: SymbolState,
    /// For each address that was asked for, its functions and lines, innermost first.
    pub lines: Vec<Vec<SourceLine>>,
}

impl LiveMemory {
    /// Has the lines of all frames looked up, module by module. Addresses are return addresses in the module's file: the call
    /// is before them.
    pub fn resolve(&mut self, mut look_up: impl FnMut(&LiveModule, &[u64]) -> Resolved) {
        for (at, module) in self.modules.iter_mut().enumerate() {
            let mut frames: Vec<_> =
                self.frames.iter_mut().filter(|frame| frame.module == Some(at)).collect();
            let offsets: Vec<u64> = frames.iter().map(|frame| frame.offset).collect();
            let Resolved { state, lines } = look_up(module, &offsets);
            // The standard library comes with lines, whatever the program was built with.
            let told = lines.iter().flatten().filter(|line| line.file.is_some());
            let has_lines = told.clone().any(|line| origin(line, Some(module)) != Origin::Runtime);
            module.symbols = match state {
                SymbolState::Lines if !has_lines => SymbolState::NoLines,
                state => state,
            };
            frames.iter_mut().zip(lines).for_each(|(frame, lines)| frame.lines = lines);
        }
        self.shims = lines::shims(self);
        self.lines = lines::of(self);
        self.peak = peak::of(self);
        self.allocated = allocated::lines(self);
    }
}

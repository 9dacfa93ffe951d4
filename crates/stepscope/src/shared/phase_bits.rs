//! A phase among the bits of a section, as callsites, open sections and records have it.

use stepscope_core::Phase;

/// The phase in the bits of a section, above its kind; zero for none.
pub(crate) const PHASE: u64 = 0xff00;

/// The inverse of [`phase_bits`], of all bits.
pub(crate) fn phase_of(bits: u64) -> Option<Phase> {
    ((bits >> 8) as u8).checked_sub(1).and_then(Phase::from_index)
}

/// A phase among the bits of a section.
#[inline]
pub(crate) const fn phase_bits(phase: Option<Phase>) -> u64 {
    match phase {
        Some(phase) => (phase as u64 + 1) << 8,
        None => 0,
    }
}

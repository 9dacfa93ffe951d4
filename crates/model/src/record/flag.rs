//! Flags of a record, one bit each where not said otherwise.

use stepscope_core::Signal;

/// The span's status is an error.
pub(crate) const ERROR: u8 = 1;
/// Written by stepscope's layer.
pub(crate) const OURS: u8 = 2;
/// The kind was concluded from a step number.
pub(crate) const INFERRED_STEP: u8 = 4;
/// A signal is named: SIGINT, or SIGTERM.
const INTERRUPTED: u8 = 8;
const TERMINATED: u8 = 16;

/// There are poll intervals.
pub(crate) const POLLS: u8 = 32;

/// It ran on a device.
pub(crate) const ON_DEVICE: u8 = 64;

/// There are thread samples.
pub(crate) const SAMPLES: u8 = 128;

/// The flag of thread samples.
pub(crate) const fn of_samples(samples: &[super::Sample]) -> u8 {
    if samples.is_empty() { 0 } else { SAMPLES }
}

/// It annotates what ran on a device: no program is ended there by a signal, of which there are never two.
const ANNOTATION: u8 = ON_DEVICE | INTERRUPTED | TERMINATED;

/// The flag of a device, or of an annotation of one.
pub(crate) const fn of_device(is_on_device: bool, is_annotation: bool) -> u8 {
    if is_annotation {
        ANNOTATION
    } else if is_on_device {
        ON_DEVICE
    } else {
        0
    }
}

/// Whether flags are those of an annotation of a device.
pub(crate) const fn is_annotation(flags: u8) -> bool {
    flags & ANNOTATION == ANNOTATION
}

/// The flag of poll intervals.
pub(crate) const fn of_polls(intervals: &[super::Interval]) -> u8 {
    if intervals.is_empty() { 0 } else { POLLS }
}

/// The flag of a signal.
pub(crate) const fn of_signal(signal: Option<Signal>) -> u8 {
    match signal {
        Some(Signal::Interrupt) => INTERRUPTED,
        Some(Signal::Terminate) => TERMINATED,
        None => 0,
    }
}

/// The signal of flags.
pub(crate) const fn signal(flags: u8) -> Option<Signal> {
    match flags & (INTERRUPTED | TERMINATED) {
        INTERRUPTED => Some(Signal::Interrupt),
        TERMINATED => Some(Signal::Terminate),
        _ => None,
    }
}

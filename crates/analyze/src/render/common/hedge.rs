//! Words around a figure that stands for more than was read.

use crate::summary::ThroughBatches;

/// What the waits on the critical path that link to their batch were for, a sentence without its stop; nothing where
/// they take no time. The figures are each format's own.
pub(crate) fn through_batches(through: &ThroughBatches, linked: &str, making: &str) -> Option<String> {
    if through.linked_ns == 0 {
        return None;
    }
    let (about, drawn) = of_a_sample(through.is_exact);
    Some(if through.making_ns == 0 {
        format!(
            "waits that link to their batch take {linked}; meanwhile no section of a loader was making it, so that the \
             wait keeps the time{drawn}"
        )
    } else {
        format!(
            "waits that link to their batch take {linked}; for {about}{making} of that, sections of a loader were making the \
             batch, and have the time instead of the wait{drawn}"
        )
    })
}

/// What is said before an estimated figure, and at the end of its sentence; nothing for an exact one.
pub(crate) fn of_a_sample(is_exact: bool) -> (&'static str, &'static str) {
    if is_exact { ("", "") } else { ("about ", " (estimated from a sample of the traces)") }
}

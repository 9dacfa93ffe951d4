//! What measures the steps of a training: the loops hand it each of them, whichever it is.

use crate::alternation::Alternation;
use crate::trouble::Course;

/// See the module.
pub(crate) enum Steps {
    /// As many as are asked for, with stepscope and without.
    Alternation(Alternation),
    /// Until its rounds are over, with a receiver that is well and in trouble.
    Course(Course),
}

impl Steps {
    /// Does a step.
    pub(crate) fn step<R>(&mut self, step: impl FnOnce() -> R) -> R {
        match self {
            Self::Alternation(alternation) => alternation.step(step),
            Self::Course(course) => course.step(step),
        }
    }

    /// Whether no more steps are wanted, however many were asked for.
    pub(crate) fn are_over(&self) -> bool {
        match self {
            Self::Alternation(_) => false,
            Self::Course(course) => course.is_over(),
        }
    }
}

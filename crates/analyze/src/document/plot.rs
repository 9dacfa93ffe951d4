//! Drawings as data. The page's script draws them from its figures; here is what is said of them.

use serde::Serialize;

use super::{Cell, Document, Shown};

/// A drawing over step numbers, or of the distribution of step times.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Plot {
    /// Which one; the id of its figure is `plot-` and this.
    pub(crate) id: String,
    /// What it shows, for those who do not see it.
    pub(crate) title: String,
    /// Its heading, where it is not alone in its part.
    pub(crate) heading: Cell,
    /// What is said below it.
    pub(crate) caption: Cell,
}

/// Parts of a whole in one bar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stack {
    /// Class, name and size of each.
    pub(crate) parts: Vec<(String, String, u64)>,
    pub(crate) whole: u64,
}

impl Document {
    /// A drawing.
    pub(crate) fn plot(&mut self, plot: Plot) {
        self.add(Shown::HTML, || super::Block::Plot(Box::new(plot)));
    }
}

/// What is known of the steps and stands in their plot.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct Marks {
    /// Where step times change.
    pub(crate) changes: Vec<MarkedChange>,
    /// Periodic steps.
    pub(crate) periods: Vec<MarkedPeriod>,
    /// The first step after warm-up, where there was one.
    pub(crate) steady: Option<u64>,
}

/// Where step times change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MarkedChange {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) words: String,
}

/// Steps that take longer every so often.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MarkedPeriod {
    pub(crate) every: u64,
    pub(crate) first: u64,
    pub(crate) words: String,
}

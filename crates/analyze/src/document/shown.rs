//! Where something is shown: a terminal and a comment on a pull request hold less than a page.

use std::ops::BitOr;

/// A set of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown(u8);

impl Shown {
    /// None of them.
    pub(crate) const NONE: Self = Self(0);
    /// A terminal.
    pub(crate) const TEXT: Self = Self(1);
    /// A comment on a pull request.
    pub(crate) const MD: Self = Self(2);
    /// A page.
    pub(crate) const HTML: Self = Self(4);
    /// A terminal and a page.
    pub(crate) const NO_COMMENT: Self = Self(5);
    /// All but a page.
    pub(crate) const BRIEF: Self = Self(3);
    /// All that have tables as wide as they need to be.
    pub(crate) const TABLES: Self = Self(6);
    /// All of them.
    pub(crate) const ALL: Self = Self(7);

    /// Whether one of these is among them.
    #[must_use]
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Shown {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

//! How much the layer records.

use crate::kind::named_enum;

named_enum! {
    /// How much is recorded. Aggregates stay exact at every level but `Off`.
    Level {
        /// Nothing.
        Off = "off",
        /// Exact aggregates of every section; spans only from step level up. For production.
        Basic = "basic",
        /// A span for every section. The default.
        Detailed = "detailed",
        /// As `Detailed`, with figures that cost a system call on every section.
        Comprehensive = "comprehensive",
    }
}

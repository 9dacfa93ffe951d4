//! Series as pieces of time, and figures of them, against values worked out by hand.

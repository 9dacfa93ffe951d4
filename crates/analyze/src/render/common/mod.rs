//! What several formats share: evidence in words, printable names. No layout and no escaping.

pub(crate) mod evidence;
pub(crate) mod names;

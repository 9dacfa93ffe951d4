//! What several formats share: evidence in words, printable names, the end of a run. No layout and no escaping.

pub(crate) mod changes;
pub(crate) mod evidence;
pub(crate) mod hedge;
pub(crate) mod letters;
pub(crate) mod modes;
pub(crate) mod names;
pub(crate) mod others;
pub(crate) mod periods;
pub(crate) mod recording;
pub(crate) mod spread;
pub(crate) mod waiters;
pub(crate) mod windows;

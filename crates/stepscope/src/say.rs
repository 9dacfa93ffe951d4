//! What the layer tells people, on standard error: the only place of the crate that writes there. What is said is the
//! business of those who say it.

use std::fmt::Display;

use crate::sys;

/// Says one line. Where nobody can hear it (a closed pipe, one that nobody reads, a full disk), it is not said: that is no
/// reason to end a training, as `eprintln!` would by its panic, nor to wait.
pub(crate) fn say(text: impl Display) {
    // In one piece, so that the lines of several processes stay whole.
    let line = format!("stepscope: {text}\n");
    sys::write_to_stderr(line.as_bytes());
}

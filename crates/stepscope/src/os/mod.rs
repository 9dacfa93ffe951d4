//! What the operating system and the process tell: system calls, clocks, files of `/proc`, allocation counts; and what is
//! said on standard error. Knows nothing of sections, settings or runs.

pub(crate) mod catch_panic;
pub(crate) mod clock;
pub(crate) mod diagnostics;
pub(crate) mod guarded_file;
pub(crate) mod memory;
pub(crate) mod network;
pub(crate) mod proc_file;
pub(crate) mod processors;
pub(crate) mod sys;
pub(crate) mod thread_state;
pub(crate) mod ticks;

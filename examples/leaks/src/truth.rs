//! What was planted, as the program knows it: where, and how many bytes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::programs::Leak;

static PLACE: Mutex<Option<(&'static str, u32)>> = Mutex::new(None);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Evaluates the expression that leaks so many bytes, and notes its line.
macro_rules! planted {
    ($bytes:expr, $leak:expr) => {{
        $crate::truth::note(file!(), line!(), $bytes);
        $leak
    }};
}
pub(crate) use planted;

/// For [`planted!`].
pub fn note(file: &'static str, line: u32, bytes: usize) {
    if let Ok(mut place) = PLACE.lock() {
        place.get_or_insert((file, line));
    }
    BYTES.fetch_add(bytes as u64, Relaxed);
}

/// One line about the leak that was planted.
pub fn json(leak: &Leak, steps: u64, healthy_bytes: usize) -> String {
    let (file, line) = PLACE.lock().ok().and_then(|place| *place).unwrap_or_default();
    let bytes = BYTES.load(Relaxed);
    format!(
        r#"{{"leak":"{}","section":"{}","file":"{file}","line":{line},"block_bytes":{},"bytes":{bytes},"bytes_per_step":{},"steps":{steps},"healthy_section":"{}","healthy_bytes":{healthy_bytes}}}"#,
        leak.name,
        leak.section,
        leak.block_bytes,
        bytes / steps.max(1),
        crate::retainer::SECTION,
    )
}

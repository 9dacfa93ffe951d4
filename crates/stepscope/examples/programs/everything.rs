//! A program that records everything, down to TRACE, and brings an exporter that says a lot while it works: on threads of
//! the layer's own, where nothing may be recorded, or each export would make more to export.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stepscope::{Exported, Exporter, section, step, value};
use tracing::level_filters::LevelFilter;
use tracing::{debug_span, info_span, trace_span};

use crate::say;

static EXPORTS: AtomicU64 = AtomicU64::new(0);
static EXPORTED: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Talker;

impl Talker {
    fn talk() {
        let _step = step!(900);
        let _span = info_span!("in_the_exporter").entered();
        let _section = section!("section_in_the_exporter");
        value!("of_the_exporter", 1.0);
        tracing::error!("in the exporter");
        trace_span!("traced_in_the_exporter").in_scope(|| tracing::trace!("in the exporter"));
    }
}

impl Exporter for Talker {
    fn export(&mut self, _: &[u8], spans: u64) -> Exported {
        Self::talk();
        EXPORTS.fetch_add(1, Ordering::Relaxed);
        EXPORTED.fetch_add(spans, Ordering::Relaxed);
        Exported::Taken
    }

    fn shutdown(&mut self) {
        Self::talk();
    }
}

pub(crate) fn run(steps: u64) {
    let timeout = Duration::from_secs(60);
    let builder = stepscope::builder().max_level(LevelFilter::TRACE).exit_timeout(timeout);
    let run = crate::install(builder.exporter(Talker));
    for number in 0..steps {
        let step = step!(number);
        trace_span!("traced").in_scope(|| {
            tracing::trace!("nobody keeps this");
            debug_span!("detail").in_scope(|| ());
        });
        drop(step);
        if number % 16 == 0 {
            assert!(run.flush(timeout).is_complete());
        }
    }
    drop(run);
    say("spans", steps * 3 + 2);
    say("exports", EXPORTS.load(Ordering::Relaxed));
    say("exported", EXPORTED.load(Ordering::Relaxed));
}

//! Progress of long work: one line on standard error that is written over, only on a terminal, only after a
//! second.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use stepscope_analyze::report::units;

use crate::args::Global;

/// Work shorter than this shows nothing.
const SHOW_AFTER: Duration = Duration::from_secs(1);
const REFRESH_AFTER: Duration = Duration::from_millis(200);

/// The line.
pub(crate) struct Progress {
    enabled: bool,
    started: Instant,
    /// When the line was last written.
    shown: Option<Instant>,
}

impl Progress {
    /// Nothing shown yet.
    pub(crate) fn new(global: Global) -> Self {
        let enabled = !global.quiet && std::io::stderr().is_terminal();
        Self { enabled, started: Instant::now(), shown: None }
    }

    /// How much of the input has been read.
    pub(crate) fn bytes(&mut self, read: u64, total: Option<u64>) {
        if !self.is_due() {
            return;
        }
        let text = match total.filter(|&total| total > 0) {
            Some(total) => format!(
                "reading {} of {} ({})",
                units::bytes(read),
                units::bytes(total),
                units::percent(read as f64 / total as f64)
            ),
            None => format!("reading {}", units::bytes(read)),
        };
        self.show(&text);
    }

    /// Any other words, at most as often as the line is refreshed.
    pub(crate) fn words(&mut self, text: impl FnOnce() -> String) {
        if self.is_due() {
            self.show(&text());
        }
    }

    /// Takes the line away.
    pub(crate) fn done(&self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }

    fn is_due(&self) -> bool {
        let since = self.shown.unwrap_or(self.started);
        let wait = if self.shown.is_some() { REFRESH_AFTER } else { SHOW_AFTER };
        self.enabled && since.elapsed() >= wait
    }

    fn show(&mut self, text: &str) {
        self.shown = Some(Instant::now());
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "\r\u{1b}[K{text}").and_then(|()| stderr.flush());
    }
}

//! The door for exporters of the program's own: what leaves as spans goes to them, too. How it gets there without
//! holding up anything is in `exporter_sink`.

use std::fmt::Debug;

/// Takes what leaves the program as spans, beside files and the endpoint: [`Builder::exporter`](crate::Builder::exporter).
///
/// Works on a thread of its own, which records nothing. It may wait there: meanwhile up to 16 MiB wait for it, then the
/// oldest are dropped and counted. The sums of sections are metrics, and do not come here.
pub trait Exporter: Debug + Send + 'static {
    /// Takes `request`, an `ExportTraceServiceRequest` of OTLP in protobuf with so many spans. It is not tried again.
    fn export(&mut self, request: &[u8], spans: u64) -> Exported;

    /// The run has ended, and nothing more comes. The program waits for it within its exit timeout.
    fn shutdown(&mut self) {}
}

/// What became of the spans of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exported {
    /// They were taken.
    Taken,
    /// They were taken, but for so many that were rejected for this reason.
    Rejected(u64, String),
    /// None was taken, for this reason.
    NotTaken(String),
    /// Nobody knows how many were taken, for this reason.
    Unknown(String),
}

/// Records nothing of what this thread does from now on, for as long as it lives.
///
/// For where nothing is entered yet: what is, is not left any more either.
///
/// For threads that an exporter starts by itself, of its runtime, say: what it does to send spans would be the program's
/// else, at a level that takes it, and make more spans to send.
///
/// ```
/// std::thread::Builder::new().name("sender".into()).spawn(|| {
///     stepscope::suppress_thread();
///     // …
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn suppress_thread() {
    crate::hot::thread::suppress();
}

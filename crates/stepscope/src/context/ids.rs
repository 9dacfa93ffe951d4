//! Identities of spans, for what is beside the layer: logs, other tracers, requests to other processes. Those of the calling
//! thread's section are in `api::current`.

use std::fmt;

use crate::context::propagation::Traceparent;

/// What names a span everywhere. Written out it is a `traceparent` of W3C Trace Context.
///
/// ```
/// # std::env::set_current_dir(std::env::temp_dir())?;
/// let _run = stepscope::init();
/// let _step = stepscope::step!(0);
/// let ids = stepscope::current_ids().expect("a section is entered");
/// assert_eq!(ids.to_string().len(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03".len());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanIds {
    /// Id of the trace.
    pub trace_id: [u8; 16],
    /// Id of the span in it.
    pub span_id: [u8; 8],
}

impl SpanIds {
    /// The trace's id in 32 hexadecimal digits, as logs, exemplars of metrics and dashboards have it.
    ///
    /// ```
    /// let ids = stepscope::SpanIds { trace_id: [0xab; 16], span_id: [0x0c; 8] };
    /// // What follows a sample of a metric in OpenMetrics, before the value.
    /// let exemplar = format!("# {{trace_id=\"{}\",span_id=\"{}\"}}", ids.trace_id_text(), ids.span_id_text());
    /// assert_eq!(exemplar, "# {trace_id=\"abababababababababababababababab\",span_id=\"0c0c0c0c0c0c0c0c\"}");
    /// ```
    #[must_use]
    pub fn trace_id_text(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.trace_id))
    }

    /// The span's id in 16 hexadecimal digits.
    #[must_use]
    pub fn span_id_text(&self) -> String {
        format!("{:016x}", u64::from_be_bytes(self.span_id))
    }
}

impl fmt::Display for SpanIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Traceparent::own(*self).fmt(f)
    }
}

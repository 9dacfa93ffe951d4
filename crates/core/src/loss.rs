//! Why a span did not arrive. Every drop anywhere is counted under one of these reasons.

use crate::kind::named_enum;

named_enum! {
    /// Why spans were lost, on the wire as [`crate::attr::LOSS_REASON`].
    LossReason {
        /// The thread's ring was full: sections ended faster than the background thread could take them.
        RingFull = "ring_full",
        /// Too many spans were open at the same time: it is not in the sums either.
        OpenSpans = "open_spans",
        /// The span began or ended after its thread had begun to tear down: it is not in the sums either.
        ThreadTeardown = "thread_teardown",
        /// Inherited over `fork` and left to the parent process.
        Forked = "forked",
        /// Thinned out on purpose because the directory had used half of its bound.
        Thinned = "thinned",
        /// Deleted with the oldest file to stay within the directory's bound.
        SizeBound = "size_bound",
        /// Could not be written to the directory.
        WriteFailed = "write_failed",
        /// The endpoint could not be reached, did not answer before the program ended, or refused for good.
        ExportFailed = "export_failed",
        /// The endpoint took the request but rejected these spans (partial success).
        ExportRejected = "export_rejected",
        /// The connection broke before the answer, or it was none of an OTLP receiver: these spans may or may not have arrived.
        ExportUnknown = "export_unknown",
        /// Not taken by the layer's own thread: ended after its final flush had run out of time, or it died of a panic.
        Shutdown = "shutdown",
        /// Left out on purpose: the level was lowered to `basic` while the program ran.
        Level = "level",
        /// Left out on purpose: a filter says that such sections leave no span.
        Filtered = "filtered",
        /// Left out on purpose: sections are sampled, or more of them ended than may leave in a second.
        SampledOut = "sampled_out",
    }
}

impl LossReason {
    /// Whether somebody has chosen to have fewer spans: nothing is wrong, and what is here is no less true.
    #[must_use]
    pub const fn is_on_purpose(self) -> bool {
        matches!(self, Self::Thinned | Self::Level | Self::Filtered | Self::SampledOut)
    }

    /// What a user can do about it, a complete sentence.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::RingFull => {
                "Raise the ring size (STEPSCOPE_RING_BYTES), or record fewer sections (level `basic`)."
            }
            Self::OpenSpans => "Close spans earlier, or record fewer of those that stay open.",
            Self::ThreadTeardown => "End sections before their thread exits.",
            Self::Forked => "Initialise stepscope in the child process itself.",
            Self::Thinned | Self::SizeBound => {
                "Raise the directory's bound (STEPSCOPE_DIR_BYTES) or use level `basic`."
            }
            Self::WriteFailed => "Check free space and permissions of the profile directory.",
            Self::ExportFailed => {
                "Check that the collector at OTEL_EXPORTER_OTLP_ENDPOINT is running and answers in time."
            }
            Self::ExportRejected => "Read the collector's log: it says why it rejected them.",
            Self::ExportUnknown => {
                "Check the network between the program and the collector, and the endpoint."
            }
            Self::Level => "Stay at level `detailed` for as long as spans of sections are wanted.",
            Self::Filtered => {
                "They are in the sums, if these are kept. To have their spans, too, change the filter (STEPSCOPE_FILTER)."
            }
            Self::SampledOut => {
                "They are in the sums, if these are kept. To have more of their spans, sample more of them (STEPSCOPE_FILTER)."
            }
            Self::Shutdown => {
                "Call `flush` before the program ends, or give the final flush more time. A panic of the layer's own thread is a bug, and standard error has it."
            }
        }
    }
}

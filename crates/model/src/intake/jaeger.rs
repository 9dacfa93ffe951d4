//! Traces in Jaeger's JSON: taken by way of the same visitor as OTLP's messages.

use stepscope_otlp::Signal;

use super::{BadMessage, Forward, Intake};
use crate::issues::FileId;
use crate::jaeger::{self, Ended};
use crate::{IssueKind, Sink};

impl Intake {
    /// Takes one trace of Jaeger, which begins at `offset`.
    ///
    /// # Errors
    /// Where it ends too early or is damaged; what was whole in it has been taken.
    pub(crate) fn jaeger_trace(
        &mut self,
        bytes: &[u8],
        file: FileId,
        offset: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), BadMessage> {
        let decoded = if let Some(visitor) = sink.raw(Signal::Traces) {
            jaeger::decode(bytes, &mut Forward::new(visitor, &mut self.state))
        } else {
            let mut collect = self.state.collect(sink, file, offset);
            jaeger::decode(bytes, &mut collect)
        };
        let issues = &mut self.state.issues;
        issues.add(file, IssueKind::InvalidUtf8, Some(offset), decoded.invalid_utf8, || {
            "text that is not UTF-8 is shown with replacement characters".into()
        });
        let (place, reason) = decoded.first_bad;
        let cost = (decoded.bad_spans, decoded.bad_bytes);
        issues.add_lost(file, IssueKind::Corrupt, Some(offset + place as u64), cost, || {
            format!("{reason}; only the spans with such damage were left out")
        });
        self.state.assembler.bound(&mut self.state.issues);
        match decoded.ended {
            None => Ok(()),
            Some((_, Ended::Truncated)) => Err(BadMessage {
                read_bytes: decoded.spans_end,
                ..BadMessage::new(IssueKind::Truncated, "the trace ends too early")
            }),
            Some((at, Ended::Damaged)) => Err(BadMessage {
                read_bytes: decoded.spans_end,
                ..BadMessage::new(IssueKind::Corrupt, format!("no JSON at byte {at} of a trace"))
            }),
        }
    }
}

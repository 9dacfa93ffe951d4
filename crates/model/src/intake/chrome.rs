//! Trace events, once all of a file have been gathered: taken by way of the same visitor as OTLP's messages, a few
//! spans at a time, so that memory stays bounded.

use std::io;

use stepscope_otlp::Signal;

use super::profile::names_folded;
use super::{Forward, Intake};
use crate::chrome::{Bad, Gather, Manner, PROFILER_STEP};
use crate::issues::FileId;
use crate::{IssueKind, Sink};

impl Intake {
    /// Takes the events of a file; `offset` is where it begins.
    pub(crate) fn chrome(&mut self, gather: Gather, file: FileId, offset: u64, sink: &mut dyn Sink) {
        self.bad_events(gather.bad, file, offset);
        if let Err(error) = self.take_events(gather, file, offset, sink) {
            self.state.issues.add(file, IssueKind::LimitReached, None, 1, || {
                format!("events in a temporary file were lost ({error}); give more memory or more disk")
            });
        }
    }

    fn bad_events(&mut self, bad: Bad, file: FileId, offset: u64) {
        let issues = &mut self.state.issues;
        let first = Some(offset + bad.first);
        issues.add_lost(file, IssueKind::Corrupt, first, (bad.events, bad.bytes), || {
            "an event lacks its kind or its time, or is none; only such events were left out".into()
        });
        issues.add(file, IssueKind::InvalidUtf8, Some(offset), bad.mended, || {
            "text that is not UTF-8 is shown with replacement characters".into()
        });
        issues.add(file, IssueKind::NegativeDuration, Some(offset), bad.negative, || {
            "an event ends before it starts; its duration counts as 0".into()
        });
        issues.add(file, IssueKind::BadTime, Some(offset), bad.endless, || {
            "a slice has no duration, or one that is no number or beyond any; it counts as 0".into()
        });
        issues.add(file, IssueKind::BadStep, Some(offset), bad.steps, || {
            format!(
                "a number behind `{PROFILER_STEP}#` is beyond {}; such slices count as sections",
                i64::MAX
            )
        });
    }

    fn take_events(
        &mut self,
        gather: Gather,
        file: FileId,
        offset: u64,
        sink: &mut dyn Sink,
    ) -> io::Result<()> {
        let (others, sums) = (gather.bad.others, gather.bad.sums);
        let manner = match sink.raw(Signal::Traces) {
            Some(_) => Manner::Raw,
            None if self.folds_names => Manner::Folded,
            None => Manner::Meant,
        };
        let (gathered, mut index) = gather.finish(manner)?;
        self.profile(&gathered, file, offset);
        let mut emitter = gathered.emitter(&mut index)?;
        let mut counts = 0_u64;
        while emitter.advance()? {
            if let Some(visitor) = sink.raw(Signal::Traces) {
                emitter.spans(&mut Forward::new(visitor, &mut self.state));
            } else {
                emitter.spans(&mut self.state.collect(sink, file, offset));
            }
            match sink.raw(Signal::Metrics) {
                Some(visitor) => emitter.points(&mut Forward::new(visitor, &mut self.state)),
                None => counts = counts.saturating_add(emitter.counts()),
            }
            self.state.assembler.bound(&mut self.state.issues);
        }
        let names = emitter.folded();
        let (unmatched, unended, beyond) = emitter.odd();
        let issues = &mut self.state.issues;
        let left_out = counts.saturating_add(others).saturating_add(sums);
        issues.add(file, IssueKind::LeftOut, None, left_out, || {
            let repeated = format!("sums of slices (`Total …`, {sums}) repeat what they sum");
            if counts == 0 && others == 0 {
                return repeated;
            }
            let and = if sums > 0 { format!("; {repeated}") } else { String::new() };
            format!(
                "events of counters ({counts}; `stepscope convert` to OTLP keeps them as gauges) and of kinds that take \
                 no time, such as objects, samples and memory dumps ({others}), are no part of a report{and}"
            )
        });
        names_folded(issues, file, names);
        issues.add(file, IssueKind::Corrupt, None, emitter.bad_times, || {
            "a time is before 1970 or after 2554; only such spans were left out".into()
        });
        issues.add(file, IssueKind::Corrupt, None, unmatched, || {
            "an event ends, or belongs to, a slice that did not begin; it was left out".into()
        });
        issues.add(file, IssueKind::Truncated, None, unended, || {
            "a slice begins and does not end; it ends with what is around it, or with the last event of its thread".into()
        });
        issues.add(file, IssueKind::LimitReached, None, beyond, || {
            "slices nest more than 1,024 deep, or flows and launches are too many to tie: some lack their children or \
             links"
                .into()
        });
        Ok(())
    }
}

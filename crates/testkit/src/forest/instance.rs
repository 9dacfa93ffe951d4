//! One process of a generated run, from its start marker to its last message.

use std::io;

use stepscope_core::identity::{TraceIds, mix};
use stepscope_core::{SectionKind, attr};
use stepscope_otlp::{Value, Visitor};

use super::grow::Grower;
use super::metrics::Publication;
use super::options::ForestOptions;
use super::plan::{Batch, Plan, Section};
use super::template::{LOADER_THREADS, MAIN_THREAD, StepAt};
use super::truth::{Ledger, Truth};
use super::write::{self, Id};
use crate::message::{Encoder, Format};
use crate::random::Random;

/// Sums are published after every so many steps, and at the end.
const PUBLISH_EVERY: u64 = 1_000;

/// Loader threads.
const LOADERS: u64 = 3;

/// Writes everything of `rank`.
pub(super) fn write(
    options: &ForestOptions,
    rank: u32,
    format: Format,
    emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Truth> {
    let instance: [&[u8]; 2] = [options.run_id.as_bytes(), &rank.to_le_bytes()];
    let ids = TraceIds::new(&options.run_id, options.attempt, &instance);
    let mut process = Process {
        options,
        rank,
        random: Random::new(mix(options.seed ^ mix(u64::from(rank)))),
        ids,
        traces: 0,
        spans: 0,
        span_ids: 0,
        now_ns: options.start_unix_ns,
        run: Id { trace: ids.trace_id(0, None), span: [0; 8] },
        plan: Plan::default(),
        run_plan: Plan::default(),
        epoch: None,
        ledger: Ledger::new(),
        truth: Truth::default(),
        output: Output { encoder: Encoder::traces(format), spans: 0, format, emit },
    };
    process.begin()?;
    for number in 0..options.steps {
        process.step(number)?;
    }
    process.end()
}

/// The message being written.
struct Output<'a> {
    encoder: Encoder,
    spans: u32,
    format: Format,
    emit: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
}

impl Output<'_> {
    fn flush(&mut self) -> io::Result<()> {
        if self.spans > 0 {
            (self.emit)(self.encoder.finish())?;
        }
        self.encoder.clear();
        self.spans = 0;
        Ok(())
    }
}

struct Epoch {
    number: u64,
    id: Id,
    start_ns: u64,
}

struct Process<'a> {
    options: &'a ForestOptions,
    rank: u32,
    random: Random,
    ids: TraceIds,
    traces: u32,
    spans: u64,
    span_ids: u64,
    now_ns: u64,
    run: Id,
    plan: Plan,
    /// The run's own trace: it grows by an epoch from time to time.
    run_plan: Plan,
    epoch: Option<Epoch>,
    ledger: Ledger,
    truth: Truth,
    output: Output<'a>,
}

impl Process<'_> {
    fn begin(&mut self) -> io::Result<()> {
        self.next_trace(None);
        self.run.span = self.next_span();
        let mut run = Section::new("run", None, MAIN_THREAD, self.now_ns, self.now_ns);
        run.kind = SectionKind::Run;
        self.run_plan.push(run);
        self.mark("run.started", SectionKind::Run, None)?;
        // The loaders need time for the first batches.
        self.now_ns += self.options.step_ns * 4;
        Ok(())
    }

    fn step(&mut self, number: u64) -> io::Result<()> {
        let options = self.options;
        if options.steps_per_epoch > 0 && number.is_multiple_of(options.steps_per_epoch) {
            self.end_epoch()?;
            self.begin_epoch(number / options.steps_per_epoch)?;
        }
        let every = |steps: u64| steps > 0 && (number + 1).is_multiple_of(steps);
        let start_ns = self.now_ns;
        let wait_end_ns =
            if options.batches { start_ns + self.random.below(options.step_ns / 5 + 1) } else { start_ns };
        let batch = if options.batches { Some(self.batch(number, wait_end_ns)?) } else { None };
        let end_ns = wait_end_ns + options.step_ns / 2 + self.random.below(options.step_ns / 2 + 1);
        let at = StepAt {
            number,
            epoch: self.epoch.as_ref().map(|epoch| epoch.number),
            start_ns,
            end_ns,
            wait_end_ns,
            batch,
            has_checkpoint: every(options.checkpoint_every),
            is_deep: every(options.deep_every),
        };
        self.grower().training_step(&at);
        self.truth.train_steps += 1;
        self.write_trace(Some(number))?;
        self.now_ns = end_ns + self.random.within(1_000, 20_000);
        if every(options.eval_every) {
            let start_ns = self.now_ns;
            let end_ns = start_ns + options.step_ns / 4 + self.random.below(options.step_ns / 4 + 1);
            let at = StepAt { start_ns, end_ns, wait_end_ns: start_ns, batch: None, ..at };
            self.grower().evaluation_step(&at);
            self.truth.eval_steps += 1;
            self.write_trace(Some(number))?;
            self.now_ns = end_ns + self.random.within(1_000, 20_000);
        }
        if every(PUBLISH_EVERY) { self.publish() } else { Ok(()) }
    }

    /// Writes the trace of a batch that was taken at `taken_ns`.
    fn batch(&mut self, number: u64, taken_ns: u64) -> io::Result<Batch> {
        let most_ns = self.options.step_ns;
        let queue_ns = self.random.below(most_ns / 2 + 1);
        let produce_ns = self.random.within(most_ns / 4, most_ns * 2);
        let end_ns = taken_ns - queue_ns;
        let mut batch = Batch {
            id: number,
            trace: [0; 16],
            span: [0; 8],
            produce_ns,
            queue_ns,
            queue_depth: self.random.within(1, 8),
            worker: LOADER_THREADS + number % LOADERS,
        };
        self.grower().batch(&batch, end_ns - produce_ns, end_ns);
        self.truth.batches += 1;
        let id = self.write_trace(None)?;
        (batch.trace, batch.span) = (id.trace, id.span);
        Ok(batch)
    }

    fn grower(&mut self) -> Grower<'_> {
        Grower { options: self.options, random: &mut self.random, plan: &mut self.plan }
    }

    /// Writes the planned trace, sections in the order in which they end, and gives its root's identity.
    fn write_trace(&mut self, step: Option<u64>) -> io::Result<Id> {
        let trace = self.next_trace(step);
        let ids: Vec<[u8; 8]> = (0..self.plan.sections.len()).map(|_| self.next_span()).collect();
        let mut order: Vec<usize> = (0..ids.len()).collect();
        // Of those that end together the inner one, which comes later in the plan, ends first.
        order.sort_by_key(|&index| (self.plan.sections[index].end_ns, std::cmp::Reverse(index)));
        for index in order {
            self.before_span();
            let section = &self.plan.sections[index];
            let id = Id { trace, span: ids[index] };
            let parent = section.parent.map(|parent| ids[parent]);
            write::section(&mut self.output.encoder, &self.plan, section, id, parent, Some(self.run));
            self.after_span()?;
        }
        self.ledger.add(&self.plan, true);
        Ok(Id { trace, span: ids.first().copied().unwrap_or_default() })
    }

    fn begin_epoch(&mut self, number: u64) -> io::Result<()> {
        let id = Id { trace: self.run.trace, span: self.next_span() };
        self.epoch = Some(Epoch { number, id, start_ns: self.now_ns });
        self.mark("epoch.started", SectionKind::Epoch, Some(number))
    }

    fn end_epoch(&mut self) -> io::Result<()> {
        let Some(epoch) = self.epoch.take() else { return Ok(()) };
        let mut section = Section::new("epoch", Some(0), MAIN_THREAD, epoch.start_ns, self.now_ns);
        section.kind = SectionKind::Epoch;
        self.before_span();
        self.output.encoder.span_attribute(attr::EPOCH, write::int(epoch.number));
        let (run, plan) = (Some(self.run.span), &self.run_plan);
        write::section(&mut self.output.encoder, plan, &section, epoch.id, run, None);
        self.run_plan.push(section);
        self.after_span()
    }

    /// Writes a zero-length span that says that a run or an epoch began.
    fn mark(&mut self, name: &str, kind: SectionKind, epoch: Option<u64>) -> io::Result<()> {
        let id = Id { trace: self.run.trace, span: self.next_span() };
        self.before_span();
        let encoder = &mut self.output.encoder;
        encoder.span_attribute(attr::SECTION_KIND, Value::Str(kind.as_str()));
        encoder.span_attribute(attr::THREAD_ID, write::int(MAIN_THREAD));
        if let Some(epoch) = epoch {
            encoder.span_attribute(attr::EPOCH, write::int(epoch));
        }
        write::span(encoder, name, id, Some(self.run.span), (self.now_ns, self.now_ns));
        self.truth.markers += 1;
        self.after_span()
    }

    fn end(mut self) -> io::Result<Truth> {
        if self.options.ended {
            self.end_epoch()?;
        }
        if let Some(run) = self.run_plan.sections.first_mut() {
            run.end_ns = self.now_ns;
            run.busy_ns = run.duration_ns();
        }
        self.run_plan.root.markers = self.truth.markers;
        self.run_plan.complete();
        if self.options.ended {
            self.before_span();
            if let Some(run) = self.run_plan.sections.first() {
                write::section(&mut self.output.encoder, &self.run_plan, run, self.run, None, None);
            }
            self.after_span()?;
        }
        self.ledger.add(&self.run_plan, self.options.ended);
        self.publish()?;
        self.truth.spans = self.spans;
        self.truth.traces = u64::from(self.traces);
        self.truth.paths = self.ledger.into_paths();
        Ok(self.truth)
    }

    fn publish(&mut self) -> io::Result<()> {
        self.output.flush()?;
        if !self.options.metrics {
            return Ok(());
        }
        let mut encoder = Encoder::metrics(self.output.format);
        write::resource(&mut encoder, self.options, self.rank);
        let publication = Publication {
            start_unix_ns: self.options.start_unix_ns,
            time_unix_ns: self.now_ns,
            emitted: self.spans,
            memory: self.options.memory,
        };
        publication.write(&mut encoder, &self.ledger);
        (self.output.emit)(encoder.finish())
    }

    fn before_span(&mut self) {
        if self.output.spans == 0 {
            write::resource(&mut self.output.encoder, self.options, self.rank);
        }
    }

    fn after_span(&mut self) -> io::Result<()> {
        self.spans += 1;
        self.output.spans += 1;
        if self.output.spans >= self.options.spans_per_message.max(1) { self.output.flush() } else { Ok(()) }
    }

    fn next_trace(&mut self, step: Option<u64>) -> [u8; 16] {
        let id = self.ids.trace_id(self.traces, step);
        self.traces += 1;
        id
    }

    /// Bijective in the number of the span: no id repeats within the process.
    fn next_span(&mut self) -> [u8; 8] {
        self.span_ids += 1;
        mix(self.span_ids | u64::from(self.rank) << 40).to_be_bytes()
    }
}

//! One step into the sums of its mode and process, and into the series; the values that a trace says.

use stepscope_model::Figure;

use crate::accumulate::gauge::GaugeAcc;
use crate::config::Bounds;
use crate::memory::by_process::{MemoryPoint, measured};
use crate::phases::PhaseKey;
use crate::phases::observe::Exposure;
use crate::run::Target;
use crate::sections::paths::UNCUT;
use crate::step_view::StepView;
use crate::step_view::group::Group;
use crate::steps::step_point::StepPoint;
use crate::steps::values::{RecordedValue, Values};
use crate::steps::{PhaseTime, StepRecord};
use crate::threads::step_use::StepUse;

/// Observes steps; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps {
    record: StepRecord,
}

impl Steps {
    /// Adds a step whose thread waited so long for batches. Gives what is kept of it.
    pub(crate) fn observe(
        &mut self,
        group: &Group<'_>,
        wait_ns: u64,
        exposure: &Exposure,
        target: &mut Target<'_>,
    ) -> &StepRecord {
        let Group { root, window, view, .. } = *group;
        let record = &mut self.record;
        (record.epoch, record.step) = (root.amount(Figure::Epoch), root.amount(Figure::Step));
        (record.start_ns, record.end_ns) = (window.start_ns, window.end_ns);
        (record.trace, record.span) = (view.trace.id, root.id);
        record.rank = view.trace.resource.rank;
        record.samples = group.work(Figure::Samples);
        record.tokens = group.work(Figure::Tokens);
        record.bytes = group.work(Figure::Bytes);
        record.is_whole = view.is_whole;
        record.is_deep = group.is_deep();
        record.used = StepUse::of(root, window.duration_ns());
        record.phases.clear();
        for (key, sum) in exposure.sums(view.phases).filter(|_| view.is_whole) {
            if sum.exposed_ns == 0 && sum.spans == 0 && sum.total_ns == 0 {
                continue;
            }
            let total_ns = if *key == PhaseKey::Absent { 0 } else { sum.total_ns };
            let time = PhaseTime {
                exposed_ns: sum.exposed_ns.into(),
                total_ns: total_ns.into(),
                self_ns: sum.self_ns.into(),
                spans: sum.spans,
            };
            record.phases.push((key.clone(), time));
        }
        record.phases.sort_unstable();
        let Target { run, instance, bounds } = target;
        let mode = group.mode.unwrap_or(root.mode) as usize;
        if let Some(instance) = instance {
            if let Some(steps) = instance.steps.get_mut(mode) {
                steps.add(record, bounds.custom_phases);
            }
            instance.outside.drives(window.thread, bounds.threads);
            let memory = group.place.zip(instance.memory.get_mut(mode));
            if let Some(((place, series), point)) = memory.zip(MemoryPoint::of(root)) {
                series.add(place, &point, bounds.process_points);
            }
        }
        let input_before_ns = root.amount(Figure::InputBeforeNs);
        if let Some(series) = run.phase_series.get_mut(mode) {
            let tree = run.sections.tree();
            // Where paths were cut nothing is kept of them.
            let is_whole = tree.cut() == UNCUT;
            let times = exposure.section_time().iter().filter(|_| is_whole);
            let times = times.map(|(path, ns)| (tree.id(path), ns));
            series.step(record, input_before_ns, times, bounds.phase_points);
        }
        let duration_ns = window.duration_ns();
        let memory = StepPoint {
            live: GaugeAcc::of(measured(root, Figure::LiveBytes)),
            rss: GaugeAcc::of(measured(root, Figure::RssBytes)),
            first_ns: Some(window.start_ns),
            ..StepPoint::default()
        };
        // A deep step takes longer by what it records: it is in no figure of what steps take.
        let point = match record.is_deep {
            true => memory,
            false => StepPoint {
                count: 1,
                sum_ns: duration_ns,
                min_ns: Some(duration_ns),
                max_ns: Some(duration_ns),
                samples: record.samples,
                wait_ns,
                run_queue_ns: record.used.run_queue_ns,
                cpu_ns: record.used.cpu_ns,
                input_before_ns,
                ..memory
            },
        };
        if let Some((place, series)) = group.place.zip(run.series.get_mut(mode)) {
            series.add(place, &point, bounds.points);
        }
        record
    }
}

/// Adds the values that a trace says.
pub(crate) fn values(view: &StepView<'_>, values: &mut Values, bounds: &Bounds) {
    for value in &view.trace.values {
        let (own, anchor) = view.with_anchor(value.span);
        let figure = |figure| anchor.and_then(|span| span.amount(figure)).or_else(|| own?.amount(figure));
        let said = RecordedValue {
            epoch: figure(Figure::Epoch),
            step: figure(Figure::Step),
            start_ns: anchor.map_or(0, |span| span.start_ns),
            trace: view.trace.id,
            span: value.span,
        };
        values.add(view.trace.text(value.name), value.value, said, bounds.values, bounds.points);
    }
}

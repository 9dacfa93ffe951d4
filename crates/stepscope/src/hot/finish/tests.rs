//! The short way into the ring writes what the long one does, and neither leaves anything behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stepscope_core::{Level, attr};

use super::*;
use crate::config::Config;
use crate::config::filter::Filter;
use crate::context::identity::{Given, Identity};
use crate::hot::open::{Spec, Start};
use crate::hot::recorder::Recorder;
use crate::shared::aggregate::MemorySums;
use crate::shared::attrs::{self, FieldValue};
use crate::shared::callsite::Callsite;

static SITE: Callsite =
    Callsite::new("site", Some(stepscope_core::Phase::Forward), "module", "file", 1, &["a"]);

#[test]
fn a_simple_record_is_the_record() {
    let recorder = Arc::new(Recorder::new(
        Config::default(),
        Identity::resolve(Given::default(), |_| None, &mut Vec::new()),
    ));
    let mut state = ThreadState::new(recorder);
    let open = Open::default();
    for combination in 0..1u64 << 5 {
        let has = |bit: u32| combination & 1 << bit != 0;
        open.reset(state.number, state.shared.id);
        open.push_declared(0, FieldValue::Str("some text"));
        open.set_error(true, has(0));
        let spec = Spec { phase: SITE.phase.filter(|_| has(1)), ..Spec::default() };
        assert!(state.begin(&open, Source::Section(&SITE), None, &spec, None));
        // As if it were inside of another one.
        let trace = open.trace().unwrap();
        let flags = flag::EXPORTED | if has(2) { flag::ON_FOREIGN_THREAD } else { 0 };
        open.begin(&Start {
            trace,
            trace_id: open.trace_id_words(),
            span_id: 21,
            parent_span_id: 22,
            path: open.path(),
            callsite: open.callsite(),
            kind: SectionKind::Section,
            phase: spec.phase,
            flags,
        });
        open.clear_flag(flag::IS_ROOT);
        let stay = Stay {
            enters: 1,
            exit_ns: 61,
            busy_ns: 32,
            self_busy_ns: 33,
            by_panic: false,
            memory: has(3).then_some(MemorySums::from_words([41, 42, 43, 44, 45, 46])),
            peak_bytes: has(4).then_some(51),
            cpu_ns: None,
        };
        let bits = open.bits();
        assert!(state.is_simple(&open, bits, &stay));
        assert!(state.write_simple(&open, bits, &stay));
        state.export(&open, trace, &stay);
        let (mut short, mut long) = (Vec::new(), Vec::new());
        assert!(state.shared.take(&mut short) && state.shared.take(&mut long));
        assert!(short.len() < long.len());
        let (record, attached) = SectionRecord::unpack(&short, state.shared.id).unwrap();
        assert_eq!(SectionRecord::unpack(&long, 0), Some((record, attached)), "{combination:b}");
        assert_eq!((record.span_id, record.end_ns, record.peak_bytes), (21, 61, stay.peak_bytes));
        assert_eq!((record.is_error, record.phase), (has(0), spec.phase));
    }
    assert_eq!(state.shared.emitted.load(Ordering::Relaxed), 64);
}

/// The records that a thread has written: span ids, and whether they have page faults, which every Linux counts.
fn counted(state: &ThreadState) -> Vec<(u64, bool)> {
    let (mut words, mut bytes, mut found) = (Vec::new(), Vec::new(), Vec::new());
    while state.shared.take(&mut words) {
        let (record, attached) = SectionRecord::unpack(&words, state.shared.id).unwrap();
        attrs::unpack(attached, &mut bytes);
        let is_fault = |entry: Entry<'_>| matches!(entry, Entry::Own(attr::FAULTS_MINOR, _));
        found.push((record.span_id, attrs::Entries::new(&bytes, &[]).any(is_fault)));
    }
    found
}

#[cfg(target_os = "linux")]
#[test]
fn a_step_has_its_figures_however_many_sections_inside_end_without_theirs() {
    for (filter, left_out) in
        [(Filter::new(), 0), (Filter::new().min_duration(Duration::from_secs(100)), 400)]
    {
        let config = Config { level: Level::Comprehensive, filter, ..Config::default() };
        let recorder =
            Arc::new(Recorder::new(config, Identity::resolve(Given::default(), |_| None, &mut Vec::new())));
        let (mut state, mut elsewhere) =
            (ThreadState::new(Arc::clone(&recorder)), ThreadState::new(recorder));
        let (step, inside) = (Open::default(), Open::default());
        step.reset(state.number, 11);
        let spec = Spec { step: Some(0), ..Spec::default() };
        assert!(state.begin(&step, Source::Section(&SITE), None, &spec, None));
        for number in 0..400 {
            inside.reset(state.number, 11);
            let around = step.as_parent(1);
            assert!(state.begin(&inside, Source::Section(&SITE), None, &Spec::default(), around));
            if number % 2 == 0 {
                // It was never entered.
                state.finish(&inside);
            } else {
                inside.add(true, &Stay { enters: 1, ..Stay::default() });
                elsewhere.finish(&inside);
            }
        }
        step.add(true, &Stay { enters: 1, ..Stay::default() });
        state.finish(&step);
        let filtered = |state: &ThreadState| {
            state.shared.left_out[LossReason::Filtered as usize].load(Ordering::Relaxed)
        };
        assert_eq!(filtered(&state) + filtered(&elsewhere), left_out);
        let (here, there) = (counted(&state), counted(&elsewhere));
        assert_eq!(here.len() + there.len(), 401 - left_out as usize);
        assert!(
            there.iter().all(|&(_, is_counted)| !is_counted),
            "what another thread has counted is not its"
        );
        assert_eq!(here.last(), Some(&(step.span_id(), true)));
        assert!(here.iter().filter(|&&(_, is_counted)| is_counted).count() == 1, "{here:?}");
    }
}

#[test]
fn a_part_of_a_trace_waits_for_the_others_until_the_run_ends_or_nobody_ends_it() {
    for dies in [false, true] {
        let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
        let recorder = Arc::new(Recorder::new(Config::default(), identity));
        let mut state = ThreadState::new(Arc::clone(&recorder));
        let step = Spec { kind: Some(SectionKind::Step), step: Some(0), ..Spec::default() };
        let step = state.enter_section(Source::Section(&SITE), &step, &[], |_| ()).unwrap();
        let around = state.enter_plain(&SITE, &[]).unwrap();
        state.end_section(step);
        // Of what is written while a part begins and ends: whether it announces, how many spans, whether it is a part.
        let part = |state: &mut ThreadState| {
            let part = state.enter_plain(&SITE, &[]).unwrap();
            state.end_section(part);
            let (mut words, mut found) = (Vec::new(), Vec::new());
            while state.shared.take(&mut words) {
                let (record, _) = SectionRecord::unpack(&words, state.shared.id).unwrap();
                let root = record.root.unwrap();
                found.push((root.announces, root.trace_spans, root.continues.is_some()));
            }
            found
        };
        let (waited, announces) = ((false, 0, true), |spans| (true, spans, true));
        assert_eq!(part(&mut state), [(true, 2, false)], "the step, and nothing of what waits");
        assert_eq!(part(&mut state), [waited]);
        if dies {
            recorder.orphan();
            assert_eq!(part(&mut state), [waited, announces(3)]);
            assert_eq!(part(&mut state), [announces(1)], "what comes later waits for nobody");
        } else {
            recorder.traces.places().for_each(|places| state.release(places));
            assert_eq!(part(&mut state), [announces(2), announces(1)]);
        }
        state.end_section(around);
        assert_eq!(state.shared.emitted.load(Ordering::Relaxed), 1 + if dies { 4 } else { 3 } + 1);
    }
}

#[test]
fn a_guard_of_another_recorder_ends_nothing() {
    let state = || {
        let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
        ThreadState::new(Arc::new(Recorder::new(Config::default(), identity)))
    };
    let (mut before, mut now) = (state(), state());
    let outlives = before.enter_plain(&SITE, &[]).unwrap();
    let section = now.enter_plain(&SITE, &[]).unwrap();
    now.end_section(outlives);
    assert_eq!(now.current().map(|parent| parent.key), Some(section));
    now.end_section(section);
    assert!(now.current().is_none());
}

//! What a panic ends has failed, and nothing else has; and what is entered and never left is bounded.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use stepscope_core::{Level, LossReason};

use super::*;
use crate::config::Config;
use crate::context::identity::{Given, Identity};
use crate::hot::open::Spec;
use crate::shared::callsite::Callsite;
use crate::shared::record::SectionRecord;

static STEP: Callsite = Callsite::new("step", None, "module", "file", 1, &[]);
static SECTION: Callsite = Callsite::new("section", None, "module", "file", 2, &[]);
static SPAN: Callsite = Callsite::new("span", None, "module", "file", 3, &[]);

/// Begins a section, which is no light one any more when somebody looks at it.
fn section(state: &mut ThreadState, is_looked_at: bool) -> u64 {
    let key = state.enter_plain(&SECTION, &[]).unwrap();
    assert!(!is_looked_at || state.open(key).is_some());
    key
}

/// Begins and enters a span.
fn begin_span(state: &mut ThreadState, key: u64) {
    let recorder = Arc::clone(&state.recorder);
    let open = recorder.spans.insert(key).unwrap();
    open.reset(state.number, state.shared.id);
    let parent = state.current().copied();
    assert!(state.begin(open, Source::Section(&SPAN), None, &Spec::default(), parent));
    state.enter_span(open.as_parent(key).unwrap());
}

fn end_span(state: &mut ThreadState, key: u64) {
    assert!(state.leave(key));
    let recorder = Arc::clone(&state.recorder);
    let (slot, open) = recorder.spans.end(key).unwrap();
    state.finish(open);
    recorder.spans.free(slot);
}

const OUTER: u64 = 5;
const INNER: u64 = 6;

/// What guards and a destructor between them do at the end of a scope, however it is left.
struct Scope<'a> {
    state: &'a mut ThreadState,
    is_looked_at: bool,
    section: u64,
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        let own = section(self.state, self.is_looked_at);
        self.state.end_section(own);
        begin_span(self.state, INNER);
        end_span(self.state, INNER);
        end_span(self.state, OUTER);
        self.state.end_section(self.section);
    }
}

/// Which of the ended sections have failed, in the order of their ends.
fn failed(state: &ThreadState) -> Vec<bool> {
    let (mut words, mut found) = (Vec::new(), Vec::new());
    while state.shared.take(&mut words) {
        let (record, _) = SectionRecord::unpack(&words, state.shared.id).unwrap();
        found.push(record.is_error);
    }
    found
}

#[test]
fn a_panic_fails_what_it_leaves_and_nothing_that_begins_while_it_unwinds() {
    for (level, is_looked_at) in
        [(Level::Detailed, false), (Level::Detailed, true), (Level::Comprehensive, false)]
    {
        let config = Config { level, ..Config::default() };
        let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
        let mut state = ThreadState::new(Arc::new(Recorder::new(config, identity)));
        // (Before the first round no place is known.)
        for panics in [false, true, false, true] {
            let spec = Spec { step: Some(0), ..Spec::default() };
            let step = state.enter_section(Source::Section(&STEP), &spec, &[], |_| ()).unwrap();
            let outer = section(&mut state, is_looked_at);
            begin_span(&mut state, OUTER);
            let scope = Scope { state: &mut state, is_looked_at, section: outer };
            let left = catch_unwind(AssertUnwindSafe(move || {
                let _scope = scope;
                if panics {
                    resume_unwind(Box::new("on purpose"));
                }
            }));
            assert_eq!(left.is_err(), panics);
            state.end_section(step);
            // The two of the destructor, the span and the section around it, the step.
            assert_eq!(failed(&state), [false, false, panics, panics, false], "{level:?} {is_looked_at}");
        }
    }
}

#[test]
fn a_step_is_in_the_epoch_around_it_or_else_in_the_latest_one() {
    fn begin(state: &mut ThreadState, spec: Spec) -> u64 {
        state.enter_section(Source::Section(&SECTION), &spec, &[], |_| ()).unwrap()
    }
    fn epoch(state: &mut ThreadState, number: Option<u64>) -> (u64, u64) {
        let spec = Spec { kind: Some(SectionKind::Epoch), epoch: number, ..Spec::default() };
        let key = begin(state, spec);
        (key, state.open(key).unwrap().0.span_id())
    }
    fn end(state: &mut ThreadState, (key, span_id): (u64, u64)) {
        state.end_section(key);
        state.recorder.end_epoch(span_id);
    }
    /// That of a step that begins now.
    fn told(state: &mut ThreadState) -> Option<u64> {
        let key = begin(state, Spec { step: Some(0), ..Spec::default() });
        let trace = state.current().unwrap().trace;
        let epoch = state.recorder.traces.about(trace).unwrap().epoch;
        state.end_section(key);
        epoch
    }

    let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
    let recorder = Arc::new(Recorder::new(Config::default(), identity));
    let [mut first, mut second, mut third] = [(); 3].map(|()| ThreadState::new(Arc::clone(&recorder)));
    let ten = epoch(&mut first, Some(10));
    let _around = section(&mut first, false);
    let eleven = epoch(&mut second, Some(11));
    let mut all =
        |first: &mut ThreadState, second: &mut ThreadState| [told(first), told(second), told(&mut third)];
    assert_eq!(all(&mut first, &mut second), [Some(10), Some(11), Some(11)]);
    let validation = epoch(&mut first, Some(0));
    assert_eq!(all(&mut first, &mut second), [Some(0), Some(11), Some(0)]);
    end(&mut first, validation);
    assert_eq!(all(&mut first, &mut second), [Some(10), Some(11), Some(11)]);
    let unnumbered = epoch(&mut second, None);
    assert_eq!(all(&mut first, &mut second), [Some(10), None, None]);
    end(&mut second, unnumbered);
    end(&mut second, eleven);
    assert_eq!(all(&mut first, &mut second), [Some(10); 3]);
    end(&mut first, ten);
    assert_eq!(all(&mut first, &mut second), [None; 3]);
}

#[test]
fn what_is_never_left_is_bounded_and_what_has_no_room_is_counted() {
    const MORE: u64 = 100;
    for level in [Level::Basic, Level::Detailed, Level::Comprehensive] {
        let config = Config { level, ..Config::default() };
        let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
        let mut state = ThreadState::new(Arc::new(Recorder::new(config, identity)));
        let step = Spec { step: Some(0), ..Spec::default() };
        let step = |state: &mut ThreadState| state.enter_section(Source::Section(&STEP), &step, &[], |_| ());
        let outer = step(&mut state).unwrap();
        let forgotten = std::iter::repeat_with(|| state.enter_plain(&SECTION, &[]));
        let keys: Vec<u64> = forgotten.map_while(|key| key).take(2 * MAX_FRAMES).collect();
        assert_eq!((keys.len() + 1, state.frames.len()), (MAX_FRAMES, MAX_FRAMES), "{level:?}");
        for _ in 1..MORE {
            assert_eq!(state.enter_plain(&SECTION, &[]), None);
        }
        assert_eq!(step(&mut state), None);
        // A span that is entered here ends all the same.
        let recorder = Arc::clone(&state.recorder);
        let open = recorder.spans.insert(OUTER).unwrap();
        open.reset(state.number, state.shared.id);
        assert!(state.begin(open, Source::Section(&SPAN), None, &Spec::default(), None));
        state.enter_span(open.as_parent(OUTER).unwrap());
        assert!(!state.leave(OUTER));
        state.finish(open);
        let lost = |state: &ThreadState| {
            let mut tally = crate::shared::thread_registry::Tally::default();
            state.recorder.add_losses(&mut tally);
            tally.lost[LossReason::OpenSpans as usize]
        };
        assert_eq!(lost(&state), MORE + 1, "{level:?}");
        // The one around them is not lost, nor is what comes where there is room again.
        state.end_section(outer);
        let next = step(&mut state).unwrap();
        assert_eq!((step(&mut state), lost(&state)), (None, MORE + 2));
        state.end_section(next);
        keys.into_iter().rev().for_each(|key| state.end_section(key));
        assert_eq!((state.depth, state.frames.len() <= KEPT_FRAMES + SPARE_FRAMES), (0, true));
    }
}

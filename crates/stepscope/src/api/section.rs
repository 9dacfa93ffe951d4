//! Sections, steps and epochs without the dispatcher: `section!`, `step!`, `epoch!`, `value!`, and the guards
//! they give. They nest with `tracing` spans in stepscope's own context, not in `Span::current()`.

use std::marker::PhantomData;

use stepscope_core::{Mode, Phase, SectionKind, attr};

use crate::hot::open::{Open, Spec, flag};
use crate::hot::recorder::{self, EPOCH_STARTED};
use crate::hot::thread;
use crate::shared::attrs::{Entry, FieldValue};
use crate::shared::callsite::{Callsite, Source};

/// What the macros say of a new section.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Start {
    pub kind: Option<SectionKind>,
    pub step: Option<u64>,
    pub epoch: Option<u64>,
    pub mode: Option<Mode>,
}

/// An entered section; it ends when the guard is dropped, on the thread that made it.
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct SectionGuard {
    /// Key of the frame; 0 when nothing is recorded.
    key: u64,
    kind: SectionKind,
    /// Neither `Send` nor `Sync`: the frame is on this thread's stack.
    not_send: PhantomData<*const ()>,
}

impl SectionGuard {
    /// Attaches a field to the section; does nothing when nothing is recorded.
    pub fn record<'a>(&mut self, key: &str, value: impl Into<FieldValue<'a>>) {
        let value = value.into();
        self.with_open(|open| open.push(true, Entry::Field(key, value)));
    }

    /// Says that this was no step after all (the loop ended without work): it stays as a plain section, whose time counts in
    /// the sums of its path, and out of the statistics of steps.
    pub fn discard(mut self) {
        self.with_open(|open| open.set_flag(flag::DISCARDED));
    }

    /// Marks the section as failed.
    pub fn fail(&mut self) {
        self.with_open(|open| open.set_error(true, true));
    }

    fn with_open(&mut self, f: impl FnOnce(&Open)) {
        if self.key != 0 {
            let key = self.key;
            thread::with_current(|state| state.open(key).map(|(open, _)| f(open)));
        }
    }

    pub(crate) fn key(&self) -> u64 {
        self.key
    }
}

impl Drop for SectionGuard {
    #[inline]
    fn drop(&mut self) {
        if self.key != 0 {
            end(self.key, self.kind);
        }
    }
}

fn end(key: u64, kind: SectionKind) {
    if kind == SectionKind::Epoch {
        return end_epoch(key);
    }
    thread::lightly_with_current(|state| state.end_section(key));
}

#[cold]
fn end_epoch(key: u64) {
    thread::lightly_with_current(|state| {
        let span_id = state.open(key).map(|(open, _)| open.span_id());
        state.end_section(key);
        if let Some(span_id) = span_id {
            state.recorder.end_epoch(span_id);
        }
    });
}

/// Starts a section of `callsite` with values for its fields, in their order. For the macros; see [`crate::section!`].
#[doc(hidden)]
pub fn enter(callsite: &'static Callsite, start: Start, values: &[FieldValue<'_>]) -> SectionGuard {
    let spec = Spec {
        kind: start.kind,
        phase: callsite.phase,
        step: start.step,
        epoch: start.epoch,
        mode: start.mode,
        is_deep: false,
    };
    let key = thread::with_beginning(|state| {
        let source = Source::Section(callsite);
        if spec.kind() != SectionKind::Epoch {
            return state.enter_section(source, &spec, values, |_| ());
        }
        state.mark(Source::Section(&EPOCH_STARTED), SectionKind::Epoch, spec.epoch);
        state.enter_section(source, &spec, values, |open| {
            if let Some(epoch) = spec.epoch {
                open.push(true, Entry::Own(attr::EPOCH, epoch.into()));
            }
        })
    });
    guard(key, spec.kind())
}

/// As [`enter`], for a section of no particular kind.
#[doc(hidden)]
pub fn enter_plain(callsite: &'static Callsite, values: &[FieldValue<'_>]) -> SectionGuard {
    guard(thread::lightly_with_beginning(|state| state.enter_plain(callsite, values)), SectionKind::Section)
}

/// The phase of this name, where it is one of ours. For `phase = "…"` of the macros, when the program is compiled.
#[doc(hidden)]
#[must_use]
pub const fn known_phase(name: &str) -> Option<Phase> {
    let mut rest = Phase::ALL;
    while let Some((phase, others)) = rest.split_first() {
        if is_same(phase.as_str().as_bytes(), name.as_bytes()) {
            return Some(*phase);
        }
        rest = others;
    }
    None
}

/// As `==`, which is no `const fn`.
const fn is_same(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([first, others @ ..], [second, behind @ ..]) = (one, other) {
        if *first != *second {
            return false;
        }
        (one, other) = (others, behind);
    }
    one.is_empty() && other.is_empty()
}

/// What is said of a section by `phase = "…"` and its fields: the phase comes first, as a field, unless it is one of ours.
#[doc(hidden)]
#[inline]
#[must_use]
pub const fn with_own_phase<T>(known: Option<Phase>, all: &[T]) -> &[T] {
    match (known, all) {
        (Some(_), [_, fields @ ..]) => fields,
        _ => all,
    }
}

/// The guard of what was begun: outer `None` without a state of the thread, inner without room.
#[inline]
fn guard(begun: Option<Option<u64>>, kind: SectionKind) -> SectionGuard {
    if begun.is_none() && recorder::beginning_id() != 0 {
        thread::lose_in_teardown();
    }
    SectionGuard { key: begun.flatten().unwrap_or(0), kind, not_send: PhantomData }
}

/// Records a user metric of the current step, or of the innermost section outside of steps. For
/// [`crate::value!`].
#[doc(hidden)]
pub fn record_value(name: &str, value: f64) {
    thread::with_beginning(|state| {
        let step = state.entered().find(|&(_, kind)| kind == SectionKind::Step);
        let (key, _) = step.or_else(|| state.entered().next())?;
        let (open, owned) = state.open(key)?;
        open.push(owned, Entry::UserValue(name, value));
        Some(())
    });
}

/// A timed section: from here to the end of the guard's life.
///
/// The name is a literal. `phase = …` comes first: a variant of [`Phase`](crate::Phase), or a phase of your own in quotes,
/// which reports tell under that name. Then come fields: integers, floats, booleans, `&str`. `samples`, `tokens`, `bytes`
/// and `flops` count towards throughput.
///
/// ```
/// # let x = [0u8; 4];
/// let _forward = stepscope::section!("forward", phase = Forward, samples = 64);
/// {
///     let _conv = stepscope::section!("conv1", bytes = x.len());
/// }
/// let _rewards = stepscope::section!("rewards", phase = "reward_model");
/// ```
///
/// A phase in quotes that is one of ours (`"forward"`) is that one. What is no text is an error:
///
/// ```compile_fail,E0308
/// let _forward = stepscope::section!("forward", phase = 3);
/// ```
///
/// The guard is not `Send`, and is not to be held over an `.await`. A future takes a `tracing` span, which is entered at each
/// poll and is a section like any other:
///
/// ```
/// use tracing::Instrument as _;
///
/// # async fn load() -> u32 { 64 }
/// # async fn train() {
/// let batch = load().instrument(tracing::info_span!("load", stepscope.phase = "data_loading")).await;
/// # assert_eq!(batch, 64);
/// # }
/// # let _ = train();
/// ```
#[macro_export]
macro_rules! section {
    ($name:literal, phase = $phase:ident $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__private::enter_plain(
            $crate::__callsite!($name, ::core::option::Option::Some($crate::Phase::$phase), $($key),*),
            &[$($crate::FieldValue::from($value)),*])
    };
    ($name:literal, phase = $phase:literal $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__private::enter_plain(
            $crate::__callsite!($name, $crate::__private::known_phase($phase),
                fields = $crate::__private::with_own_phase($crate::__private::known_phase($phase),
                    &[$crate::__private::PHASE $(, ::core::stringify!($key))*])),
            $crate::__private::with_own_phase(const { $crate::__private::known_phase($phase) },
                &[$crate::FieldValue::Str($phase) $(, $crate::FieldValue::from($value))*]))
    };
    ($name:literal $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__private::enter_plain(
            $crate::__callsite!($name, ::core::option::Option::None, $($key),*),
            &[$($crate::FieldValue::from($value)),*])
    };
}

/// One step of training (or, with `mode = eval` / `mode = inference`, of that): a trace of its own.
///
/// ```
/// for (number, batch) in [[0u8; 64]; 3].iter().enumerate() {
///     let _step = stepscope::step!(number, samples = batch.len());
/// }
/// let _step = stepscope::step!(0, mode = eval);
/// ```
#[macro_export]
macro_rules! step {
    ($number:expr, mode = $mode:ident $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__enter!("step", ::core::option::Option::None,
            $crate::__private::Start {
                kind: ::core::option::Option::Some($crate::SectionKind::Step),
                step: $crate::__private::number($number),
                mode: ::core::option::Option::Some($crate::__mode!($mode)),
                ..::core::default::Default::default()
            }, $($key = $value),*)
    };
    ($number:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__enter!("step", ::core::option::Option::None,
            $crate::__private::Start {
                kind: ::core::option::Option::Some($crate::SectionKind::Step),
                step: $crate::__private::number($number),
                ..::core::default::Default::default()
            }, $($key = $value),*)
    };
}

/// One pass over the data; steps inside carry its number.
///
/// ```
/// for epoch in 0..2 {
///     let _epoch = stepscope::epoch!(epoch);
/// }
/// ```
#[macro_export]
macro_rules! epoch {
    ($number:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__enter!("epoch", ::core::option::Option::None,
            $crate::__private::Start {
                kind: ::core::option::Option::Some($crate::SectionKind::Epoch),
                epoch: $crate::__private::number($number),
                ..::core::default::Default::default()
            }, $($key = $value),*)
    };
}

/// A user metric of the current step: loss, accuracy, learning rate.
///
/// ```
/// let _step = stepscope::step!(1);
/// stepscope::value!("loss", 0.25_f32);
/// ```
#[macro_export]
macro_rules! value {
    ($name:literal, $value:expr $(,)?) => {
        $crate::__private::record_value($name, ::core::convert::Into::<f64>::into($value))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __enter {
    ($name:literal, $phase:expr, $start:expr, $($key:ident = $value:expr),*) => {
        $crate::__private::enter($crate::__callsite!($name, $phase, $($key),*), $start,
            &[$($crate::FieldValue::from($value)),*])
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __callsite {
    ($name:literal, $phase:expr, $($key:ident),*) => {
        $crate::__callsite!($name, $phase, fields = &[$(::core::stringify!($key)),*])
    };
    ($name:literal, $phase:expr, fields = $fields:expr) => {{
        static CALLSITE: $crate::__private::Callsite = $crate::__private::Callsite::new(
            $name, $phase, ::core::module_path!(), ::core::file!(), ::core::line!(), $fields);
        &CALLSITE
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mode {
    (train) => {
        $crate::Mode::Train
    };
    (eval) => {
        $crate::Mode::Eval
    };
    (inference) => {
        $crate::Mode::Inference
    };
}

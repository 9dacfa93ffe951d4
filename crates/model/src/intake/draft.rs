//! The attributes and links of the span whose head is still to come. Reused from span to span.

use stepscope_core::identity::TraceId;
use stepscope_core::{Mode, Phase, SectionKind, Signal, attr};
use stepscope_otlp::{LinkHead, Value};

use super::keys::{Keys, Named, SpanKey, span_keys};
use super::polls::PollsDraft;
use super::samples::SamplesDraft;
use super::value;
use crate::Figure;
use crate::chrome::{is_device_annotation, is_of_device};
use crate::record::{Fields, MAX_ITEMS, MAX_TEXT, flag};

/// Numbers of keys whose meaning is kept; a power of two.
const NUMBERED: usize = 256;

/// What a key with a number means.
#[derive(Debug, Clone, Copy)]
struct Numbered {
    number: u64,
    /// Where it is a figure, its number, else [`NO_FIGURE`]; and how it is named.
    figure: u8,
    rank: u8,
    /// Whether it means nothing here, whatever its value.
    is_nothing: bool,
    named: Option<Named<SpanKey>>,
}

/// More than any figure.
const NO_FIGURE: u8 = u8::MAX;

impl Numbered {
    /// No key: no number is so large.
    const NONE: Self = Self { number: u64::MAX, figure: NO_FIGURE, rank: 0, is_nothing: true, named: None };

    fn new(keys: &Keys<SpanKey>, key: &str, number: u64) -> Self {
        let named = keys.find(key);
        let (figure, rank) = match named {
            Some(Named { meaning: SpanKey::Figure(figure), rank }) => (figure as u8, rank),
            _ => (NO_FIGURE, 0),
        };
        let is_nothing = named.is_none() && !key.starts_with(attr::VALUE_PREFIX);
        Self { number, figure, rank, is_nothing, named }
    }
}

/// What attributes without a length of their own say.
#[derive(Debug, Clone, Copy)]
struct Facts {
    figures: [i64; Figure::ALL.len()],
    /// How each present figure was named: a figure's own key wins over its aliases.
    ranks: [u8; Figure::ALL.len()],
    present: u64,
    kind: Option<SectionKind>,
    mode: Mode,
    signal: Option<Signal>,
    is_on_device: bool,
    is_annotation: bool,
    phase: Option<Phase>,
    is_repaired: bool,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            figures: [0; Figure::ALL.len()],
            ranks: [0; Figure::ALL.len()],
            present: 0,
            kind: None,
            mode: Mode::Train,
            signal: None,
            is_on_device: false,
            is_annotation: false,
            phase: None,
            is_repaired: false,
        }
    }
}

/// Numbers of attributes that are kept; a power of two.
const KEPT: usize = 512;

/// Attributes of one span.
#[derive(Debug)]
pub(crate) struct Draft {
    keys: &'static Keys<SpanKey>,
    /// What the keys of these numbers mean, each at its number's remainder.
    numbered: Box<[Numbered; NUMBERED]>,
    facts: Facts,
    /// What attributes with these numbers came to, each at its number's remainder: [`Visitor::same_attributes`].
    ///
    /// [`Visitor::same_attributes`]: stepscope_otlp::Visitor::same_attributes
    kept: Vec<(u64, Facts)>,
    name: String,
    phase_text: String,
    thread_name: String,
    parent_path: String,
    loader: String,
    links: Vec<(TraceId, u64)>,
    values: Vec<(f64, usize)>,
    value_names: String,
    polls: PollsDraft,
    samples: SamplesDraft,
    /// A step number that does not fit into what numbers are kept in, as it was written.
    large_step: Option<String>,
    /// Whether anything but figures was set, so that most spans reset nothing.
    has_text: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            keys: span_keys(),
            numbered: Box::new([Numbered::NONE; NUMBERED]),
            facts: Facts::default(),
            kept: Vec::new(),
            name: String::new(),
            phase_text: String::new(),
            thread_name: String::new(),
            parent_path: String::new(),
            loader: String::new(),
            links: Vec::new(),
            values: Vec::new(),
            value_names: String::new(),
            polls: PollsDraft::default(),
            samples: SamplesDraft::default(),
            large_step: None,
            has_text: false,
        }
    }
}

fn set(slot: &mut String, value: Value<'_>) {
    if let Some(text) = value::text(value) {
        slot.clear();
        slot.push_str(value::bounded(text, MAX_TEXT));
    }
}

impl Draft {
    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&mut self) {
        let facts = &mut self.facts;
        facts.present = 0;
        facts.kind = None;
        facts.mode = Mode::Train;
        facts.signal = None;
        facts.is_on_device = false;
        facts.is_annotation = false;
        facts.phase = None;
        facts.is_repaired = false;
        if self.has_text {
            self.has_text = false;
            self.large_step = None;
            self.name.clear();
            self.phase_text.clear();
            self.thread_name.clear();
            self.parent_path.clear();
            self.loader.clear();
            self.links.clear();
            self.values.clear();
            self.value_names.clear();
            self.polls.clear();
            self.samples.clear();
        }
    }

    /// Takes the attributes kept under a number as those of the span, which has none so far; whether they are known.
    #[inline]
    pub(crate) fn same_attributes(&mut self, number: u64) -> bool {
        match self.kept.get(number as usize % KEPT) {
            Some((known, facts)) if *known == number => {
                self.facts = *facts;
                true
            }
            _ => false,
        }
    }

    /// Keeps the attributes of the span under a number, where they have only such of bounded length.
    #[cold]
    pub(crate) fn keep_attributes(&mut self, number: u64) {
        if self.has_text {
            return;
        }
        if self.kept.is_empty() {
            self.kept.resize(KEPT, (0, Facts::default()));
        }
        if let Some(kept) = self.kept.get_mut(number as usize % KEPT) {
            *kept = (number, self.facts);
        }
    }

    /// Takes one attribute.
    pub(crate) fn attribute(&mut self, key: &str, value: Value<'_>) {
        self.meant(self.keys.find(key), key, value);
    }

    /// Takes one attribute whose key has a number; see [`Visitor`](stepscope_otlp::Visitor).
    #[inline(always)]
    pub(crate) fn numbered_attribute(&mut self, key: &str, number: u64, value: Value<'_>) {
        let known = &self.numbered[number as usize % NUMBERED];
        if known.number != number {
            return self.first_met(key, number, value);
        }
        match value {
            Value::Int(value) if known.figure != NO_FIGURE => self.figure(known.figure, known.rank, value),
            _ if known.is_nothing => {}
            value => self.meant(known.named, key, value),
        }
    }

    #[cold]
    fn first_met(&mut self, key: &str, number: u64, value: Value<'_>) {
        if number != 0 {
            self.numbered[number as usize % NUMBERED] = Numbered::new(self.keys, key, number);
        }
        self.attribute(key, value);
    }

    fn meant(&mut self, named: Option<Named<SpanKey>>, key: &str, value: Value<'_>) {
        let Some(Named { meaning, rank }) = named else {
            if let Some(name) = key.strip_prefix(attr::VALUE_PREFIX) {
                self.value(name, value);
            }
            return;
        };
        match meaning {
            SpanKey::Figure(figure) => {
                let flag = || value::flag(value).filter(|_| figure == Figure::StepDeep);
                if let Some(number) = value::integer(value).or_else(flag) {
                    self.figure(figure as u8, rank, number);
                } else if figure == Figure::Step
                    && let Some(number) = value::large(value)
                {
                    self.has_text = true;
                    self.large_step = Some(number);
                }
            }
            SpanKey::Phase => {
                self.facts.phase = value::text(value).and_then(Phase::parse);
                self.phase_text.clear();
                if self.facts.phase.is_none() {
                    self.has_text = true;
                    set(&mut self.phase_text, value);
                }
            }
            SpanKey::Kind => self.facts.kind = value::text(value).and_then(SectionKind::parse),
            SpanKey::Mode => {
                self.facts.mode = value::text(value).and_then(Mode::parse).unwrap_or(Mode::Train);
            }
            SpanKey::Name => {
                self.has_text = true;
                set(&mut self.name, value);
            }
            SpanKey::ThreadName => {
                self.has_text = true;
                set(&mut self.thread_name, value);
            }
            SpanKey::ParentPath => {
                self.has_text = true;
                set(&mut self.parent_path, value);
            }
            SpanKey::Repairs => self.facts.is_repaired = true,
            SpanKey::Loader => {
                self.has_text = true;
                set(&mut self.loader, value);
            }
            SpanKey::ErrorType => self.facts.signal = value::text(value).and_then(Signal::parse),
            SpanKey::Category => {
                let category = value::text(value).unwrap_or_default();
                self.facts.is_on_device = is_of_device(category);
                self.facts.is_annotation = is_device_annotation(category);
            }
            SpanKey::Polls => {
                self.has_text = true;
                self.polls.read(value);
            }
            SpanKey::Samples => {
                self.has_text = true;
                self.samples.read(value);
            }
            SpanKey::Value => self.value(key.rsplit('.').next().unwrap_or(key), value),
        }
    }

    #[inline(always)]
    fn figure(&mut self, figure: u8, rank: u8, number: i64) {
        let (index, bit) = (usize::from(figure), 1u64.wrapping_shl(figure.into()));
        let (Some(slot), Some(named)) = (self.facts.figures.get_mut(index), self.facts.ranks.get_mut(index))
        else {
            return;
        };
        if self.facts.present & bit == 0 || rank <= *named {
            *slot = number;
            *named = rank;
            self.facts.present |= bit;
        }
    }

    fn value(&mut self, name: &str, value: Value<'_>) {
        if self.values.len() < MAX_ITEMS
            && !name.is_empty()
            && let Some(number) = value::number(value)
        {
            self.has_text = true;
            self.value_names.push_str(value::bounded(name, MAX_TEXT));
            self.values.push((number, self.value_names.len()));
        }
    }

    /// Takes one link; those with ids of a wrong length point nowhere and are left out.
    pub(crate) fn link(&mut self, head: &LinkHead<'_>) {
        if self.links.len() < MAX_ITEMS
            && let (Ok(trace), Ok(span)) = (head.trace_id.try_into(), head.span_id.try_into())
        {
            self.has_text = true;
            self.links.push((trace, u64::from_be_bytes(span)));
        }
    }

    /// The section kind as written.
    pub(crate) fn kind(&self) -> Option<SectionKind> {
        self.facts.kind
    }

    /// Whether Jaeger has changed the span.
    pub(crate) fn is_repaired(&self) -> bool {
        self.facts.is_repaired
    }

    /// Whether there is a step number, be it none that counts.
    pub(crate) fn has_step(&self) -> bool {
        self.facts.present & (1u64 << (Figure::Step as u32)) != 0 || self.large_step.is_some()
    }

    /// Takes a step number out that is none, negative or too large, and gives it as it was written.
    #[inline]
    pub(crate) fn take_bad_step(&mut self) -> Option<String> {
        let bit = 1u64 << (Figure::Step as u32);
        if self.facts.present & bit == 0 {
            return self.large_step.clone();
        }
        let number = self.facts.figures.get(Figure::Step as usize).copied().filter(|&number| number < 0)?;
        self.facts.present &= !bit;
        Some(number.to_string())
    }

    /// Cuts the poll intervals to the length of the span and puts them in order. `false` where they are none: then the
    /// span has none.
    #[inline]
    pub(crate) fn settle_polls(&mut self, duration_ns: u64) -> bool {
        !self.has_text || self.polls.settle(duration_ns)
    }

    /// The attributes as fields of a record; the head's fields are still zero.
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields {
            id: 0,
            parent: 0,
            start_ns: 0,
            end_ns: 0,
            span_kind: 0,
            kind: self.facts.kind.unwrap_or(SectionKind::Section),
            mode: self.facts.mode,
            phase: self.facts.phase,
            flags: flag::of_signal(self.facts.signal)
                | flag::of_polls(self.polls.intervals())
                | flag::of_samples(self.samples.samples())
                | flag::of_device(
                    self.facts.is_on_device,
                    self.facts.is_annotation && self.facts.signal.is_none(),
                ),
            process: 0,
            present: self.facts.present,
            figures: &self.facts.figures,
            name: &self.name,
            thread_name: &self.thread_name,
            parent_path: &self.parent_path,
            phase_text: &self.phase_text,
            loader: &self.loader,
            links: &self.links,
            values: &self.values,
            value_names: &self.value_names,
            polls: self.polls.intervals(),
            samples: self.samples.samples(),
        }
    }
}

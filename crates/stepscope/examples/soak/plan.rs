//! Random sequences of what can be done with spans, and a sequential model of what must come of each operation: which
//! span is inside of which, in which trace, on which path, when it ends. The model follows the documents and knows nothing
//! of the layer; what is done with a plan is in `play`, how it is held against what arrives in `check`.

use std::collections::HashMap;

use crate::way::Way;

/// Threads that play together.
pub(crate) const THREADS: usize = 8;

/// Nesting, at most: there are fewer call paths than the layer tells apart.
const MAX_DEPTH: usize = 6;

/// Entered at once on a thread, at most.
const MAX_STAYS: usize = 8;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() { None } else { from.get(self.below(from.len())).copied() }
    }
}

/// How a span is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Inside of what is current.
    Plain,
    /// Inside of a span that it is given.
    Chosen,
    /// Inside of nothing.
    Root,
    /// A step, by a field.
    Field,
    /// `section!`.
    Part,
    /// `step!`.
    Step,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Chosen => "chosen",
            Self::Root => "root",
            Self::Field => "by_field",
            Self::Part => "part",
            Self::Step => "step",
        }
    }

    /// Whether a guard on the stack is all that there is of it.
    pub(crate) fn is_section(self) -> bool {
        matches!(self, Self::Part | Self::Step)
    }

    /// Whether it has the field `later`.
    fn takes_values(self) -> bool {
        matches!(self, Self::Plain | Self::Chosen | Self::Root)
    }
}

/// What is done; spans are known by their index in the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deed {
    /// A span is made, with one handle.
    Open(usize),
    /// A section is made and entered.
    Begin(usize),
    Enter(usize),
    /// The last stay in it on this thread ends.
    Leave(usize),
    Clone(usize),
    /// One handle less.
    Drop(usize),
    Record(usize, u64),
    /// The second one is the cause.
    Follow(usize, usize),
    /// An event, in what is current.
    Warn,
    Fail,
}

/// So many operations on this span must have been done before.
pub(crate) type Need = Option<(usize, u32)>;

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) thread: usize,
    pub(crate) deed: Deed,
    /// What has to wait for what, where threads do not wait for their turn.
    pub(crate) needs: [Need; 2],
}

/// A cause that a span was given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Follow {
    pub(crate) cause: usize,
    /// Whether it had not ended yet, if everything happens in the order of the plan.
    pub(crate) is_there: bool,
    /// Whether that is so in any order that the plan's needs allow.
    pub(crate) is_sure: bool,
}

/// By the registry, and by the recorder: how many spans keep one from ending.
#[derive(Debug, Clone, Copy, Default)]
struct Holds {
    registry: u32,
    recorder: u32,
}

/// By the registry, and by the recorder: what a span keeps from ending.
#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    registry: Option<usize>,
    recorder: Option<usize>,
}

/// A span, and what must come of it.
#[derive(Debug)]
pub(crate) struct Modelled {
    pub(crate) kind: Kind,
    pub(crate) parent: Option<usize>,
    pub(crate) path: usize,
    pub(crate) trace: usize,
    /// In a trace that continues its parent's, which had ended.
    pub(crate) is_part: bool,
    /// Operations at which it was made, and at which it has ended.
    pub(crate) began: usize,
    pub(crate) ended: usize,
    pub(crate) enters: u32,
    /// Values of `later`, in their order.
    pub(crate) values: Vec<u64>,
    pub(crate) follows: Vec<Follow>,
    pub(crate) events: u32,
    pub(crate) failed: bool,
    depth: usize,
    handles: u32,
    stays: u32,
    /// Spans that keep it from ending, and what it keeps.
    holds: Holds,
    kept: Kept,
    continuation: Option<usize>,
    /// Nobody has it any more but who keeps its record; and its record has ended, too.
    has_left: bool,
    has_closed: bool,
    /// Operations on it so far, and up to the last one that needed it for itself.
    touched: u32,
    settled: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Spans in it, if everything happens in the order of the plan.
    pub(crate) spans: u32,
    has_ended: bool,
}

/// Call paths by number, over all plans.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    numbers: HashMap<(Option<usize>, Kind), usize>,
    pub(crate) texts: Vec<String>,
}

impl Paths {
    fn child(&mut self, parent: Option<usize>, kind: Kind) -> usize {
        *self.numbers.entry((parent, kind)).or_insert_with(|| {
            let around = parent.map_or(String::new(), |parent| format!("{}/", self.texts[parent]));
            self.texts.push(format!("{around}{}", kind.name()));
            self.texts.len() - 1
        })
    }
}

/// Some sequences, one after the other, each ending with everything closed.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) operations: Vec<Operation>,
    pub(crate) spans: Vec<Modelled>,
    pub(crate) traces: Vec<Trace>,
}

/// One sequence on its way into a plan.
struct Maker<'a> {
    plan: &'a mut Plan,
    paths: &'a mut Paths,
    random: Random,
    way: Way,
    thread: usize,
    /// What is entered on each thread.
    stacks: [Vec<usize>; THREADS],
    /// Spans with handles, and all of this sequence.
    handled: Vec<usize>,
    all: Vec<usize>,
}

impl Plan {
    pub(crate) fn add(&mut self, paths: &mut Paths, seed: u64, way: Way) {
        let random = Random(seed);
        let (handled, all) = (Vec::new(), Vec::new());
        let stacks = std::array::from_fn(|_| Vec::new());
        let mut maker = Maker { plan: self, paths, random, way, thread: 0, stacks, handled, all };
        // Some are long.
        let operations = match maker.random.below(16) {
            0 => maker.random.below(400),
            _ => 8 + maker.random.below(50),
        };
        for _ in 0..operations {
            maker.turn();
        }
        while maker.unwind() {}
    }
}

impl Maker<'_> {
    fn span(&mut self, index: usize) -> &mut Modelled {
        &mut self.plan.spans[index]
    }

    fn now(&self) -> usize {
        self.plan.operations.len()
    }

    fn current(&self) -> Option<usize> {
        self.stacks[self.thread].last().copied()
    }

    /// Whether a registry has the span.
    fn is_registered(&self, span: usize) -> bool {
        let kind = self.plan.spans[span].kind;
        !kind.is_section() && self.way.has_registered(kind.name())
    }

    /// What a span inside of what is current keeps from ending, in a registry and in the recorder.
    fn around(&self) -> Kept {
        let stack = &self.stacks[self.thread];
        // A registry takes what was entered again for what it was.
        let is_first = |&(at, span): &(usize, &usize)| !stack[..at].contains(span);
        let registered = stack.iter().enumerate().filter(|&(_, &span)| self.is_registered(span));
        let mut spans = stack.iter().rev().filter(|&&span| !self.plan.spans[span].kind.is_section());
        Kept {
            registry: registered.filter(is_first).map(|(_, &span)| span).next_back(),
            recorder: spans.next().copied(),
        }
    }

    /// Of these, what a span of that name keeps.
    fn kept_by(&self, name: &str, around: Kept) -> Kept {
        Kept {
            registry: around.registry.filter(|_| self.way.has_registered(name)),
            recorder: around.recorder.filter(|_| self.way.is_root()),
        }
    }

    /// One more operation on a span; `alone` if no other may be on its way meanwhile.
    fn need(&mut self, index: usize, alone: bool) -> Need {
        let span = self.span(index);
        let need = if alone { span.touched } else { span.settled };
        span.touched += 1;
        if alone {
            span.settled = span.touched;
        }
        Some((index, need))
    }

    fn push(&mut self, deed: Deed, needs: [Need; 2]) {
        let thread = self.thread;
        self.plan.operations.push(Operation { thread, deed, needs });
    }

    fn new_trace(&mut self) -> usize {
        self.plan.traces.push(Trace::default());
        self.plan.traces.len() - 1
    }

    fn make(&mut self, kind: Kind, parent: Option<usize>, around: Kept) -> usize {
        let inside = parent.map(|parent| (parent, self.span(parent).trace, self.span(parent).continuation));
        let (trace, is_part) = match inside {
            None => (self.new_trace(), false),
            Some((_, trace, _)) if !self.plan.traces[trace].has_ended => (trace, false),
            // What is inside of a span whose trace has ended goes on in another one, as long as the span is there.
            Some((_, _, Some(trace))) => (trace, true),
            Some((parent, _, None)) => {
                let trace = self.new_trace();
                self.span(parent).continuation = Some(trace);
                (trace, true)
            }
        };
        self.plan.traces[trace].spans += 1;
        let (path, depth) = match parent {
            Some(parent) => (Some(self.span(parent).path), self.span(parent).depth + 1),
            None => (None, 1),
        };
        let path = self.paths.child(path, kind);
        let kept = self.kept_by(kind.name(), around);
        if let Some(around) = kept.registry {
            self.span(around).holds.registry += 1;
        }
        if let Some(around) = kept.recorder {
            self.span(around).holds.recorder += 1;
        }
        let (began, handles) = (self.now(), u32::from(!kind.is_section()));
        let (values, follows) = (Vec::new(), Vec::new());
        self.plan.spans.push(Modelled {
            kind,
            parent,
            path,
            trace,
            is_part,
            began,
            ended: began,
            enters: 0,
            values,
            follows,
            events: 0,
            failed: false,
            depth,
            handles,
            stays: 0,
            holds: Holds::default(),
            kept,
            continuation: None,
            has_left: false,
            has_closed: false,
            touched: 0,
            settled: 0,
        });
        let index = self.plan.spans.len() - 1;
        self.all.push(index);
        index
    }

    /// Ends the span if nothing keeps it, and then perhaps what it has kept.
    fn release(&mut self, index: usize) {
        let now = self.now();
        let mut next = vec![index];
        while let Some(index) = next.pop() {
            let span = self.span(index);
            if span.handles + span.stays + span.holds.registry > 0 {
                continue;
            }
            let kept = span.kept;
            if !std::mem::replace(&mut span.has_left, true)
                && let Some(around) = kept.registry
            {
                self.span(around).holds.registry -= 1;
                next.push(around);
            }
            let span = self.span(index);
            if span.holds.recorder > 0 || std::mem::replace(&mut span.has_closed, true) {
                continue;
            }
            if span.enters == 0 {
                span.ended = now;
            }
            let (is_root, trace, continuation) = (span.parent.is_none(), span.trace, span.continuation);
            for trace in continuation.into_iter().chain(is_root.then_some(trace)) {
                self.plan.traces[trace].has_ended = true;
            }
            if let Some(around) = kept.recorder {
                self.span(around).holds.recorder -= 1;
                next.push(around);
            }
        }
    }

    fn open(&mut self) {
        let fits = |this: &Self, span: usize| this.plan.spans[span].depth < MAX_DEPTH;
        let chosen = self.random.pick(&self.handled).filter(|&span| fits(self, span));
        let current = self.current();
        let around = self.around();
        let within = chosen.map_or_else(Kept::default, |chosen| Kept {
            // One that does not have that one takes the span for one inside of nothing.
            registry: Some(chosen).filter(|&chosen| self.is_registered(chosen)),
            recorder: Some(chosen),
        });
        let is_deep = current.is_some_and(|current| !fits(self, current));
        let (kind, parent, around) = match (self.random.below(8), chosen) {
            (0, _) => (Kind::Root, None, Kept::default()),
            // A step is inside of nothing, but made where it is made.
            (1, _) => (Kind::Field, None, around),
            (2 | 3, Some(chosen)) => (Kind::Chosen, Some(chosen), within),
            _ if is_deep => (Kind::Root, None, Kept::default()),
            _ => (Kind::Plain, current, around),
        };
        let need = parent.filter(|_| kind == Kind::Chosen).and_then(|parent| self.need(parent, false));
        let span = self.make(kind, parent, around);
        self.handled.push(span);
        let needs = [self.need(span, true), need];
        self.push(Deed::Open(span), needs);
    }

    fn begin(&mut self) {
        let current = self.current();
        let fits = current.is_none_or(|current| self.plan.spans[current].depth < MAX_DEPTH);
        let kind = if fits && self.random.below(4) > 0 { Kind::Part } else { Kind::Step };
        let span = self.make(kind, current.filter(|_| kind == Kind::Part), Kept::default());
        self.span(span).enters = 1;
        self.span(span).stays = 1;
        self.push(Deed::Begin(span), [None; 2]);
        self.stacks[self.thread].push(span);
    }

    fn enter(&mut self, span: usize) {
        let needs = [self.need(span, false), None];
        self.push(Deed::Enter(span), needs);
        self.span(span).enters += 1;
        self.span(span).stays += 1;
        self.stacks[self.thread].push(span);
    }

    /// Leaves any of what is entered. Of several stays in one span it is the last one: nobody can tell them apart.
    fn leave(&mut self) {
        let Some(span) = self.random.pick(&self.stacks[self.thread]) else { return };
        let last = self.stacks[self.thread].iter().rposition(|&stay| stay == span);
        last.map(|last| self.stacks[self.thread].remove(last));
        let now = self.now();
        let modelled = self.span(span);
        modelled.stays -= 1;
        modelled.ended = now;
        let is_last = modelled.stays + modelled.handles == 0;
        let need = if modelled.kind.is_section() { None } else { self.need(span, is_last) };
        self.release(span);
        self.push(Deed::Leave(span), [need, None]);
    }

    fn drop_handle(&mut self, span: usize) {
        let needs = [self.need(span, true), None];
        self.span(span).handles -= 1;
        if self.span(span).handles == 0 {
            self.handled.retain(|&handled| handled != span);
        }
        self.release(span);
        self.push(Deed::Drop(span), needs);
    }

    fn record(&mut self, span: usize) {
        let value = self.random.next() >> 1;
        let needs = [self.need(span, false), None];
        if self.span(span).kind.takes_values() {
            self.span(span).values.push(value);
        }
        self.push(Deed::Record(span, value), needs);
    }

    /// Any other span of the sequence is the cause, be it there or gone.
    fn follow(&mut self, span: usize) {
        let all = std::mem::take(&mut self.all);
        let cause = self.random.pick(&all);
        self.all = all;
        let is_cause = |&cause: &usize| cause != span && !self.plan.spans[cause].kind.is_section();
        let Some(cause) = cause.filter(is_cause) else { return };
        let needs = [self.need(span, false), self.need(cause, false)];
        // By the id of a registry it is found as long as that has it, and by one of ours until it ends.
        let is_registered = self.is_registered(cause);
        let cause_of = self.span(cause);
        let has_gone = if is_registered { cause_of.has_left } else { cause_of.has_closed };
        let (is_there, is_sure) = (!has_gone, cause_of.handles > 0);
        self.span(span).follows.push(Follow { cause, is_there, is_sure });
        self.push(Deed::Follow(span, cause), needs);
    }

    fn tell(&mut self, fails: bool) {
        if let Some(current) = self.current() {
            self.span(current).events += 1;
            self.span(current).failed |= fails;
        }
        self.push(if fails { Deed::Fail } else { Deed::Warn }, [None; 2]);
    }

    fn turn(&mut self) {
        if self.random.below(2) == 0 {
            self.thread = self.random.below(THREADS);
        }
        let handled = std::mem::take(&mut self.handled);
        let some = self.random.pick(&handled);
        self.handled = handled;
        let has_room = self.stacks[self.thread].len() < MAX_STAYS;
        match (self.random.below(20), some) {
            (0..=4, _) => self.open(),
            (5..=7, Some(span)) if has_room => self.enter(span),
            (8..=10, _) => self.leave(),
            (11 | 12, Some(span)) => self.drop_handle(span),
            (13, Some(span)) => {
                let needs = [self.need(span, false), None];
                self.span(span).handles += 1;
                self.push(Deed::Clone(span), needs);
            }
            (14, Some(span)) => self.record(span),
            (15, Some(span)) => self.follow(span),
            (16 | 17, _) if has_room => self.begin(),
            (18, _) => self.tell(true),
            (19, _) => self.tell(false),
            _ => {}
        }
    }

    /// Gives back one of what is left, anywhere; `false` when nothing is.
    fn unwind(&mut self) -> bool {
        let entered: Vec<usize> = (0..THREADS).filter(|&thread| !self.stacks[thread].is_empty()).collect();
        let choice = self.random.below(entered.len() + self.handled.len() + 1);
        self.thread = match entered.get(choice) {
            Some(&thread) => thread,
            None => self.random.below(THREADS),
        };
        if choice < entered.len() {
            self.leave();
        } else if let Some(&span) = self.handled.get(choice - entered.len()) {
            self.drop_handle(span);
        } else {
            // And now and then something happens in between.
            self.tell(false);
        }
        !(self.handled.is_empty() && self.stacks.iter().all(Vec::is_empty))
    }
}

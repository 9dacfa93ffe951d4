//! The root subscriber: takes spans without a registry, and lets another subscriber have what that one wants. What
//! becomes of a span is in `hooks`.
//!
//! A span that the inner subscriber wants has the id from there, so that whoever asks the inner one about it finds it;
//! every other has one of ours ([`crate::hot::span_slab`]), which the inner one never sees: it is told what it would be told if
//! those spans were not there.

mod interests;

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, NoSubscriber};
use tracing::{Dispatch, Event, Metadata, Subscriber};
use tracing_core::span::Current;
use tracing_subscriber::Registry;

use crate::hot::hooks::Hooks;
use crate::hot::recorder::Recorder;
use crate::hot::span_key;
use crate::os::diagnostics::print_diagnostic;
use interests::{Interests, Wanted};

/// A subscriber of stepscope's own, in place of `Registry` and the layer: it records the same, at about half the cost a
/// span. Made by [`Builder::subscriber`](crate::Builder::subscriber).
///
/// `S` is the rest of the program's subscribers, usually `Registry` with layers. It hears of the callsites that it wants,
/// by its filters, and of nothing else; what it sees and says is what it would be without stepscope. A span that it
/// wants costs what it costs there, and what the layer costs beside it; a span that only stepscope wants does not reach
/// it. So this pays where spans outnumber what is logged: beside a log of warnings, or of some targets.
///
/// ```
/// use tracing_subscriber::{EnvFilter, Layer as _, fmt, layer::SubscriberExt as _};
///
/// # std::env::set_current_dir(std::env::temp_dir())?;
/// let log = fmt::layer().with_filter(EnvFilter::new("warn"));
/// let (root, _run) = stepscope::builder().subscriber(tracing_subscriber::registry().with(log));
/// tracing::subscriber::set_global_default(root)?;
///
/// let _step = tracing::info_span!("step", stepscope.step = 0).entered();
/// tracing::warn!("logged, and kept with the step");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limits
///
/// - Layers inside that look into the data of all spans (OpenTelemetry's, consoles) see those that the inner
///   subscriber wants: without a filter, all.
/// - Some libraries ask a subscriber about a span by its id, and panic where it does not know it
///   (`OpenTelemetrySpanExt`, `SpanTrace`). So once there is a span that the inner subscriber does not have, they find
///   nobody to ask any more, and a line on standard error says so. Beside them, either the inner subscriber wants all
///   spans, or the [layer](crate::StepscopeLayer) is the better choice.
/// - A span that the inner subscriber does not have has no context there: on another thread, inside of `Span::current()`
///   alone, it knows of no span.
/// - What begins inside of a span that only the inner subscriber has (of a higher level than is recorded), given as its
///   parent or entered on a thread where nothing else is, begins a trace of its own. The layer finds what is around it.
/// - At most 65,536 spans are open at once; beyond, they are lost, and counted.
/// - A second subscriber in the program (`with_default`) changes what a log with a filter of its own says, where stepscope is and
///   where it is not.
/// - An inner subscriber must say when a span has ended (`try_close`), as registries with a layer do. A `Registry` without any
///   keeps every span for good, and those around it with that, and nobody looks at them: it gets none.
#[derive(Debug)]
pub struct RootSubscriber<S> {
    inner: S,
    hooks: Hooks,
    wanted: Interests,
    /// Whether the inner subscriber is to have nothing.
    is_for_nobody: bool,
    /// Whether it was said that somebody asked for spans by their ids.
    has_warned: AtomicBool,
}

/// A program's only subscriber.
pub(crate) type Alone = RootSubscriber<NoSubscriber>;

impl<S: Subscriber> RootSubscriber<S> {
    pub(crate) fn new(recorder: Option<Arc<Recorder>>, inner: S) -> Self {
        let (wanted, has_warned) = (Interests::new(), AtomicBool::new(false));
        let is_for_nobody = Self::is_alone() || is_bare_registry(&inner);
        Self { inner, hooks: Hooks::new(recorder), wanted, is_for_nobody, has_warned }
    }

    /// The inner subscriber.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Whether there is no inner subscriber.
    #[inline]
    fn is_alone() -> bool {
        TypeId::of::<S>() == TypeId::of::<NoSubscriber>()
    }

    /// Whether the inner subscriber wants something of this callsite now.
    #[inline]
    fn is_wanted(&self, metadata: &Metadata<'_>) -> bool {
        if Self::is_alone() {
            return false;
        }
        match self.wanted.get(metadata) {
            Wanted::Never => false,
            Wanted::Always => true,
            Wanted::Sometimes => !self.is_for_nobody && self.inner.enabled(metadata),
        }
    }

    /// The most verbose level that the inner subscriber takes; `None` where it does not say.
    fn inner_hint(&self) -> Option<LevelFilter> {
        if self.is_for_nobody { Some(LevelFilter::OFF) } else { self.inner.max_level_hint() }
    }

    /// A new span of the inner subscriber's.
    fn new_inner_span(&self, attributes: &Attributes<'_>) -> Option<Id> {
        let id = match attributes.parent() {
            // To the inner subscriber a span that it does not have is none.
            Some(parent) if is_own(parent) => {
                self.inner.new_span(&Attributes::new_root(attributes.metadata(), attributes.values()))
            }
            _ => self.inner.new_span(attributes),
        };
        if span_key::is_ours(id.into_u64()) {
            // No registry has such ids. Another subscriber does without the span.
            self.inner.try_close(id);
            return None;
        }
        Some(id)
    }
}

/// Whether it is a `Registry` without a layer, as it is or as what `Box` and `Arc` make of any subscriber.
fn is_bare_registry<S: Subscriber>(inner: &S) -> bool {
    type Erased = dyn Subscriber + Send + Sync;
    let inner: &dyn Any = inner;
    let boxed = inner.downcast_ref::<Box<Erased>>().map(|inner| &**inner);
    let erased = boxed.or_else(|| inner.downcast_ref::<Arc<Erased>>().map(|inner| &**inner));
    // What has one inside of it is larger.
    inner.is::<Registry>()
        || erased
            .is_some_and(|erased| erased.is::<Registry>() && size_of_val(erased) == size_of::<Registry>())
}

#[inline]
fn is_own(id: &Id) -> bool {
    span_key::is_own_span(id.into_u64())
}

impl<S: Subscriber> Subscriber for RootSubscriber<S> {
    fn on_register_dispatch(&self, dispatch: &Dispatch) {
        self.inner.on_register_dispatch(dispatch);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        let interest = self.inner.register_callsite(metadata);
        // Its hint would have kept anything more verbose from it.
        let is_hidden = self.inner_hint().is_some_and(|max| *metadata.level() > max);
        let interest = if is_hidden { Interest::never() } else { interest };
        self.wanted.set(metadata, &interest);
        if self.hooks.wants(metadata) { Interest::always() } else { interest }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.hooks.wants(metadata) || self.is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let inner = self.inner_hint();
        match self.hooks.max_level() {
            Some(own) => inner.map(|inner| inner.max(own)),
            None => inner,
        }
    }

    #[inline]
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        if self.is_wanted(attributes.metadata())
            && let Some(id) = self.new_inner_span(attributes)
        {
            self.hooks.new_inner_span(attributes, id.into_u64());
            return id;
        }
        Id::from_u64(self.hooks.new_own_span(attributes))
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        if !is_own(id) {
            self.inner.record(id, values);
        }
        self.hooks.record(id.into_u64(), values);
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        if !is_own(id) && !is_own(follows) {
            self.inner.record_follows_from(id, follows);
        }
        self.hooks.follows_from(id.into_u64(), follows.into_u64());
    }

    fn event(&self, event: &Event<'_>) {
        // (An event inside of a span that the inner subscriber does not have is outside of spans there.)
        if self.is_wanted(event.metadata()) && self.inner.event_enabled(event) {
            self.inner.event(event);
        }
        self.hooks.event(event, &|_| None);
    }

    #[inline]
    fn enter(&self, id: &Id) {
        if is_own(id) {
            self.hooks.enter(id.into_u64());
            return;
        }
        self.inner.enter(id);
        if !self.hooks.enter(id.into_u64()) {
            self.hooks.enter_stranger(id.into_u64());
        }
    }

    #[inline]
    fn exit(&self, id: &Id) {
        if !is_own(id) {
            self.inner.exit(id);
        }
        self.hooks.exit(id.into_u64());
    }

    #[inline]
    fn clone_span(&self, id: &Id) -> Id {
        if !is_own(id) {
            return self.inner.clone_span(id);
        }
        self.hooks.clone_own(id.into_u64());
        id.clone()
    }

    #[inline]
    fn try_close(&self, id: Id) -> bool {
        let key = id.into_u64();
        let ended = match span_key::is_own_span(key) {
            true => self.hooks.close_own(key),
            false => self.inner.try_close(id).then(|| self.hooks.close(key)),
        };
        // What only its children have kept ends with them.
        if let Some(held @ 1..) = ended {
            self.hooks.release(held);
        }
        ended.is_some()
    }

    fn current_span(&self) -> Current {
        match self.hooks.current_own() {
            Some((key, metadata)) => Current::new(Id::from_u64(key), metadata),
            None => self.inner.current_span(),
        }
    }

    #[expect(unsafe_code, reason = "the trait's own way to find what is inside of a subscriber")]
    unsafe fn downcast_raw(&self, id: TypeId) -> Option<*const ()> {
        if id == TypeId::of::<Self>() {
            return Some(std::ptr::from_ref(self).cast());
        }
        // (Whoever asks for a registry asks for its spans.)
        if id == TypeId::of::<S>() && id != TypeId::of::<Registry>() {
            return Some(std::ptr::from_ref(&self.inner).cast());
        }
        // SAFETY: what the inner subscriber points at lives as long as that one does, which is as long as this one.
        let found = unsafe { self.inner.downcast_raw(id) }?;
        if !self.hooks.has_own_spans() {
            return Some(found);
        }
        // Whoever asks may go on to ask about a span of ours.
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            print_diagnostic(
                "something looks into the program's subscriber, which does not have all spans: refused \
                 (see the limits of stepscope::RootSubscriber)",
            );
        }
        None
    }
}

//! Spans that the registry of `tracing-subscriber` never ends, without anything of ours: the reasons for what the soak of
//! random sequences allows, and for what `docs/trust.md` says of it. Once these fail, both can go.

use std::sync::{Arc, Barrier, Mutex};

use tracing::{Id, Subscriber, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Hears what ends; looks at the span `looked_at`, as the registry itself does with a span that is given up, while `other`
/// ends.
#[derive(Clone)]
struct Listener {
    closed: Arc<Mutex<Vec<&'static str>>>,
    looked_at: Arc<Mutex<Option<Id>>>,
    both: Arc<Barrier>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Listener {
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let name = context.span(&id).unwrap().name();
        self.closed.lock().unwrap().push(name);
        if name == "other" {
            let looked_at = self.looked_at.lock().unwrap().take().unwrap();
            let look = context.span(&looked_at).unwrap();
            self.both.wait();
            // Now the other thread gives the span up.
            self.both.wait();
            drop(look);
        }
    }
}

/// The thread that looked is left to clear `child`, while it closes something itself: what `child` was in is told to end
/// there, and is not cleared, so that its own handle of `grandparent` stays.
#[test]
fn the_registry_forgets_a_span_whose_grandchild_is_cleared_while_another_one_closes() {
    let listener =
        Listener { closed: Arc::default(), looked_at: Arc::default(), both: Arc::new(Barrier::new(2)) };
    let Listener { closed, looked_at, both } = listener.clone();
    let subscriber = tracing_subscriber::registry().with(listener);
    tracing::subscriber::with_default(subscriber, || {
        let grandparent = info_span!(parent: None, "grandparent");
        let parent = info_span!(parent: &grandparent, "parent");
        let child = info_span!(parent: &parent, "child");
        let other = info_span!(parent: None, "other");
        drop((grandparent, parent));
        *looked_at.lock().unwrap() = child.id();
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        std::thread::scope(|scope| {
            let closer = || tracing::dispatcher::with_default(&dispatch, || drop(other));
            std::thread::Builder::new().name("closer".into()).spawn_scoped(scope, closer).unwrap();
            both.wait();
            drop(child);
            both.wait();
        });
    });
    let mut closed = closed.lock().unwrap().clone();
    closed.sort_unstable();
    // Without the look at `child` there are four.
    assert_eq!(closed, ["child", "other", "parent"]);
}

/// Hears the names of what ends.
struct Names(Arc<Mutex<Vec<&'static str>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Names {
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.0.lock().unwrap().push(context.span(&id).unwrap().name());
    }
}

/// It tells a parent that its child has gone through the subscriber of the thread on which that happened.
#[test]
fn the_registry_forgets_a_span_whose_child_is_given_up_on_a_thread_without_its_subscriber() {
    let closed = Arc::default();
    let subscriber = tracing_subscriber::registry().with(Names(Arc::clone(&closed)));
    let elsewhere = |work: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().name("elsewhere".into()).spawn(work).unwrap().join().unwrap();
    };
    tracing::subscriber::with_default(subscriber, || {
        let parent = info_span!(parent: None, "parent");
        let child = info_span!(parent: &parent, "child");
        drop(parent);
        elsewhere(Box::new(|| drop(child)));
        let parent = info_span!(parent: None, "parent");
        let child = info_span!(parent: &parent, "child");
        drop(parent);
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        elsewhere(Box::new(move || tracing::dispatcher::with_default(&dispatch, || drop(child))));
    });
    // Of the first two the parent is not there.
    assert_eq!(*closed.lock().unwrap(), ["child", "child", "parent"]);
}

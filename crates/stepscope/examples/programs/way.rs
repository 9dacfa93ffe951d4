//! The ways in which these programs record, by the variable `PROGRAMS_WAY`.

use stepscope::{Builder, Guard};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Hears of spans, which are in the registry for that.
struct Listener;

impl<S: Subscriber> Layer<S> for Listener {}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Layer,
    /// `root`: the root subscriber, around none.
    Root,
    /// `root_even`, `root_odd`: around a registry that has the spans with names of an even or odd number of letters.
    RootEven,
    RootOdd,
    /// `root_all`: around a registry that has all of them.
    RootAll,
}

impl Way {
    pub(crate) fn of_environment() -> Self {
        match std::env::var("PROGRAMS_WAY").as_deref() {
            Ok("root") => Self::Root,
            Ok("root_even") => Self::RootEven,
            Ok("root_odd") => Self::RootOdd,
            Ok("root_all") => Self::RootAll,
            Ok("layer") | Err(_) => Self::Layer,
            Ok(other) => panic!("there is no way {other}"),
        }
    }

    /// Whether it is the root subscriber.
    pub(crate) fn is_root(self) -> bool {
        self != Self::Layer
    }

    /// Whether the program's registry has spans of this name.
    pub(crate) fn has_registered(self, name: &str) -> bool {
        match self {
            Self::Layer | Self::RootAll => true,
            Self::Root => false,
            Self::RootEven => name.len().is_multiple_of(2),
            Self::RootOdd => !name.len().is_multiple_of(2),
        }
    }

    /// Records with these settings.
    pub(crate) fn install(self, builder: Builder) -> Guard {
        match self {
            Self::Layer => return builder.install(),
            Self::Root => return builder.install_root(),
            Self::RootEven | Self::RootOdd | Self::RootAll => {}
        }
        let is_wanted =
            move |metadata: &Metadata<'_>| metadata.is_span() && self.has_registered(metadata.name());
        let listener = Listener.with_filter(filter_fn(is_wanted));
        let (root, run) = builder.subscriber(tracing_subscriber::registry().with(listener));
        // (Where there is a subscriber already, it stays.)
        let _done = root.try_init();
        run
    }
}

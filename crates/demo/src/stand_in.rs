//! No-op stand-ins with the shape of the `stepscope` API, so that the trainer builds where that crate does not
//! offer it. Nothing is recorded here.

/// A section that records nothing.
pub(crate) struct Guard;

impl Guard {
    pub(crate) fn discard(self) {}
}

impl Drop for Guard {
    fn drop(&mut self) {}
}

/// A batch that travels without its trace.
pub(crate) struct Traced<T>(T);

/// A loader that records nothing.
#[derive(Clone)]
pub(crate) struct Loader;

impl Loader {
    pub(crate) fn new(_name: &str) -> Self {
        Self
    }

    pub(crate) fn produce<T>(&self, make: impl FnOnce() -> T) -> Traced<T> {
        Traced(make())
    }

    pub(crate) fn wait<T>(&self, receive: impl FnOnce() -> Option<Traced<T>>) -> Option<T> {
        receive().map(|traced| traced.0)
    }
}

macro_rules! guard {
    ($first:expr, mode = $mode:ident) => {
        $crate::stand_in::guard!($first)
    };
    ($first:expr, phase = $phase:ident $(, $key:ident = $value:expr)*) => {
        $crate::stand_in::guard!($first $(, $key = $value)*)
    };
    ($first:expr $(, $key:ident = $value:expr)*) => {{
        let _ = $first;
        $(let _ = $value;)*
        $crate::stand_in::Guard
    }};
}

macro_rules! value {
    ($name:literal, $value:expr) => {{
        let _: (&str, f64) = ($name, $value);
    }};
}

pub(crate) use {guard, guard as epoch, guard as section, guard as step, value};

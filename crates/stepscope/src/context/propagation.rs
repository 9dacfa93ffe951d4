//! What names a trace across processes, by W3C Trace Context and W3C Baggage: taken from headers or from the environment, and
//! given out for a request or a child process (of the calling thread's section: `api::current`). How each text is read is in the modules below. What the context of the
//! process that started this one does here is the business of `identity` (the run) and `export` (the link to it).

mod baggage;
mod traceparent;
mod tracestate;

use crate::context::ids::SpanIds;

pub(crate) use traceparent::Traceparent;

/// The three texts, as headers are called.
const HEADERS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// The same, as environment variables are called.
const VARIABLES: [&str; 3] = ["TRACEPARENT", "TRACESTATE", "BAGGAGE"];

/// White space that may be around parts of a header.
const BLANKS: [char; 2] = [' ', '\t'];

/// A place in a trace that another process may go on from: `traceparent`, `tracestate` and `baggage` of W3C.
///
/// ```
/// use stepscope::TraceContext;
///
/// let headers = [("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")];
/// let get = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
/// let caller = TraceContext::from_headers(get);
/// assert!(caller.is_sampled());
/// assert_eq!(caller.headers().collect::<Vec<_>>(), headers.map(|(name, value)| (name, value.to_owned())));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    parent: Option<Traceparent>,
    /// Only with a parent.
    state: String,
    baggage: String,
    /// Run id and attempt, where it is this process' own place.
    run: Option<(String, u64)>,
}

impl TraceContext {
    /// From the headers of a request; `header` gives the value of one, by its name in lower case. Where a request has
    /// several of a name, it gives them joined by commas.
    ///
    /// What is not as W3C has it is left out: a `traceparent` and with it the `tracestate`, all of a `tracestate`, single
    /// members of a `baggage`, of which the first 180 and 8,192 bytes are kept.
    #[must_use]
    pub fn from_headers<T: AsRef<str>>(header: impl Fn(&str) -> Option<T>) -> Self {
        Self::read(HEADERS, header, |_| ())
    }

    /// From the environment of this process: `TRACEPARENT`, `TRACESTATE`, `BAGGAGE`; otherwise as
    /// [`from_headers`](Self::from_headers).
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok(), &mut Vec::new())
    }

    /// As [`from_environment`](Self::from_environment); variables that are not as W3C has them are named in `warnings`.
    pub(crate) fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let is_wrong = "is not as W3C has it: what is wrong in it is ignored";
        Self::read(VARIABLES, variable, |name| warnings.push(format!("{name} {is_wrong}")))
    }

    /// A place of this process' own, in the run with this id and attempt.
    pub(crate) fn own(ids: SpanIds, baggage: String, run: (String, u64)) -> Self {
        Self { parent: Some(Traceparent::own(ids)), state: String::new(), baggage, run: Some(run) }
    }

    fn read<T: AsRef<str>>(
        names: [&'static str; 3],
        get: impl Fn(&str) -> Option<T>,
        mut problem: impl FnMut(&'static str),
    ) -> Self {
        let [parent, state, baggage] =
            names.map(|name| (name, get(name).filter(|text| !text.as_ref().trim().is_empty())));
        let mut context = Self::default();
        if let (name, Some(text)) = parent {
            context.parent = Traceparent::parse(text.as_ref());
            if context.parent.is_none() {
                problem(name);
            }
        }
        if let (name, Some(text), Some(_)) = (state.0, state.1, context.parent) {
            match tracestate::parse(text.as_ref()) {
                Some(state) => context.state = state,
                None => problem(name),
            }
        }
        if let (name, Some(text)) = baggage {
            let is_whole;
            (context.baggage, is_whole) = baggage::parse(text.as_ref());
            if !is_whole {
                problem(name);
            }
        }
        context
    }

    /// The span that it names.
    #[must_use]
    pub fn ids(&self) -> Option<SpanIds> {
        self.parent.map(|parent| parent.ids)
    }

    /// Whether who sent it may have recorded that span.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.parent.is_some_and(|parent| parent.flags & traceparent::SAMPLED != 0)
    }

    /// What tracers on the way have added, as in the header; empty where they have not.
    #[must_use]
    pub fn trace_state(&self) -> &str {
        &self.state
    }

    /// What applications on the way have added, as in the header; empty where they have not.
    #[must_use]
    pub fn baggage(&self) -> &str {
        &self.baggage
    }

    /// The flags of `traceparent`.
    pub(crate) fn flags(&self) -> u8 {
        self.parent.map_or(0, |parent| parent.flags)
    }

    fn texts(&self) -> [String; 3] {
        let parent = self.parent.map(|parent| parent.to_string()).unwrap_or_default();
        [parent, self.state.clone(), self.baggage.clone()]
    }

    /// Headers for a request: name and value of those that have one.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> {
        HEADERS.into_iter().zip(self.texts()).filter(|(_, text)| !text.is_empty())
    }

    /// Variables for a child process, as [`Command::envs`](std::process::Command::envs) takes them. In those of
    /// [`context()`](crate::context()) there are also `STEPSCOPE_RUN_ID` and `STEPSCOPE_RUN_ATTEMPT`, so that the child is part of this run.
    ///
    /// What has no value is there, empty, so that it does not stay what this process was started with.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        let run = self
            .run
            .clone()
            .map(|(id, attempt)| [("STEPSCOPE_RUN_ID", id), ("STEPSCOPE_RUN_ATTEMPT", attempt.to_string())]);
        VARIABLES.into_iter().zip(self.texts()).chain(run.into_iter().flatten())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

//! Ids in the lines of a log: an event format of `tracing_subscriber::fmt` around any other. Which ids these are is in `current`.

use std::fmt::{self, Write};

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::registry::LookupSpan;

use crate::api::current::{current_ids, ids_of};
use crate::context::ids::SpanIds;

/// An event format of `tracing_subscriber::fmt` that says in which span an event is, so that a line of a log leads to the
/// trace, and a trace to its lines.
///
/// In front of what the format inside of it writes it puts `trace_id=… span_id=… `, in 32 and 16 hexadecimal digits. Where
/// that is a JSON object, `trace_id` and `span_id` become its first members. These are the names that OpenTelemetry has for
/// [logs that are not OTLP](https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/). Outside of all
/// sections nothing is added.
///
/// ```
/// use tracing_subscriber::{fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};
///
/// # std::env::set_current_dir(std::env::temp_dir())?;
/// let log = fmt::layer().map_event_format(stepscope::WithIds::new); // or fmt::layer().json().map_event_format(…)
/// let (layer, _run) = stepscope::builder().build();
/// tracing_subscriber::registry().with(log).with(layer).init();
///
/// let _step = stepscope::step!(0);
/// tracing::info!("started"); // trace_id=4bf92f35…0e4736 span_id=00f067aa0ba902b7 … INFO … started
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// The ids are those of [`current_ids`]; of an event with a parent of its own (`info!(parent: &span, …)`), that span's.
/// So it is with the lines that `fmt` writes of the spans themselves (`with_span_events`); it depends on the order of the layers
/// whether stepscope knows a span already, or still, when `fmt` tells of its begin or its end: where it does not, the line
/// has the ids of the span around it.
///
/// The format inside is asked twice for each event that has ids. The first time, only for what its line begins with: it
/// has an error at its first write.
#[derive(Debug, Clone, Copy, Default)]
pub struct WithIds<F> {
    format: F,
}

impl<F> WithIds<F> {
    /// Around this format.
    pub const fn new(format: F) -> Self {
        Self { format }
    }
}

impl<S, N, F> FormatEvent<S, N> for WithIds<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(ids) = ids_for(context, event) else {
            return self.format.format_event(context, writer, event);
        };
        let (trace, span) = (u128::from_be_bytes(ids.trace_id), u64::from_be_bytes(ids.span_id));
        // A writer of ours has no colours, so that the one that there is goes through where it can.
        let mut beginning = Beginning(None);
        let _ = self.format.format_event(context, Writer::new(&mut beginning), event);
        if beginning.0 == Some('{') {
            let mut line = String::new();
            self.format.format_event(context, Writer::new(&mut line), event)?;
            if let Some((comma, members)) = object(&line) {
                return write!(
                    writer,
                    r#"{{"trace_id":"{trace:032x}","span_id":"{span:016x}"{comma}{members}"#
                );
            }
        }
        write!(writer, "trace_id={trace:032x} span_id={span:016x} ")?;
        self.format.format_event(context, writer, event)
    }
}

/// Those of where an event is.
fn ids_for<S, N>(context: &FmtContext<'_, S, N>, event: &Event<'_>) -> Option<SpanIds>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    if event.is_contextual() {
        return current_ids();
    }
    // A span that the log's registry does not have (of the root subscriber) has no scope there.
    ids_of(event.parent()?).or_else(|| context.event_scope()?.find_map(|span| ids_of(&span.id())))
}

/// What a line begins with, as the writer of it learns: it goes no further.
struct Beginning(Option<char>);

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let Some(first) = text.chars().next() else { return Ok(()) };
        self.0.get_or_insert(first);
        Err(fmt::Error)
    }
}

/// The members of a line that is a JSON object, with the end of it, and what comes between them and others in front.
fn object(line: &str) -> Option<(&'static str, &str)> {
    let members = line.strip_prefix('{')?;
    members.trim_end().ends_with('}').then_some(())?;
    Some((if members.trim_start().starts_with('}') { "" } else { "," }, members))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_from_what_only_begins_like_one() {
        assert_eq!(object("{\"a\":{}}\n"), Some((",", "\"a\":{}}\n")));
        assert_eq!(object("{}\n"), Some(("", "}\n")));
        assert_eq!(object("{ \n } "), Some(("", " \n } ")));
        for line in ["", "{", "}", "{a} b\n", " {}", "a {}"] {
            assert_eq!(object(line), None, "{line}");
        }
    }

    #[test]
    fn a_beginning_is_the_first_character_that_comes() {
        let mut beginning = Beginning(None);
        assert!(beginning.write_str("").is_ok() && beginning.0.is_none());
        assert!(beginning.write_str("{a").is_err());
        assert!(beginning.write_str("b").is_err());
        assert_eq!(beginning.0, Some('{'));
    }
}

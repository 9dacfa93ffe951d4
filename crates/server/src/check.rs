//! Looks a message through before it is taken: damage is refused with its place, items that no reader takes are
//! counted. Nothing is kept of what is in it.

use stepscope_otlp::{
    DecodeError, DecodeStats, Encoding, PointHead, Signal, SpanHead, Visitor, detect, json, proto,
};

/// Lengths of sound ids.
const TRACE_ID_BYTES: usize = 16;
const SPAN_ID_BYTES: usize = 8;

/// What a sound message holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Spans, or points of metrics; logs are not counted.
    pub(crate) items: u64,
    /// Items that no reader takes, and why not.
    pub(crate) rejected: u64,
    pub(crate) reason: String,
    /// There is nothing to store.
    pub(crate) is_empty: bool,
}

#[derive(Default)]
struct Count {
    items: u64,
    odd_ids: u64,
}

impl Visitor for Count {
    fn span(&mut self, head: &SpanHead<'_>) {
        self.items += 1;
        let sound = head.trace_id.len() == TRACE_ID_BYTES && head.span_id.len() == SPAN_ID_BYTES;
        self.odd_ids += u64::from(!sound);
    }

    fn point(&mut self, _: &PointHead<'_>) {
        self.items += 1;
    }
}

/// Looks through a message that is said to be of `signal`.
///
/// # Errors
/// Where it is damaged or something else: what is wrong, and where.
pub(crate) fn check(bytes: &[u8], encoding: Encoding, signal: Signal) -> Result<Checked, String> {
    if bytes.is_empty() && encoding == Encoding::Proto {
        return Ok(Checked { is_empty: true, ..Checked::default() });
    }
    if signal == Signal::Logs {
        return logs(bytes, encoding);
    }
    let mut count = Count::default();
    let stats = decode(bytes, encoding, signal, &mut count)
        .map_err(|error| format!("not a message of {}: {error}", name(signal)))?;
    if count.items == 0 {
        is_of(bytes, signal)?;
    }
    let left_out = stats.abandoned_spans();
    let first = [stats.bad_ids, stats.bad_values].into_iter().find(|left_out| left_out.spans > 0);
    let reason = match first {
        Some(first) => format!("{} at byte {}", first.reason, first.offset),
        None if count.odd_ids > 0 => "ids of spans have other lengths than 16 and 8 bytes".to_owned(),
        None => String::new(),
    };
    Ok(Checked {
        items: count.items,
        rejected: count.odd_ids.saturating_add(left_out),
        reason,
        is_empty: count.items == 0 && left_out == 0,
    })
}

fn decode(
    bytes: &[u8],
    encoding: Encoding,
    signal: Signal,
    count: &mut Count,
) -> Result<DecodeStats, DecodeError> {
    match (encoding, signal) {
        (Encoding::Proto, Signal::Metrics) => proto::decode_metrics(bytes, count),
        (Encoding::Proto, _) => proto::decode_traces(bytes, count),
        (Encoding::Json, Signal::Metrics) => json::decode_metrics(bytes, count),
        (Encoding::Json, _) => json::decode_traces(bytes, count),
    }
}

/// Refuses a message without items of `signal` that plainly holds another.
fn is_of(bytes: &[u8], signal: Signal) -> Result<(), String> {
    match detect(bytes).and_then(|found| found.signal) {
        Some(found) if found != signal => {
            Err(format!("a message of {} where one of {} belongs", name(found), name(signal)))
        }
        _ => Ok(()),
    }
}

fn logs(bytes: &[u8], encoding: Encoding) -> Result<Checked, String> {
    let is_whole = match encoding {
        Encoding::Proto => proto::validate(bytes, Signal::Logs),
        // The members of the message are traces' to nobody, so all of them are stepped over.
        Encoding::Json => json::decode_traces(bytes, &mut Count::default()).is_ok(),
    };
    if !is_whole {
        return Err(format!("not a message of {}", name(Signal::Logs)));
    }
    is_of(bytes, Signal::Logs)?;
    let is_empty = encoding == Encoding::Json && detect(bytes).is_some_and(|found| found.signal.is_none());
    Ok(Checked { is_empty, ..Checked::default() })
}

/// What the items of a signal are called.
pub(crate) const fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "traces",
        Signal::Metrics => "metrics",
        Signal::Logs => "logs",
    }
}

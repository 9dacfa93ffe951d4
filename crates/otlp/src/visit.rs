//! The one interface between OTLP bytes and everything else: [`Visitor`] and the borrowed views it is
//! handed. Decoders drive a visitor, encoders *are* visitors, so "protobuf → JSON" is a decoder with an
//! encoder plugged in and no object tree ever exists. What the bytes look like lives in `proto` and `json`.
//!
//! Order of calls, for every signal: `resource`, then per scope `scope`, then the items of that scope,
//! then `scope_end`, then `resource_end`. Attributes of an item arrive *before* the head that closes it:
//! `span_attribute*`, `(event_attribute* event)*`, `(link_attribute* link)*`, in any interleaving, then
//! `span`. A visitor that meets damage in the middle of a span gets `span_abandoned` instead of `span`.
//! At damage a decoder closes what it opened: `metric_end` (attributes of a point that has not come are
//! void), `scope_end`, `resource_end`. A metric whose own fields are cut is not handed over at all.

use crate::{Constants, Key};

/// A value of an attribute. Nested values are rare and are materialised only when met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// An `AnyValue` without any variant set.
    Empty,
    /// UTF-8 text.
    Str(&'a str),
    /// A boolean.
    Bool(bool),
    /// A signed 64-bit integer; OTLP has no unsigned attribute values.
    Int(i64),
    /// A double; JSON writes NaN and infinities as strings.
    Double(f64),
    /// Raw bytes; base64 in JSON.
    Bytes(&'a [u8]),
    /// A list of values.
    Array(&'a [Value<'a>]),
    /// A list of key/value pairs, in the order written.
    Map(&'a [KeyValue<'a>]),
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyValue<'a> {
    /// Name of the attribute.
    pub key: &'a str,
    /// Its value.
    pub value: Value<'a>,
}

/// `SpanKind` of OTLP; unknown numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanKind(pub i32);

impl SpanKind {
    /// Not given.
    pub const UNSPECIFIED: Self = Self(0);
    /// Inside the process.
    pub const INTERNAL: Self = Self(1);
    /// Handles a remote request.
    pub const SERVER: Self = Self(2);
    /// Makes a remote request.
    pub const CLIENT: Self = Self(3);
    /// Creates work that another span takes up later.
    pub const PRODUCER: Self = Self(4);
    /// Takes up the work of a producer.
    pub const CONSUMER: Self = Self(5);
}

/// Status code of a span: 0 unset, 1 ok, 2 error; unknown numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusCode(pub i32);

impl StatusCode {
    /// Not set.
    pub const UNSET: Self = Self(0);
    /// Declared fine.
    pub const OK: Self = Self(1);
    /// Failed.
    pub const ERROR: Self = Self(2);
}

/// What closes a resource's header. Its attributes came before through `resource_attribute`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceHead<'a> {
    /// Semantic conventions the resource follows; empty where absent.
    pub schema_url: &'a str,
    /// Attributes the writer dropped.
    pub dropped_attributes_count: u32,
}

/// What closes a scope's header. Its attributes came before through `scope_attribute`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScopeHead<'a> {
    /// Name of the instrumentation scope.
    pub name: &'a str,
    /// Version of the instrumentation scope.
    pub version: &'a str,
    /// Semantic conventions the scope follows; empty where absent.
    pub schema_url: &'a str,
    /// Attributes the writer dropped.
    pub dropped_attributes_count: u32,
}

/// Bit of the flags of spans and links: the next bit says something.
pub const HAS_IS_REMOTE: u32 = 1 << 8;
/// Bit of the flags of spans and links: a span's parent, or what a link leads to, is in another process.
pub const IS_REMOTE: u32 = 1 << 9;

/// The scalar fields of a span. Ids are as written: the decoder does not check their length
/// (16 and 8 bytes are right; the reader reports others).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanHead<'a> {
    /// Trace id, 16 bytes when valid.
    pub trace_id: &'a [u8],
    /// Span id, 8 bytes when valid.
    pub span_id: &'a [u8],
    /// Parent's span id, empty for a root.
    pub parent_span_id: &'a [u8],
    /// W3C trace flags in the low 8 bits, [`HAS_IS_REMOTE`] and [`IS_REMOTE`] above.
    pub flags: u32,
    /// W3C tracestate.
    pub trace_state: &'a str,
    /// Name.
    pub name: &'a str,
    /// Kind.
    pub kind: SpanKind,
    /// Start, nanoseconds since the Unix epoch.
    pub start_unix_ns: u64,
    /// End, nanoseconds since the Unix epoch.
    pub end_unix_ns: u64,
    /// Status code.
    pub status: StatusCode,
    /// Status message.
    pub status_message: &'a str,
    /// Attributes the writer dropped.
    pub dropped_attributes_count: u32,
    /// Events the writer dropped.
    pub dropped_events_count: u32,
    /// Links the writer dropped.
    pub dropped_links_count: u32,
}

/// The scalar fields of a span event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventHead<'a> {
    /// When, nanoseconds since the Unix epoch.
    pub time_unix_ns: u64,
    /// Name.
    pub name: &'a str,
    /// Attributes the writer dropped.
    pub dropped_attributes_count: u32,
}

/// The scalar fields of a span link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkHead<'a> {
    /// Linked trace id.
    pub trace_id: &'a [u8],
    /// Linked span id.
    pub span_id: &'a [u8],
    /// W3C tracestate.
    pub trace_state: &'a str,
    /// Flags as on a span.
    pub flags: u32,
    /// Attributes the writer dropped.
    pub dropped_attributes_count: u32,
}

/// What a metric's points are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetricKind {
    /// Not known to this decoder, or absent.
    #[default]
    Unknown,
    /// Last value wins.
    Gauge,
    /// Sum; `monotonic` and `temporality` apply.
    Sum,
    /// Histogram with explicit bounds; `temporality` applies.
    Histogram,
    /// Histogram with exponential buckets; `temporality` applies.
    ExponentialHistogram,
    /// Quantiles computed by the writer.
    Summary,
}

/// Aggregation temporality: 0 unspecified, 1 delta, 2 cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Temporality(pub i32);

impl Temporality {
    /// Change since the last point.
    pub const DELTA: Self = Self(1);
    /// Total since the start time.
    pub const CUMULATIVE: Self = Self(2);
}

/// The header of a metric, handed over before its points (the decoder finds it first).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MetricHead<'a> {
    /// Name.
    pub name: &'a str,
    /// Unit (UCUM).
    pub unit: &'a str,
    /// Description.
    pub description: &'a str,
    /// What the points are.
    pub kind: MetricKind,
    /// Temporality, where the kind has one.
    pub temporality: Temporality,
    /// Monotonic, for sums.
    pub monotonic: bool,
}

/// Value of a number point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Signed integer.
    Int(i64),
    /// Double.
    Double(f64),
}

/// The data of a point; its attributes came before through `point_attribute`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PointData<'a> {
    /// A gauge's or sum's point; `None` where the writer recorded no value.
    Number(Option<Number>),
    /// Explicit-bounds histogram.
    Histogram {
        /// Number of values.
        count: u64,
        /// Their sum, if recorded.
        sum: Option<f64>,
        /// Smallest, if recorded.
        min: Option<f64>,
        /// Largest, if recorded.
        max: Option<f64>,
        /// Upper bounds, one fewer than `bucket_counts` (or both empty).
        explicit_bounds: &'a [f64],
        /// Counts per bucket.
        bucket_counts: &'a [u64],
    },
    /// Exponential histogram: bucket `i` holds values in `(base^i, base^(i+1)]`, `base = 2^(2^-scale)`.
    ExponentialHistogram {
        /// Number of values.
        count: u64,
        /// Their sum, if recorded.
        sum: Option<f64>,
        /// Smallest, if recorded.
        min: Option<f64>,
        /// Largest, if recorded.
        max: Option<f64>,
        /// Resolution.
        scale: i32,
        /// Values within the zero threshold.
        zero_count: u64,
        /// The zero threshold.
        zero_threshold: f64,
        /// Index of the first positive bucket.
        positive_offset: i32,
        /// Counts of the positive buckets.
        positive: &'a [u64],
        /// Index of the first negative bucket.
        negative_offset: i32,
        /// Counts of the negative buckets.
        negative: &'a [u64],
    },
    /// Quantiles computed by the writer: `(quantile, value)`.
    Summary {
        /// Number of values.
        count: u64,
        /// Their sum.
        sum: f64,
        /// The quantiles.
        quantiles: &'a [(f64, f64)],
    },
}

/// The scalar fields of a data point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointHead<'a> {
    /// Start of the interval, 0 where absent.
    pub start_unix_ns: u64,
    /// Time of the point.
    pub time_unix_ns: u64,
    /// Data point flags (bit 0: no recorded value).
    pub flags: u32,
    /// The data.
    pub data: PointData<'a>,
}

/// Receives what a decoder finds; implemented by encoders and by readers. Every method defaults to nothing.
#[expect(unused_variables, reason = "default methods name their parameters for the documentation")]
pub trait Visitor {
    /// An attribute of the resource whose `resource` call follows.
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {}
    /// The resource of everything up to `resource_end`.
    fn resource(&mut self, head: &ResourceHead<'_>) {}
    /// No more items of this resource.
    fn resource_end(&mut self) {}
    /// An attribute of the scope whose `scope` call follows.
    fn scope_attribute(&mut self, key: &str, value: Value<'_>) {}
    /// The scope of everything up to `scope_end`.
    fn scope(&mut self, head: &ScopeHead<'_>) {}
    /// No more items of this scope.
    fn scope_end(&mut self) {}

    /// An attribute of the span whose `span` call follows.
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {}
    /// The same from a decoder that has met the key before: in all of the process `number` stands for this key and
    /// no other, unless it is 0. What depends on the key alone can be looked up by it.
    #[inline]
    fn numbered_attribute(&mut self, key: &str, number: u64, value: Value<'_>) {
        self.span_attribute(key, value);
    }
    /// The same where the name comes again with other spans.
    #[inline]
    fn prepared_attribute(&mut self, key: &Key, value: Value<'_>) {
        self.span_attribute(key.text(), value);
    }
    /// The same for several that come again, as they are, with other spans.
    fn constant_attributes(&mut self, constants: &Constants) {
        constants.iter().for_each(|(key, value)| self.span_attribute(key, value));
    }
    /// Whether the visitor takes for the attributes of the span to come those that it had received when
    /// [`keep_attributes`](Self::keep_attributes) was called with this number; called instead of handing them over. If it
    /// does not, they are handed over as always.
    #[inline]
    fn same_attributes(&mut self, number: u64) -> bool {
        false
    }
    /// All attributes of the span to come were handed over, and may come again: in all of the process `number` stands for
    /// these and no others.
    #[inline]
    fn keep_attributes(&mut self, number: u64) {}
    /// An attribute of the event whose `event` call follows.
    fn event_attribute(&mut self, key: &str, value: Value<'_>) {}
    /// An event of the span whose `span` call follows.
    fn event(&mut self, head: &EventHead<'_>) {}
    /// An attribute of the link whose `link` call follows.
    fn link_attribute(&mut self, key: &str, value: Value<'_>) {}
    /// A link of the span whose `span` call follows.
    fn link(&mut self, head: &LinkHead<'_>) {}
    /// A span; its attributes, events and links came before.
    fn span(&mut self, head: &SpanHead<'_>) {}
    /// Damage inside a span: forget the attributes, events and links received for it.
    fn span_abandoned(&mut self) {}

    /// A metric; its points follow.
    fn metric(&mut self, head: &MetricHead<'_>) {}
    /// An attribute of the point whose `point` call follows.
    fn point_attribute(&mut self, key: &str, value: Value<'_>) {}
    /// A point of the current metric.
    fn point(&mut self, head: &PointHead<'_>) {}
    /// No more points of this metric.
    fn metric_end(&mut self) {}
}

//! The shape of the vocabulary's rows. The rows themselves are in [`crate::attr`] and [`crate::metric`].

/// Type of a value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// UTF-8 text.
    Str,
    /// Signed 64-bit integer.
    Int,
    /// Double.
    Double,
    /// Boolean.
    Bool,
    /// List of signed 64-bit integers.
    Ints,
}

impl ValueType {
    /// The name in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Str => "string",
            Self::Int => "int",
            Self::Double => "double",
            Self::Bool => "bool",
            Self::Ints => "int[]",
        }
    }
}

/// Where an attribute stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the resource.
    Resource,
    /// On the root span of a trace.
    Root,
    /// On any span.
    Span,
    /// On the span of the consumer that took a batch.
    Wait,
    /// On a metric's points.
    Point,
}

impl Place {
    /// The name in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Root => "root span",
            Self::Span => "span",
            Self::Wait => "waiting span",
            Self::Point => "metric point",
        }
    }
}

/// Who defines a name and how firmly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Ours, kept within a schema version.
    Contract,
    /// OpenTelemetry semantic conventions.
    OpenTelemetry,
}

impl Stability {
    /// The name in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contract => "stepscope",
            Self::OpenTelemetry => "OpenTelemetry",
        }
    }
}

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub key: &'static str,
    /// Type of its value.
    pub value: ValueType,
    /// Unit (UCUM), empty where it has none.
    pub unit: &'static str,
    /// Where it stands.
    pub place: Place,
    /// Who defines it.
    pub stability: Stability,
    /// What it means.
    pub doc: &'static str,
    /// Names of the same thing in other systems, read but never written.
    pub aliases: &'static [&'static str],
}

/// How a metric's points combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instrument {
    /// Cumulative monotonic sum of integers.
    Counter,
    /// Last value.
    Gauge,
    /// Cumulative exponential histogram of scale [`crate::histogram::SCALE`].
    Histogram,
}

impl Instrument {
    /// The name in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "exponential histogram",
        }
    }
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// How its points combine.
    pub instrument: Instrument,
    /// Unit (UCUM).
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// The attributes that tell its points apart.
    pub attributes: &'static [&'static str],
}

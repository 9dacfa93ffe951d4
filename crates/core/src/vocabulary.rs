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
    /// On the log record of a finding.
    Record,
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
            Self::Record => "log record",
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
    /// Cumulative monotonic sum.
    Counter,
    /// Cumulative sum that goes up and down: the present amount, which adds up over what it is of.
    UpDownCounter,
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
            Self::UpDownCounter => "updowncounter",
            Self::Gauge => "gauge",
            Self::Histogram => "exponential histogram",
        }
    }
}

/// How often a metric is read, by what that costs. All but the first and the last are the exporter's; its interval is
/// that of [`Tier::Pass`], and the others keep their distance from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// With what the layer publishes: every ten seconds and at the end of epochs and runs.
    Layer,
    /// Several times in a pass.
    Fast,
    /// Once a pass.
    Pass,
    /// Once in ten passes.
    Slow,
    /// When a report is pushed.
    Once,
}

impl Tier {
    /// The name in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Layer => "layer",
            Self::Fast => "100 ms",
            Self::Pass => "1 s",
            Self::Slow => "10 s",
            Self::Once => "report",
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
    /// Who defines it.
    pub stability: Stability,
    /// The file or the call of NVML that it is read from.
    pub source: &'static str,
    /// How often it is read.
    pub tier: Tier,
}

/// Names that begin with `stepscope.` are ours.
pub(crate) const fn stability(name: &str) -> Stability {
    let (name, ours) = (name.as_bytes(), b"stepscope.");
    let mut index = 0;
    while index < ours.len() {
        if index >= name.len() || name[index] != ours[index] {
            return Stability::OpenTelemetry;
        }
        index += 1;
    }
    Stability::Contract
}

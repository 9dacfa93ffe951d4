//! The objects of Jaeger's JSON, as its query service, its UI and others write them. Members that are not
//! here hold nothing that is read.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A span.
#[derive(Debug, Deserialize)]
pub(super) struct Span {
    #[serde(rename = "traceID")]
    pub(super) trace_id: Option<String>,
    #[serde(rename = "spanID")]
    pub(super) span_id: Option<String>,
    /// Before there were references.
    #[serde(rename = "parentSpanID")]
    pub(super) parent_span_id: Option<String>,
    #[serde(rename = "operationName")]
    pub(super) operation_name: Option<String>,
    #[serde(default)]
    pub(super) flags: Value,
    pub(super) references: Option<Vec<Reference>>,
    /// Microseconds since the Unix epoch.
    #[serde(rename = "startTime", default)]
    pub(super) start_time: Value,
    /// Microseconds.
    #[serde(default)]
    pub(super) duration: Value,
    pub(super) tags: Option<Vec<Tag>>,
    pub(super) tag: Fields,
    pub(super) logs: Option<Vec<Log>>,
    #[serde(rename = "processID")]
    pub(super) process_id: Option<String>,
    /// Where there is no table of processes.
    pub(super) process: Option<Process>,
    pub(super) warnings: Option<Vec<String>>,
}

/// Another span that this one came from.
#[derive(Debug, Deserialize)]
pub(super) struct Reference {
    #[serde(rename = "refType")]
    pub(super) ref_type: Option<String>,
    #[serde(rename = "traceID")]
    pub(super) trace_id: Option<String>,
    #[serde(rename = "spanID")]
    pub(super) span_id: Option<String>,
    /// Attributes of a link, where our converter wrote it; its name is `tag::LINK_TAGS`.
    pub(super) tags: Option<Vec<Tag>>,
}

/// An attribute.
#[derive(Debug, Deserialize)]
pub(super) struct Tag {
    #[serde(default)]
    pub(super) key: String,
    /// `string`, `bool`, `int64`, `float64` or `binary`.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) value: Value,
}

/// An event.
#[derive(Debug, Deserialize)]
pub(super) struct Log {
    /// Microseconds since the Unix epoch.
    #[serde(default)]
    pub(super) timestamp: Value,
    pub(super) fields: Option<Vec<Tag>>,
}

/// Who wrote a span.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Process {
    #[serde(rename = "serviceName")]
    pub(super) service_name: Option<String>,
    pub(super) tags: Option<Vec<Tag>>,
    pub(super) tag: Fields,
}

/// Tags as the fields of a document in Elasticsearch.
pub(super) type Fields = Option<Map<String, Value>>;

/// What stands for dots in the names of such fields.
const DOT: &str = "@";

/// Puts tags that are fields behind the others.
pub(super) fn unfold(tag: &mut Fields, tags: &mut Option<Vec<Tag>>) {
    if let Some(fields) = tag.take() {
        let fields =
            fields.into_iter().map(|(key, value)| Tag { key: key.replace(DOT, "."), kind: None, value });
        tags.get_or_insert_default().extend(fields);
    }
}

//! A dashboard as Grafana's classic schema has it, with no more than the boards use; `tests/grafana` holds it against
//! Grafana's own types. Panels are in `panels`. What is on the boards is in `boards`, how their parts are put together in `panel` and `board`.

mod panels;

use serde::Serialize;

pub(super) use panels::*;

/// Version of the classic schema.
pub(super) const SCHEMA_VERSION: u32 = 42;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Dashboard {
    pub(super) annotations: List<Annotation>,
    pub(super) description: String,
    pub(super) editable: bool,
    /// 1: one crosshair on all panels.
    pub(super) graph_tooltip: u8,
    /// Given by Grafana.
    pub(super) id: Option<u64>,
    pub(super) links: Vec<DashboardLink>,
    pub(super) panels: Vec<Panel>,
    pub(super) refresh: &'static str,
    pub(super) schema_version: u32,
    pub(super) tags: Vec<&'static str>,
    pub(super) templating: List<Variable>,
    pub(super) time: TimeRange,
    pub(super) timezone: &'static str,
    pub(super) title: String,
    pub(super) uid: String,
}

#[derive(Debug, Serialize)]
pub(super) struct List<T> {
    pub(super) list: Vec<T>,
}

#[derive(Debug, Serialize)]
pub(super) struct TimeRange {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct DataSource {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) uid: &'static str,
}

/// A query of Prometheus whose points are marked on all panels.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Annotation {
    pub(super) datasource: DataSource,
    pub(super) enable: bool,
    pub(super) expr: String,
    pub(super) icon_color: &'static str,
    pub(super) name: &'static str,
    pub(super) step: &'static str,
    pub(super) tag_keys: String,
    pub(super) text_format: String,
    pub(super) title_format: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DashboardLink {
    pub(super) as_dropdown: bool,
    pub(super) icon: &'static str,
    pub(super) include_vars: bool,
    pub(super) keep_time: bool,
    pub(super) tags: Vec<&'static str>,
    pub(super) target_blank: bool,
    pub(super) title: &'static str,
    pub(super) tooltip: &'static str,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) all_value: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) current: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) datasource: Option<DataSource>,
    pub(super) description: &'static str,
    pub(super) include_all: bool,
    pub(super) label: &'static str,
    pub(super) multi: bool,
    pub(super) name: &'static str,
    pub(super) query: VariableQuery,
    /// 2: when the time range changes, as runs come and go.
    pub(super) refresh: u8,
    pub(super) sort: u8,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Choice {
    pub(super) selected: bool,
    pub(super) text: &'static str,
    pub(super) value: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum VariableQuery {
    /// The kind of a data source, or a text.
    Text(String),
    /// A query of values of Prometheus; the number says which of its kinds.
    #[serde(rename_all = "camelCase")]
    Values { qry_type: u8, query: String, ref_id: &'static str },
}

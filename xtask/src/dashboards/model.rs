//! A dashboard as Grafana's classic schema has it, with no more than the boards use; `tests/grafana` holds it against
//! Grafana's own types. What is on the boards is in `boards`, how their parts are put together in `panel` and `board`.

use serde::Serialize;

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

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Place {
    pub(super) h: u32,
    pub(super) w: u32,
    pub(super) x: u32,
    pub(super) y: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Panel {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) datasource: Option<DataSource>,
    pub(super) description: String,
    pub(super) field_config: FieldConfig,
    pub(super) grid_pos: Place,
    pub(super) id: u32,
    pub(super) options: Options,
    pub(super) targets: Vec<Target>,
    pub(super) title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) transformations: Vec<Transformation>,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

/// A query of Prometheus.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Target {
    pub(super) datasource: DataSource,
    pub(super) editor_mode: &'static str,
    pub(super) exemplar: bool,
    pub(super) expr: String,
    pub(super) format: &'static str,
    pub(super) instant: bool,
    pub(super) legend_format: String,
    pub(super) range: bool,
    pub(super) ref_id: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Transformation {
    pub(super) id: &'static str,
    pub(super) options: serde_json::Value,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct FieldConfig {
    pub(super) defaults: Defaults,
    pub(super) overrides: Vec<Override>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Defaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) color: Option<Color>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) custom: Option<Custom>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<DataLink>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) mappings: Vec<Mapping>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thresholds: Option<Thresholds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(super) struct Color {
    pub(super) mode: &'static str,
}

/// A link of a field's values.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataLink {
    pub(super) target_blank: bool,
    pub(super) title: &'static str,
    pub(super) url: String,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Thresholds {
    pub(super) mode: &'static str,
    pub(super) steps: Vec<Threshold>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Threshold {
    pub(super) color: &'static str,
    /// From here on; the first has none.
    pub(super) value: Option<f64>,
}

/// Texts for values.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Mapping {
    pub(super) options: std::collections::BTreeMap<String, MappedText>,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct MappedText {
    pub(super) index: u32,
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Override {
    pub(super) matcher: Matcher,
    pub(super) properties: Vec<Property>,
}

#[derive(Debug, Serialize)]
pub(super) struct Matcher {
    pub(super) id: &'static str,
    pub(super) options: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Property {
    pub(super) id: &'static str,
    pub(super) value: serde_json::Value,
}

/// What only one kind of panel has for a field.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Custom {
    #[serde(rename_all = "camelCase")]
    Timeseries {
        draw_style: &'static str,
        fill_opacity: u8,
        line_width: u8,
        show_points: &'static str,
        span_nulls: bool,
        stacking: Stacking,
    },
    #[serde(rename_all = "camelCase")]
    Table { align: &'static str, cell_options: CellOptions, filterable: bool, inspect: bool },
}

#[derive(Debug, Serialize)]
pub(super) struct Stacking {
    pub(super) group: &'static str,
    pub(super) mode: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct CellOptions {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

/// What only one kind of panel has.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Options {
    Timeseries {
        legend: Legend,
        tooltip: Tooltip,
    },
    #[serde(rename_all = "camelCase")]
    Stat {
        color_mode: &'static str,
        graph_mode: &'static str,
        justify_mode: &'static str,
        orientation: &'static str,
        percent_change_color_mode: &'static str,
        reduce_options: Reduce,
        show_percent_change: bool,
        text_mode: &'static str,
        wide_layout: bool,
    },
    #[serde(rename_all = "camelCase")]
    BarGauge {
        display_mode: &'static str,
        legend: Legend,
        max_viz_height: u32,
        min_viz_height: u32,
        min_viz_width: u32,
        name_placement: &'static str,
        orientation: &'static str,
        reduce_options: Reduce,
        show_unfilled: bool,
        sizing: &'static str,
        value_mode: &'static str,
    },
    #[serde(rename_all = "camelCase")]
    Table {
        cell_height: &'static str,
        enable_pagination: bool,
        frame_index: u32,
        show_header: bool,
        sort_by: Vec<SortBy>,
    },
    Text {
        content: String,
        mode: &'static str,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Legend {
    pub(super) calcs: Vec<&'static str>,
    pub(super) display_mode: &'static str,
    pub(super) placement: &'static str,
    pub(super) show_legend: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Tooltip {
    pub(super) mode: &'static str,
    pub(super) sort: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Reduce {
    pub(super) calcs: Vec<&'static str>,
    pub(super) fields: &'static str,
    pub(super) values: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SortBy {
    pub(super) desc: bool,
    pub(super) display_name: &'static str,
}

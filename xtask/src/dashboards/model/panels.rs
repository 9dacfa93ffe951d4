//! Panels of a dashboard, as Grafana's classic schema and the types of its panels have them.

use serde::Serialize;

use super::DataSource;

#[derive(Debug, Clone, Copy, Serialize)]
pub(in crate::dashboards) struct Place {
    pub(in crate::dashboards) h: u32,
    pub(in crate::dashboards) w: u32,
    pub(in crate::dashboards) x: u32,
    pub(in crate::dashboards) y: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dashboards) struct Panel {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) datasource: Option<DataSource>,
    pub(in crate::dashboards) description: String,
    pub(in crate::dashboards) field_config: FieldConfig,
    pub(in crate::dashboards) grid_pos: Place,
    pub(in crate::dashboards) id: u32,
    pub(in crate::dashboards) options: Options,
    pub(in crate::dashboards) targets: Vec<Target>,
    pub(in crate::dashboards) title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::dashboards) transformations: Vec<Transformation>,
    #[serde(rename = "type")]
    pub(in crate::dashboards) kind: &'static str,
}

/// A query of Prometheus.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dashboards) struct Target {
    pub(in crate::dashboards) datasource: DataSource,
    pub(in crate::dashboards) editor_mode: &'static str,
    pub(in crate::dashboards) exemplar: bool,
    pub(in crate::dashboards) expr: String,
    pub(in crate::dashboards) format: &'static str,
    pub(in crate::dashboards) instant: bool,
    pub(in crate::dashboards) legend_format: String,
    pub(in crate::dashboards) range: bool,
    pub(in crate::dashboards) ref_id: String,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct Transformation {
    pub(in crate::dashboards) id: &'static str,
    pub(in crate::dashboards) options: serde_json::Value,
}

#[derive(Debug, Default, Serialize)]
pub(in crate::dashboards) struct FieldConfig {
    pub(in crate::dashboards) defaults: Defaults,
    pub(in crate::dashboards) overrides: Vec<Override>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dashboards) struct Defaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) color: Option<Color>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) custom: Option<Custom>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::dashboards) links: Vec<DataLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) no_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) thresholds: Option<Thresholds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dashboards) unit: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct Color {
    pub(in crate::dashboards) mode: &'static str,
}

/// A link of a field's values.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dashboards) struct DataLink {
    pub(in crate::dashboards) target_blank: bool,
    pub(in crate::dashboards) title: &'static str,
    pub(in crate::dashboards) url: String,
}

#[derive(Debug, Clone, Serialize)]
pub(in crate::dashboards) struct Thresholds {
    pub(in crate::dashboards) mode: &'static str,
    pub(in crate::dashboards) steps: Vec<Threshold>,
}

#[derive(Debug, Clone, Serialize)]
pub(in crate::dashboards) struct Threshold {
    pub(in crate::dashboards) color: &'static str,
    /// From here on; the first has none.
    pub(in crate::dashboards) value: Option<f64>,
}

/// Texts for values.
#[derive(Debug, Clone, Serialize)]
pub(in crate::dashboards) struct Mapping {
    pub(in crate::dashboards) options: std::collections::BTreeMap<String, MappedText>,
    #[serde(rename = "type")]
    pub(in crate::dashboards) kind: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub(in crate::dashboards) struct MappedText {
    pub(in crate::dashboards) index: u32,
    pub(in crate::dashboards) text: String,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct Override {
    pub(in crate::dashboards) matcher: Matcher,
    pub(in crate::dashboards) properties: Vec<Property>,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct Matcher {
    pub(in crate::dashboards) id: &'static str,
    pub(in crate::dashboards) options: String,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct Property {
    pub(in crate::dashboards) id: &'static str,
    pub(in crate::dashboards) value: serde_json::Value,
}

/// What only one kind of panel has for a field.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::dashboards) enum Custom {
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
pub(in crate::dashboards) struct Stacking {
    pub(in crate::dashboards) group: &'static str,
    pub(in crate::dashboards) mode: &'static str,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct CellOptions {
    #[serde(rename = "type")]
    pub(in crate::dashboards) kind: &'static str,
}

/// What only one kind of panel has.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::dashboards) enum Options {
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
pub(in crate::dashboards) struct Legend {
    pub(in crate::dashboards) calcs: Vec<&'static str>,
    pub(in crate::dashboards) display_mode: &'static str,
    pub(in crate::dashboards) placement: &'static str,
    pub(in crate::dashboards) show_legend: bool,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct Tooltip {
    pub(in crate::dashboards) mode: &'static str,
    pub(in crate::dashboards) sort: &'static str,
}

#[derive(Debug, Serialize)]
pub(in crate::dashboards) struct Reduce {
    pub(in crate::dashboards) calcs: Vec<&'static str>,
    pub(in crate::dashboards) fields: &'static str,
    pub(in crate::dashboards) values: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dashboards) struct SortBy {
    pub(in crate::dashboards) desc: bool,
    pub(in crate::dashboards) display_name: &'static str,
}

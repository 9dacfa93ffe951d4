//! The panels of the board: a frame each, and how it is shown.

use serde_json::{Value, json};

use super::frame::Frame;

/// A panel that has no place yet.
#[derive(Debug)]
pub(super) struct Draft {
    kind: &'static str,
    title: &'static str,
    description: String,
    frame: Frame,
    options: Value,
    custom: Value,
    overrides: Vec<Value>,
}

const WITHOUT: &str = "Not recorded: see the notes of the JSON report";

fn draft(
    kind: &'static str,
    title: &'static str,
    description: &'static str,
    frame: Frame,
    options: Value,
) -> Draft {
    let description = description.to_owned();
    Draft { kind, title, description, frame, options, custom: json!({}), overrides: Vec::new() }
}

fn reduced(all: bool) -> Value {
    json!({"calcs": ["lastNotNull"], "fields": "", "values": all})
}

/// One number.
pub(super) fn stat(title: &'static str, description: &'static str, frame: Frame) -> Draft {
    let options = json!({
        "colorMode": "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto",
        "percentChangeColorMode": "standard", "reduceOptions": reduced(false), "showPercentChange": false,
        "textMode": "value", "wideLayout": true,
    });
    draft("stat", title, description, frame, options)
}

/// Rows as they are.
pub(super) fn table(title: &'static str, description: &'static str, frame: Frame) -> Draft {
    let options = json!({"cellHeight": "sm", "enablePagination": true, "frameIndex": 0, "showHeader": true, "sortBy": []});
    let custom =
        json!({"align": "auto", "cellOptions": {"type": "auto"}, "filterable": true, "inspect": true});
    // A cell without a value is not a panel without data.
    let empty = json!({"matcher": {"id": "byRegexp", "options": "/.*/"}, "properties": [{"id": "noValue", "value": "–"}]});
    Draft { custom, overrides: vec![empty], ..draft("table", title, description, frame, options) }
}

/// Lines over step numbers, which are the first field.
pub(super) fn trend(title: &'static str, description: &'static str, frame: Frame) -> Draft {
    let options = json!({
        "legend": {"calcs": ["mean", "max"], "displayMode": "list", "placement": "bottom", "showLegend": true},
        "tooltip": {"mode": "multi", "sort": "none"}, "xField": "Step",
    });
    let custom = json!({"drawStyle": "line", "fillOpacity": 0, "lineWidth": 1, "showPoints": "never", "spanNulls": true});
    Draft { custom, ..draft("trend", title, description, frame, options) }
}

/// A bar for each row.
pub(super) fn bars(title: &'static str, description: &'static str, frame: Frame) -> Draft {
    let options = json!({
        "displayMode": "gradient",
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": false},
        "maxVizHeight": 300, "minVizHeight": 16, "minVizWidth": 8, "namePlacement": "auto",
        "orientation": "horizontal", "reduceOptions": reduced(true), "showUnfilled": true, "sizing": "auto",
        "valueMode": "color",
    });
    draft("bargauge", title, description, frame, options)
}

/// The tree of sections.
pub(super) fn flames(title: &'static str, description: &'static str, frame: Frame) -> Draft {
    draft("flamegraph", title, description, frame, json!({}))
}

impl Draft {
    pub(super) fn described(self, description: String) -> Self {
        Self { description, ..self }
    }

    pub(super) fn placed(self, id: usize, place: Value) -> Value {
        let source = json!({"type": "datasource", "uid": "grafana"});
        json!({
            "datasource": source,
            "description": self.description,
            "fieldConfig": {
                "defaults": {
                    "color": {"mode": "palette-classic"},
                    "custom": self.custom,
                    "noValue": WITHOUT,
                },
                "overrides": self.overrides,
            },
            "gridPos": place,
            "id": id,
            "options": self.options,
            "targets": [{
                "datasource": source, "queryType": "snapshot", "refId": "A", "snapshot": [self.frame.into_json()],
            }],
            "title": self.title,
            "type": self.kind,
        })
    }
}

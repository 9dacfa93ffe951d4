//! Panels as the boards write them down: a title, a sentence, a unit, what is said where nothing is there, queries. The
//! looks are the same everywhere and live here.

pub(super) use super::column::{has_link, has_texts, has_unit, is_severity, is_whole_on_click, is_wide};
use super::model::{
    CellOptions, Color, Custom, DataLink, DataSource, Defaults, FieldConfig, Legend, Matcher, Options,
    Override, Panel, Place, Property, Reduce, SortBy, Stacking, Target, Threshold, Thresholds, Tooltip,
    Transformation,
};
use super::query::Expression;
pub(super) use super::unit;

/// The source of all figures: whichever the variable names.
pub(super) const PROMETHEUS: DataSource = DataSource { kind: "prometheus", uid: "${datasource}" };

/// A panel that is being written down; the board gives it its place.
#[derive(Debug)]
pub(super) struct Draft {
    title: &'static str,
    description: &'static str,
    kind: &'static str,
    unit: &'static str,
    no_value: &'static str,
    options: Options,
    custom: Option<Custom>,
    color: &'static str,
    targets: Vec<Target>,
    links: Vec<DataLink>,
    overrides: Vec<Override>,
    transformations: Vec<Transformation>,
    thresholds: Vec<Threshold>,
    range: (Option<f64>, Option<f64>),
    table: bool,
}

const THRESHOLDS: &str = "thresholds";
const PALETTE: &str = "palette-classic";
/// Changes the column of this name.
const BY_NAME: &str = "byName";

fn reduce(calcs: &'static str) -> Reduce {
    Reduce { calcs: vec![calcs], fields: "", values: false }
}

fn draft(kind: &'static str, title: &'static str, description: &'static str, options: Options) -> Draft {
    Draft {
        title,
        description,
        kind,
        unit: unit::COUNT,
        no_value: "",
        options,
        custom: None,
        color: PALETTE,
        targets: Vec::new(),
        links: Vec::new(),
        overrides: Vec::new(),
        transformations: Vec::new(),
        thresholds: Vec::new(),
        range: (None, None),
        table: false,
    }
}

/// Lines over time.
pub(super) fn timeseries(title: &'static str, description: &'static str) -> Draft {
    let legend = Legend {
        calcs: vec!["mean", "max", "lastNotNull"],
        display_mode: "table",
        placement: "bottom",
        show_legend: true,
    };
    let options = Options::Timeseries { legend, tooltip: Tooltip { mode: "multi", sort: "desc" } };
    Draft { custom: Some(lines("none", 0)), ..draft("timeseries", title, description, options) }
}

/// Areas over time that add up.
pub(super) fn stacked(title: &'static str, description: &'static str) -> Draft {
    Draft { custom: Some(lines("normal", 40)), ..timeseries(title, description) }
}

fn lines(stacking: &'static str, fill_opacity: u8) -> Custom {
    Custom::Timeseries {
        draw_style: "line",
        fill_opacity,
        line_width: 1,
        show_points: "auto",
        span_nulls: false,
        stacking: Stacking { group: "A", mode: stacking },
    }
}

/// One number, with its course behind it.
pub(super) fn stat(title: &'static str, description: &'static str) -> Draft {
    let options = Options::Stat {
        color_mode: "value",
        graph_mode: "area",
        justify_mode: "auto",
        orientation: "auto",
        percent_change_color_mode: "standard",
        reduce_options: reduce("lastNotNull"),
        show_percent_change: false,
        text_mode: "auto",
        wide_layout: true,
    };
    Draft { color: THRESHOLDS, ..draft("stat", title, description, options) }
}

/// A bar for each of several.
pub(super) fn bars(title: &'static str, description: &'static str) -> Draft {
    let legend = Legend { calcs: Vec::new(), display_mode: "list", placement: "bottom", show_legend: false };
    let options = Options::BarGauge {
        display_mode: "gradient",
        legend,
        max_viz_height: 300,
        min_viz_height: 16,
        min_viz_width: 8,
        name_placement: "auto",
        orientation: "horizontal",
        reduce_options: reduce("lastNotNull"),
        show_unfilled: true,
        sizing: "auto",
        value_mode: "color",
    };
    Draft { color: THRESHOLDS, ..draft("bargauge", title, description, options) }
}

/// Rows of labels and values, sorted by a column.
pub(super) fn table(title: &'static str, description: &'static str, sorted_by: &'static str) -> Draft {
    let options = Options::Table {
        cell_height: "sm",
        enable_pagination: true,
        frame_index: 0,
        show_header: true,
        sort_by: vec![SortBy { desc: true, display_name: sorted_by }],
    };
    let custom = Custom::Table {
        align: "auto",
        cell_options: CellOptions { kind: "auto" },
        filterable: true,
        inspect: false,
    };
    // A cell that has nothing to say is not a panel without data.
    let empty = Override {
        matcher: Matcher { id: "byRegexp", options: "/.*/".to_owned() },
        properties: vec![Property { id: "noValue", value: "–".into() }],
    };
    Draft {
        custom: Some(custom),
        color: THRESHOLDS,
        overrides: vec![empty],
        table: true,
        transformations: vec![Transformation { id: "merge", options: serde_json::json!({}) }],
        ..draft("table", title, description, options)
    }
}

/// Markdown.
pub(super) fn text(title: &'static str, description: &'static str, content: impl Into<String>) -> Draft {
    draft("text", title, description, Options::Text { content: content.into(), mode: "markdown" })
}

impl Draft {
    pub(super) fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// What is shown where nothing is there: what to switch on.
    pub(super) fn without(self, no_value: &'static str) -> Self {
        Self { no_value, ..self }
    }

    /// One query more; the legend is a text with `{{label}}`s.
    pub(super) fn query(mut self, expression: &Expression, legend: &str) -> Self {
        let letter = u8::try_from(self.targets.len()).map_or('Z', |index| char::from(b'A' + index.min(25)));
        let is_instant = self.table || matches!(self.options, Options::BarGauge { .. });
        self.targets.push(Target {
            datasource: PROMETHEUS,
            editor_mode: "code",
            exemplar: false,
            expr: expression.text().to_owned(),
            format: if self.table { "table" } else { "time_series" },
            instant: is_instant,
            legend_format: legend.to_owned(),
            range: !is_instant,
            ref_id: letter.to_string(),
        });
        self
    }

    /// Shows the traces that single points of the last query come from.
    pub(super) fn with_exemplars(mut self) -> Self {
        if let Some(target) = self.targets.last_mut() {
            target.exemplar = true;
        }
        self
    }

    pub(super) fn link(mut self, title: &'static str, url: String) -> Self {
        self.links.push(DataLink { target_blank: true, title, url });
        self
    }

    /// The axis begins at 0.
    pub(super) fn zero_based(mut self) -> Self {
        self.range.0 = Some(0.0);
        self
    }

    /// Values from 0 to 1.
    pub(super) fn share(mut self) -> Self {
        self.range = (Some(0.0), Some(1.0));
        self.unit(unit::SHARE)
    }

    /// Colours from these values on; green below.
    pub(super) fn colors(mut self, warning: f64, critical: f64) -> Self {
        let step = |color, value| Threshold { color, value };
        self.thresholds =
            vec![step("green", None), step("orange", Some(warning)), step("red", Some(critical))];
        self
    }

    /// Changes what a column of a table is: its name, its unit, texts for its values.
    pub(super) fn column(mut self, label: &str, name: &str, properties: Vec<Property>) -> Self {
        let renamed = Property { id: "displayName", value: name.into() };
        self.overrides.push(Override {
            matcher: Matcher { id: BY_NAME, options: label.to_owned() },
            properties: std::iter::once(renamed).chain(properties).collect(),
        });
        self
    }

    /// Rows that are equal in what sorts the table are sorted by this, the largest first.
    pub(super) fn then_by(mut self, display_name: &'static str) -> Self {
        if let Options::Table { sort_by, .. } = &mut self.options {
            sort_by.push(SortBy { desc: true, display_name });
        }
        self
    }

    /// Leaves columns of a table out; the others stand in the order in which they were written down, not by their names.
    pub(super) fn hiding(mut self, columns: &[&str]) -> Self {
        let excluded: serde_json::Map<String, serde_json::Value> =
            columns.iter().map(|column| ((*column).to_owned(), true.into())).collect();
        let named = self.overrides.iter().filter(|change| change.matcher.id == BY_NAME);
        let places: serde_json::Map<String, serde_json::Value> =
            named.zip(0..).map(|(change, place)| (change.matcher.options.clone(), place.into())).collect();
        let options = serde_json::json!({
            "excludeByName": excluded, "includeByName": {}, "indexByName": places, "renameByName": {}
        });
        self.transformations.push(Transformation { id: "organize", options });
        self
    }

    /// The panel at its place.
    pub(super) fn placed(self, id: u32, grid_pos: Place) -> Panel {
        let steps = if self.thresholds.is_empty() {
            vec![Threshold { color: "green", value: None }]
        } else {
            self.thresholds
        };
        let defaults = if self.targets.is_empty() {
            Defaults::default()
        } else {
            Defaults {
                color: Some(Color { mode: self.color }),
                custom: self.custom,
                links: self.links,
                max: self.range.1,
                min: self.range.0,
                no_value: Some(self.no_value.to_owned()),
                thresholds: Some(Thresholds { mode: "absolute", steps }),
                unit: Some(self.unit),
            }
        };
        Panel {
            datasource: (!self.targets.is_empty()).then_some(PROMETHEUS),
            description: self.description.to_owned(),
            field_config: FieldConfig { defaults, overrides: self.overrides },
            grid_pos,
            id,
            options: self.options,
            targets: self.targets,
            title: self.title.to_owned(),
            transformations: self.transformations,
            kind: self.kind,
        }
    }
}

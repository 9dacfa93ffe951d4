//! What all boards have in common: the flow of panels on the grid, variables, marks, links between boards and into traces.

use stepscope_core::{Phase, SectionKind, attr, metric};

pub(super) use super::links::{row_in_jaeger, row_on_training, run_in_jaeger, step_in_jaeger};
use super::model::{
    Annotation, Choice, Dashboard, DashboardLink, DataSource, List, Panel, Place, SCHEMA_VERSION, TimeRange,
    Variable, VariableQuery,
};
use super::panel::{Draft, PROMETHEUS};
use super::query::{Expression, hosts, label, of, runs};

/// Columns of the grid.
const COLUMNS: u32 = 24;
/// All boards, for the links between them.
const TAG: &str = "stepscope";

/// What stands in panels without data.
pub(super) mod without {
    pub(in super::super) const STEPS: &str =
        "No steps: start the program with stepscope::init, mark steps, and set OTEL_EXPORTER_OTLP_ENDPOINT";
    pub(in super::super) const GAUGES: &str = "Nothing: build stepscope with the feature `metrics` and set STEPSCOPE_METRICS_ADDR or an OTLP endpoint";
    pub(in super::super) const MACHINE: &str =
        "Nothing: run `stepscope monitor` on the machine, or the program with the feature `metrics`";
    pub(in super::super) const GPU: &str = "No GPU: run `stepscope monitor` where the NVIDIA driver is, or the program with the feature `metrics`";
    pub(in super::super) const UNITS: &str =
        "Not counted: GPUs from Hopper on tell the activity of their units, others do not";
    pub(in super::super) const ERRORS: &str = "None reported, or the driver does not tell";
    pub(in super::super) const ALLOCATIONS: &str =
        "Not counted: make stepscope::Alloc the program's global allocator";
    pub(in super::super) const ALLOCATOR: &str =
        "Nothing: build the metrics of the allocator that the program uses (jemalloc, mimalloc, glibc)";
    pub(in super::super) const CONTAINER: &str = "No container, or no limit is set for it";
    pub(in super::super) const FINDINGS: &str =
        "No findings: run `stepscope analyze --push` after a run, or widen the time range";
    pub(in super::super) const PUSHED: &str =
        "Nothing was pushed: run `stepscope analyze --push` after a run, or widen the time range";
    pub(in super::super) const VALUES: &str = "No values: record loss and others by value!";
    pub(in super::super) const SAMPLES: &str = "No samples: tell how many a step has, by the field `samples`";
    pub(in super::super) const COMMUNICATION: &str =
        "No section has the phase `communication`: mark collectives with it";
    pub(in super::super) const PRESSURE: &str = "No pressure files: the kernel needs CONFIG_PSI";
    pub(in super::super) const ENERGY: &str =
        "Not readable: energy of processors needs the right to read /sys/class/powercap";
}

/// A board that is being put together.
pub(super) struct Board {
    uid: &'static str,
    title: &'static str,
    description: &'static str,
    variables: Vec<Variable>,
    panels: Vec<Panel>,
    /// The first free row of the grid.
    y: u32,
}

impl Board {
    pub(super) fn new(uid: &'static str, title: &'static str, description: &'static str) -> Self {
        Self { uid, title, description, variables: vec![source(), jaeger()], panels: Vec::new(), y: 0 }
    }

    pub(super) fn with(mut self, variable: Variable) -> Self {
        let position = self.variables.len().saturating_sub(1);
        self.variables.insert(position, variable);
        self
    }

    /// Panels of this height side by side.
    pub(super) fn row<const N: usize>(mut self, height: u32, drafts: [Draft; N]) -> Self {
        let count = u32::try_from(N).unwrap_or(1).max(1);
        for (index, draft) in (0..).zip(drafts) {
            let (left, right) = (COLUMNS * index / count, COLUMNS * (index + 1) / count);
            let place = Place { h: height, w: right - left, x: left, y: self.y };
            let id = u32::try_from(self.panels.len()).unwrap_or(u32::MAX).saturating_add(1);
            self.panels.push(draft.placed(id, place));
        }
        self.y += height;
        self
    }

    pub(super) fn finish(self, annotations: Vec<Annotation>) -> Dashboard {
        Dashboard {
            annotations: List { list: annotations },
            description: self.description.to_owned(),
            editable: true,
            graph_tooltip: 1,
            id: None,
            links: vec![to_boards()],
            panels: self.panels,
            refresh: "30s",
            schema_version: SCHEMA_VERSION,
            tags: vec![TAG],
            templating: List { list: self.variables },
            time: TimeRange { from: "now-6h", to: "now" },
            timezone: "browser",
            title: format!("stepscope / {}", self.title),
            uid: self.uid.to_owned(),
        }
    }
}

/// Where the boards' list leads, with the variables and the time.
fn to_boards() -> DashboardLink {
    DashboardLink {
        as_dropdown: true,
        icon: "external link",
        include_vars: true,
        keep_time: true,
        tags: vec![TAG],
        target_blank: false,
        title: "Boards",
        tooltip: "Other boards, with the same run and time",
        kind: "dashboards",
        url: None,
    }
}

/// Which Prometheus is asked.
fn source() -> Variable {
    Variable {
        all_value: None,
        current: None,
        datasource: None,
        description: "The Prometheus that has the figures",
        include_all: false,
        label: "Data source",
        multi: false,
        name: "datasource",
        query: VariableQuery::Text("prometheus".into()),
        refresh: 1,
        sort: 0,
        kind: "datasource",
    }
}

/// Where links into traces lead.
fn jaeger() -> Variable {
    let usual = "http://localhost:16686";
    Variable {
        all_value: None,
        current: Some(Choice { selected: true, text: usual, value: usual }),
        datasource: None,
        description: "Address of Jaeger, for the links to traces",
        include_all: false,
        label: "Jaeger",
        multi: false,
        name: "jaeger",
        query: VariableQuery::Text(usual.into()),
        refresh: 0,
        sort: 0,
        kind: "textbox",
    }
}

/// Values of a label of a metric.
fn values(
    name: &'static str,
    shown: &'static str,
    description: &'static str,
    from: &str,
    key: &str,
) -> Variable {
    const PROMETHEUS_SOURCE: DataSource = PROMETHEUS;
    Variable {
        all_value: Some(".*"),
        current: Some(Choice { selected: true, text: "All", value: "$__all" }),
        datasource: Some(PROMETHEUS_SOURCE),
        description,
        include_all: true,
        label: shown,
        multi: true,
        name,
        // 1: values of a label.
        query: VariableQuery::Values {
            qry_type: 1,
            query: format!("label_values({from}, {})", label(key)),
            ref_id: "PrometheusVariableQueryEditor-VariableQuery",
        },
        refresh: 2,
        sort: 1,
        kind: "query",
    }
}

/// Runs that were alive in the time range.
pub(super) fn run() -> Variable {
    values("run", "Run", "Runs that recorded in the time range", runs(".*").text(), attr::RUN_ID)
}

/// Hosts of the run. All of them is a list, so that a run narrows what has no run itself.
pub(super) fn host() -> Variable {
    let all = values("host", "Host", "Hosts of the run", &hosts("$run"), attr::HOST_NAME);
    Variable { all_value: None, ..all }
}

pub(super) fn rank() -> Variable {
    values("rank", "Rank", "Ranks of the run", runs("$run").text(), attr::RANK)
}

/// GPUs, by their names on their hosts.
pub(super) fn device() -> Variable {
    let memory = of(&metric::device::row::GPU_MEMORY_LIMIT).now();
    let all = values("device", "GPU", "GPUs of the hosts", memory.text(), attr::HW_NAME);
    // All of them is a list, too: processors and sensors have such names as well.
    Variable { all_value: None, ..all }
}

/// One run whose summary was pushed.
pub(super) fn pushed_run(name: &'static str, shown: &'static str, description: &'static str) -> Variable {
    let from = of(&metric::run::row::RUN_STARTED).now();
    let all = values(name, shown, description, from.text(), attr::RUN_ID);
    Variable { all_value: None, current: None, include_all: false, multi: false, sort: 2, ..all }
}

/// All runs whose summary was pushed, which need not have published gauges.
pub(super) fn pushed_runs() -> Variable {
    let from = of(&metric::run::row::RUN_FINDINGS).now();
    values("run", "Run", "Runs whose analysis was pushed in the time range", from.text(), attr::RUN_ID)
}

fn mark(
    name: &'static str,
    color: &'static str,
    expression: &Expression,
    keys: &[&str],
    text: &str,
) -> Annotation {
    Annotation {
        datasource: PROMETHEUS,
        enable: true,
        expr: expression.text().to_owned(),
        icon_color: color,
        name,
        step: "15s",
        tag_keys: keys.iter().map(|key| label(key)).collect::<Vec<_>>().join(","),
        text_format: text.to_owned(),
        title_format: name.to_owned(),
    }
}

/// Marks for what ended, fires or was found.
pub(super) fn marks() -> Vec<Annotation> {
    let run = label(attr::RUN_ID);
    let ended = |series: super::query::Series| {
        series.now().windowed("increase", "1m").of_run().sum(&[attr::RUN_ID]).with(">", "0")
    };
    let sections = || of(&metric::row::SECTION_COUNT);
    let epochs = ended(sections().is(attr::SECTION_KIND, SectionKind::Epoch.as_str()));
    let checkpoints = ended(sections().is(attr::PHASE, Phase::Checkpoint.as_str()));
    let alerts = of(&metric::program::row::ALERT_FIRING).now().of_host().with("==", "1");
    let findings = of(&metric::run::row::FINDING_SEVERITY).like(attr::RUN_ID, "$run").now();
    let rule = label(attr::FINDING_RULE);
    vec![
        mark("Epoch ended", "blue", &epochs, &[attr::RUN_ID], &format!("{{{{{run}}}}}")),
        mark("Checkpoint", "purple", &checkpoints, &[attr::RUN_ID], &format!("{{{{{run}}}}}")),
        mark(
            "Alert",
            "red",
            &alerts,
            &[attr::ALERT_RULE, attr::HOST_NAME],
            &format!("{{{{{}}}}}", label(attr::ALERT_RULE)),
        ),
        mark(
            "Finding",
            "orange",
            &findings,
            &[attr::FINDING_RULE, attr::RUN_ID],
            &format!("{{{{{rule}}}}} in {{{{{run}}}}}"),
        ),
    ]
}

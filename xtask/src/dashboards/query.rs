//! PromQL from the rows of the metric table: a name that changes there changes here, and one that goes away does not
//! compile. What is asked for is in `boards`; that all of it parses is tested in `tests`.

use stepscope_core::vocabulary::Metric;
use stepscope_core::{SectionKind, attr, metric, prometheus};

/// Labels that every series has: the service and the process.
const IDENTITY: &str = "job, instance";
/// The service, of these.
pub(super) const JOB: &str = "job";
/// The process, of these.
pub(super) const INSTANCE: &str = "instance";
/// What tells processes apart, with what links need.
pub(super) const PROCESS: [&str; 3] = [JOB, attr::RUN_ID, attr::RANK];
/// The attributes of a resource, as Prometheus has them beside all its series: of programs that have no run, too.
const TARGET_INFO: &str = "target_info";

/// Series that tell the hosts of the runs that a variable chooses; of all runs, those on which only `stepscope monitor` is, too.
pub(super) fn hosts(variable: &str) -> String {
    let info = prometheus::sample(&metric::run::row::RUN_INFO);
    format!("{{__name__=~\"{TARGET_INFO}|{info}\", {}=~\"{variable}\"}}", label(attr::RUN_ID))
}

/// The window of rates: Grafana's, which knows how often is scraped.
pub(super) const RATE: &str = "$__rate_interval";
/// The time range of the board.
pub(super) const RANGE: &str = "$__range";

/// An attribute as a label.
pub(super) fn label(key: &str) -> String {
    prometheus::sanitized(key)
}

/// Attributes as labels, commas between them.
pub(super) fn labels(keys: &[&str]) -> String {
    keys.iter().map(|key| label(key)).collect::<Vec<_>>().join(", ")
}

/// What tells a process' run, rank and host, of a run that a variable chooses.
pub(super) fn runs(variable: &str) -> Expression {
    of(&metric::run::row::RUN_INFO).like(attr::RUN_ID, variable).now()
}

/// What the collector's connector `span_metrics` counts of spans, as collector-config has it.
pub(super) const SPANS: &str = "stepscope.spans";

/// A quantile of the durations of steps' spans, by rank: the only points that lead to traces. What they are of is not told apart
/// by run.
pub(super) fn of_step_spans(quantile: &str) -> Expression {
    let (kind, rank) = (label(attr::SECTION_KIND), label(attr::RANK));
    Expression(format!(
        "histogram_quantile({quantile}, sum by (le, {rank}) (rate({}_duration_seconds_bucket{{{kind}=\"{}\", \
         {rank}=~\"$rank\"}}[{RATE}])))",
        label(SPANS),
        SectionKind::Step
    ))
    .numbers()
}

/// Series of a metric.
#[derive(Debug, Clone)]
pub(super) struct Series {
    row: &'static Metric,
    matchers: Vec<String>,
}

/// All series of a metric.
pub(super) fn of(row: &'static Metric) -> Series {
    Series { row, matchers: Vec::new() }
}

impl Series {
    /// Those whose attribute is this.
    pub(super) fn is(self, key: &str, value: &str) -> Self {
        self.matching(key, "=", value)
    }

    /// Those whose attribute is one of these, or what a variable is.
    pub(super) fn like(self, key: &str, pattern: &str) -> Self {
        self.matching(key, "=~", pattern)
    }

    /// Those whose attribute is none of these.
    pub(super) fn unlike(self, key: &str, pattern: &str) -> Self {
        self.matching(key, "!~", pattern)
    }

    /// Whether its points have this attribute.
    pub(super) fn has(&self, key: &str) -> bool {
        self.row.attributes.contains(&key)
    }

    fn matching(mut self, key: &str, operator: &str, value: &str) -> Self {
        let matcher = if self.has(key) {
            format!("{}{operator}\"{value}\"", label(key))
        } else {
            // Parses nowhere, so that the tests find it.
            format!("[{} has no {key}]", self.row.name)
        };
        self.matchers.push(matcher);
        self
    }

    /// The latest values.
    pub(super) fn now(&self) -> Expression {
        let name = prometheus::sample(self.row);
        Expression(match &self.matchers[..] {
            [] => name,
            matchers => format!("{name}{{{}}}", matchers.join(", ")),
        })
    }

    /// Growth a second.
    pub(super) fn rate(&self) -> Expression {
        self.now().windowed("rate", RATE)
    }

    /// Growth in the board's time range of a counter that is not there before it counts: from nothing on, where `increase`
    /// begins at the first value.
    pub(super) fn grown(&self) -> Expression {
        let (last, before) = (self.last(), Expression(format!("{} offset {RANGE}", self.now().0)));
        Expression(format!("({last} - ({before} or {last} * 0))", last = last.0, before = before.0))
    }

    /// The last value of the board's time range: of gauges that are pushed once.
    pub(super) fn last(&self) -> Expression {
        self.now().windowed("last_over_time", RANGE)
    }
}

/// An expression of PromQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression(String);

impl Expression {
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn windowed(&self, function: &str, window: &str) -> Self {
        Self(format!("{function}({}[{window}])", self.0))
    }

    /// Of the processes that the variables choose, with the run, the rank and the host of each.
    pub(super) fn of_run(&self) -> Self {
        let told = labels(&[attr::RUN_ID, attr::RANK, attr::HOST_NAME]);
        self.joined(&told, Self::chosen().text())
    }

    /// Of these processes, without that: histograms, which older versions of Prometheus do not multiply.
    pub(super) fn among_runs(&self) -> Self {
        Self(format!("{} and on ({IDENTITY}) {}", self.0, Self::chosen().text()))
    }

    /// The processes that the variables choose.
    fn chosen() -> Self {
        let info = of(&metric::run::row::RUN_INFO);
        info.like(attr::RUN_ID, "$run").like(attr::HOST_NAME, "$host").like(attr::RANK, "$rank").now()
    }

    /// Of the hosts that the variable chooses, whoever reads their figures.
    pub(super) fn of_host(&self) -> Self {
        let host = label(attr::HOST_NAME);
        self.joined(&host, &format!("{TARGET_INFO}{{{host}=~\"$host\"}}"))
    }

    /// One of several in a row is taken: a process has one run and one host. What looks back over the board's time range
    /// has processes that are gone, hence what tells of them has to.
    fn joined(&self, told: &str, info: &str) -> Self {
        let is_of_range = self.0.contains(&format!("[{RANGE}]"));
        let info = if is_of_range { format!("last_over_time({info}[{RANGE}])") } else { info.to_owned() };
        Self(format!("{} * on ({IDENTITY}) group_left ({told}) topk by ({IDENTITY}) (1, {info})", self.0))
    }

    pub(super) fn sum(&self, by: &[&str]) -> Self {
        self.aggregated("sum", by)
    }

    pub(super) fn max(&self, by: &[&str]) -> Self {
        self.aggregated("max", by)
    }

    pub(super) fn min(&self, by: &[&str]) -> Self {
        self.aggregated("min", by)
    }

    pub(super) fn average(&self, by: &[&str]) -> Self {
        self.aggregated("avg", by)
    }

    pub(super) fn count(&self, by: &[&str]) -> Self {
        self.aggregated("count", by)
    }

    fn aggregated(&self, operator: &str, by: &[&str]) -> Self {
        Self(match by {
            [] => format!("{operator}({})", self.0),
            _ => format!("{operator} by ({}) ({})", labels(by), self.0),
        })
    }

    /// The greatest `count` of them.
    pub(super) fn top(&self, count: u32) -> Self {
        Self(format!("topk({count}, {})", self.0))
    }

    /// A quantile of native histograms.
    pub(super) fn quantile(&self, quantile: &str) -> Self {
        Self(format!("histogram_quantile({quantile}, {})", self.0)).numbers()
    }

    /// What is not below 0, where nothing can be, without what is no number: a plot that begins with such a point stays empty.
    pub(super) fn numbers(&self) -> Self {
        self.with(">=", "0")
    }

    /// The only value of this, which has no labels to match.
    pub(super) fn scalar(&self) -> Self {
        Self(format!("scalar({})", self.0))
    }

    /// Both sides with the same labels.
    pub(super) fn by(&self, operator: &str, other: &Self) -> Self {
        Self(format!("({}) {operator} ({})", self.0, other.0))
    }

    /// Both sides with these labels in common.
    pub(super) fn by_on(&self, operator: &str, keys: &[&str], other: &Self) -> Self {
        Self(format!("({}) {operator} on ({}) ({})", self.0, labels(keys), other.0))
    }

    /// The left side's labels stay; the other has the fewer series.
    pub(super) fn many_on(&self, operator: &str, keys: &[&str], other: &Self) -> Self {
        Self(format!("({}) {operator} on ({}) group_left () ({})", self.0, labels(keys), other.0))
    }

    /// What this is, else what the other is.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self(format!("({}) or ({})", self.0, other.0))
    }

    /// With a constant.
    pub(super) fn with(&self, operator: &str, number: &str) -> Self {
        Self(format!("({}) {operator} {number}", self.0))
    }

    /// With these words where the label is missing: a legend would show the label's own name.
    pub(super) fn with_words(&self, key: &str, words: &str) -> Self {
        let name = label(key);
        Self(format!("label_replace({}, \"{name}\", \"{words}\", \"{name}\", \"\")", self.0))
    }

    /// With a label more, a copy of another.
    pub(super) fn with_copy(&self, name: &str, key: &str) -> Self {
        Self(format!("label_replace({}, \"{name}\", \"$1\", \"{}\", \"(.*)\")", self.0, label(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_core::metric::host::row;

    #[test]
    fn names_and_labels_are_prometheus() {
        let busy = of(&row::CPU_UTILIZATION).unlike(attr::CPU_MODE, "idle|iowait").now();
        assert_eq!(busy.text(), "system_cpu_utilization_ratio{cpu_mode!~\"idle|iowait\"}");
        assert_eq!(
            of(&row::DISK_IO).rate().sum(&[attr::DISK_IO_DIRECTION]).text(),
            "sum by (disk_io_direction) (rate(system_disk_io_bytes_total[$__rate_interval]))"
        );
        let of_host = of(&row::UPTIME).now().of_host();
        assert_eq!(
            of_host.text(),
            "system_uptime_seconds * on (job, instance) group_left (host_name) \
             topk by (job, instance) (1, target_info{host_name=~\"$host\"})"
        );
    }

    #[test]
    fn what_looks_back_joins_what_was() {
        let last = of(&row::UPTIME).last().of_host();
        assert!(
            last.text().ends_with("(1, last_over_time(target_info{host_name=~\"$host\"}[$__range]))"),
            "{last:?}"
        );
    }

    #[test]
    fn an_attribute_that_a_metric_lacks_parses_nowhere() {
        let wrong = of(&row::UPTIME).is(attr::CPU_MODE, "idle").now();
        assert!(promql_parser::parser::parse(wrong.text()).is_err());
    }
}

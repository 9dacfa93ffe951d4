//! `--push`: what a report says, to the collector that `OTEL_*` names: gauges of the run, its findings and its largest
//! sections, and a log record a finding. Pushing the same report again changes nothing. Where things go is in `target`, how
//! they get there in `post`, what is in them in `gauges` and `records`.

mod gauges;
mod post;
mod records;
mod target;

use std::borrow::Cow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use stepscope_analyze::report::Report;
use stepscope_analyze::report::units::things;
use stepscope_core::attr;

use crate::environment::{ENDPOINT, SIGNAL_ENDPOINTS};
use post::Body;
use target::{Signal, Target};

/// The instance that reports are of, behind the name of the run.
const INSTANCE: &str = "report";

/// Sends what the report says; the sentence says what was sent and where to. `place` is where it was written.
///
/// # Errors
/// What went wrong, with the address.
pub(crate) fn push(
    report: &Report,
    place: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let Some(run) = report.run.id.as_deref() else {
        return Err(
            "nothing was pushed: the input names no run, so nobody could tell its figures from others'"
                .into(),
        );
    };
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| {
        // Until the year 2554.
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    });
    let mut sent = Vec::new();
    if let Some(target) = Target::of(Signal::Metrics, variable)? {
        let (message, points) = gauges::message(report, run, place, now_ns);
        post::post(&target, &Body::Protobuf(message))?;
        sent.push(format!("{} to {}", things(points, "figure", "figures"), target.url));
    }
    // A request without records would say nothing.
    if let Some(target) = Target::of(Signal::Logs, variable)?.filter(|_| !report.findings.is_empty()) {
        post::post(&target, &Body::Json(records::message(report, run, now_ns)?))?;
        let findings = things(report.findings.len() as u64, "finding", "findings");
        sent.push(format!("{findings} to {}", target.url));
    }
    match &sent[..] {
        [] => Ok("Nothing pushed: OTEL_METRICS_EXPORTER and OTEL_LOGS_EXPORTER are `none`".into()),
        sent => Ok(format!("Pushed {}", sent.join(" and "))),
    }
}

/// Whether the environment says where to.
pub(crate) fn is_configured(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let [_, metrics, logs] = SIGNAL_ENDPOINTS;
    [ENDPOINT, metrics, logs].into_iter().any(|name| variable(name).is_some())
}

/// A variable of the environment; one without a value is none.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Attributes of the resource, of both signals.
fn resource<'r>(report: &'r Report, run: &'r str) -> Vec<(&'static str, Cow<'r, str>)> {
    let service = report.run.service.as_deref().unwrap_or(env!("CARGO_BIN_NAME"));
    let mut attributes: Vec<(&'static str, Cow<'r, str>)> = vec![
        (attr::SERVICE_NAME, service.into()),
        (attr::SERVICE_INSTANCE_ID, format!("{run}-{INSTANCE}").into()),
        (attr::RUN_ID, run.into()),
    ];
    attributes.extend(report.run.host.as_deref().map(|host| (attr::HOST_NAME, host.into())));
    attributes
}

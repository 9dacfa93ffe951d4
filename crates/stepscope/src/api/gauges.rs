//! The gauges of `stepscope-metrics` beside a run: in its directory unless that is switched off, at the endpoint, and for scrapes
//! where the environment asks for them. The machine's and its devices' come from local rank 0, the process' from every rank. What
//! is read runs on threads of its own, and the end waits for none that is stuck.

mod longest_calls;
mod program;

use std::sync::Arc;

use stepscope_core::attr;
use stepscope_metrics::Metrics;
use stepscope_metrics::alerts::Alerts;

use crate::config::gauges::Gauges;
use crate::hot::recorder::Recorder;
use crate::os::clock::now_ns;
use crate::os::diagnostics::print_diagnostic;
use crate::os::{memory, sys};
use crate::shared::gauges::{AlertChange, Feed};
use program::ProgramWatch;

/// Variables that say which process of a machine this is.
const LOCAL_RANK: &[&str] = &[
    "LOCAL_RANK",
    "SLURM_LOCALID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "RAY_TRAIN_LOCAL_RANK",
];

/// Starts what is asked for; what cannot be done is said, and the run goes on without.
pub(crate) fn start(recorder: &Arc<Recorder>) -> Option<Metrics> {
    let Gauges { address, allow_remote, sends, keeps, .. } = recorder.config.gauges;
    let is_sent = sends && recorder.config.otlp.is_set();
    let is_kept = keeps && recorder.config.directory.is_some();
    if address.is_none() && !is_sent && !is_kept {
        return None;
    }
    let local_rank = local_rank(|name| std::env::var(name).ok());
    let identity = &recorder.identity;
    let program = ProgramWatch::new(recorder);
    let builder = Metrics::builder()
        .host(local_rank == 0)
        .alerts(alerts(recorder, local_rank == 0))
        .allow_remote(allow_remote)
        .program(move |told| program.tell(told))
        .allocations(memory::allocated_bytes)
        .on_note(|text| print_diagnostic(text))
        .resource(attr::SERVICE_NAME, &*identity.service_name)
        .resource(attr::HOST_NAME, &*identity.host)
        .resource(attr::RUN_ID, &*identity.run_id)
        .resource(attr::RANK, identity.rank.to_string());
    #[cfg(feature = "facade")]
    let builder = builder.install_recorder(recorder.config.gauges.has_facade);
    let with_scrapes = match address {
        Some(mut address) => {
            if address.port() != 0 {
                address.set_port(address.port().saturating_add(local_rank));
            }
            builder.clone().prometheus(address)
        }
        None => builder.clone(),
    };
    let said = |error| print_diagnostic(format!("{error}; the program goes on without its gauges there"));
    let metrics = match sys::shielded(|| with_scrapes.start()) {
        Ok(metrics) => metrics,
        Err(error) => {
            said(error);
            // Who is sent them, or keeps them, need not go without.
            let others = is_sent || is_kept;
            others.then(|| sys::shielded(|| builder.start()).map_err(said).ok()).flatten()?
        }
    };
    recorder.gauges.begin(Feed { latest: metrics.latest(), is_sent, is_kept });
    Some(metrics)
}

/// Those of the program, and of the machine where that is read. Each change becomes an event of the run.
fn alerts(recorder: &Arc<Recorder>, has_host: bool) -> Alerts {
    let recorder = Arc::clone(recorder);
    let alerts = if has_host { Alerts::default() } else { Alerts::none() };
    alerts.of_program().on_change(move |change| {
        let _own = memory::own_call();
        recorder.gauges.note_alert(AlertChange {
            time_ns: now_ns(),
            rule: change.rule.name,
            severity: change.rule.severity.as_str(),
            is_firing: change.firing,
            value: change.value,
        });
    })
}

fn local_rank(variable: impl Fn(&str) -> Option<String>) -> u16 {
    LOCAL_RANK.iter().find_map(|name| variable(name)?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_rank_is_the_launchers() {
        let of = |variables: &[(&str, &str)]| {
            local_rank(|name| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned())
            })
        };
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[("SLURM_LOCALID", " 3"), ("LOCAL_RANK", "")]), 3);
        assert_eq!(of(&[("LOCAL_RANK", "x"), ("OMPI_COMM_WORLD_LOCAL_RANK", "2")]), 2);
    }
}

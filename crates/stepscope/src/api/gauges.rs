//! The gauges of `stepscope-metrics` beside a run, where the environment asks for them: the machine's and its devices' from
//! local rank 0, the process' from every rank. What is read runs on threads of its own, and the end waits for none that is
//! stuck.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_core::{Mode, Phase, SectionKind, attr};
use stepscope_metrics::Metrics;
use stepscope_metrics::alerts::Alerts;
use stepscope_metrics::snapshot::Steps;

use crate::api::figures::Figures;
use crate::config::gauges::Gauges;
use crate::hot::recorder::Recorder;
use crate::os::diagnostics::print_diagnostic;
use crate::os::{memory, sys};
use crate::shared::lock::lock;

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

/// Figures of steps are taken so often…
const STEPS_EVERY: Duration = Duration::from_secs(5);
/// …and are those of this time.
const STEPS_OF: Duration = Duration::from_secs(60);

/// Starts what is asked for; what cannot be done is said, and the run goes on without.
pub(crate) fn start(recorder: &Arc<Recorder>) -> Option<Metrics> {
    let Gauges { address, allow_remote, sends } = recorder.config.gauges;
    let sends = sends && recorder.config.otlp.is_set();
    if address.is_none() && !sends {
        return None;
    }
    let local_rank = local_rank(|name| std::env::var(name).ok());
    let identity = &recorder.identity;
    let steps = StepWatch { recorder: Arc::clone(recorder), state: Mutex::default() };
    let builder = Metrics::builder()
        .host(local_rank == 0)
        .alerts(if local_rank == 0 { Alerts::default() } else { Alerts::none() })
        .allow_remote(allow_remote)
        .steps(move || steps.look())
        .allocations(memory::allocated_bytes)
        .on_note(|text| print_diagnostic(text))
        .resource(attr::SERVICE_NAME, &*identity.service_name)
        .resource(attr::HOST_NAME, &*identity.host)
        .resource(attr::RUN_ID, &*identity.run_id)
        .resource(attr::RANK, identity.rank.to_string());
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
            // Who is sent them need not go without.
            sends.then(|| sys::shielded(|| builder.start()).map_err(said).ok()).flatten()?
        }
    };
    if sends {
        let _ = recorder.gauges.set(metrics.latest());
    }
    Some(metrics)
}

fn local_rank(variable: impl Fn(&str) -> Option<String>) -> u16 {
    LOCAL_RANK.iter().find_map(|name| variable(name)?.trim().parse().ok()).unwrap_or(0)
}

/// What steps were lately, of the run's figures.
struct StepWatch {
    recorder: Arc<Recorder>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Oldest first; of a little more than the time that is looked at.
    readings: VecDeque<(Instant, Figures)>,
    steps: Steps,
}

impl StepWatch {
    fn look(&self) -> Steps {
        let _own = memory::own_call();
        let mut state = lock(&self.state);
        let State { readings, steps } = &mut *state;
        if readings.back().is_some_and(|(taken, _)| taken.elapsed() < STEPS_EVERY) {
            return *steps;
        }
        let now = Figures::of(&self.recorder);
        while readings.get(1).is_some_and(|(taken, _)| taken.elapsed() >= STEPS_OF) {
            readings.pop_front();
        }
        *steps = readings.front().map_or_else(|| summary(&now), |(_, then)| summary(&now.since(then)));
        readings.push_back((Instant::now(), now));
        *steps
    }
}

/// Absent where no step has ended.
fn summary(figures: &Figures) -> Steps {
    let steps = figures.sections().iter().filter(|section| section.kind == SectionKind::Step);
    let Some(most) = steps.max_by_key(|section| section.count) else { return Steps::default() };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let inside = format!("{}/", most.path);
    let waits = figures.sections().iter().filter(|section| {
        let is_wait = section.phase == Some(Phase::DataWait);
        is_wait && section.path.strip_prefix(&inside).is_some_and(|rest| !rest.is_empty())
    });
    let waited_ns: u64 = waits.map(|section| section.self_busy_ns).sum();
    Steps {
        number: None,
        p50_s: Some(seconds(most.p50_ns)),
        p95_s: Some(seconds(most.p95_ns)),
        sample_rate: figures
            .steps(Mode::Train)
            .samples
            .filter(|_| figures.elapsed() > Duration::ZERO)
            .map(|samples| samples as f64 / figures.elapsed().as_secs_f64()),
        data_wait_share: (most.total_ns > 0).then(|| (waited_ns as f64 / most.total_ns as f64).min(1.0)),
    }
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

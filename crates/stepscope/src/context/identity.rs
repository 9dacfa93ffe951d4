//! Who this process is within the run: run id, attempt, rank, world size, service, host. Sources in order:
//! code, `STEPSCOPE_*`, the trace of the process that started this one, then the launchers' variables (torchelastic, Slurm, MPI/PMI, Ray, Kubeflow).

use stepscope_core::attr;

use crate::context::ids::SpanIds;
use crate::context::propagation::TraceContext;
use crate::context::text::{number_from, percent_decode};
use crate::os::clock;
use crate::os::sys;

/// Attributes that the environment may add to the resource.
const MAX_ATTRIBUTES: usize = 64;

/// The identity of a process of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub run_id: String,
    pub attempt: u64,
    pub rank: u64,
    pub world_size: u64,
    pub service_name: String,
    pub service_version: Option<String>,
    pub host: String,
    pub executable: String,
    /// Where the run was started from, in another process.
    pub caller: TraceContext,
    /// What the environment says of the resource beside all that.
    pub attributes: Vec<(String, String)>,
}

/// What the program says in code; absent fields are looked up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub run_id: Option<String>,
    pub attempt: Option<u64>,
    pub rank: Option<u64>,
    pub world_size: Option<u64>,
    pub service_name: Option<String>,
    /// What a file of settings calls it, where neither code nor the environment does.
    pub configured_name: Option<String>,
    pub service_version: Option<String>,
    /// Of code or of the environment.
    pub caller: TraceContext,
}

/// Our variable that names the run.
const RUN_ID: &str = "STEPSCOPE_RUN_ID";

/// Variables of launchers that name the run, in order. An MPI job is told apart by its scheduler's id.
const LAUNCHED_ID: &[&str] = &[
    TORCHELASTIC_RUN_ID,
    SLURM_JOB_ID,
    "RAY_TRAIN_RUN_ID",
    "RAY_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "OMPI_MCA_ess_base_jobid",
];

const TORCHELASTIC_RUN_ID: &str = "TORCHELASTIC_RUN_ID";
const SLURM_JOB_ID: &str = "SLURM_JOB_ID";

/// The step of a Slurm job, of which each `srun` is one; the older name is still set beside the newer.
const SLURM_STEP: &[&str] = &["SLURM_STEP_ID", "SLURM_STEPID"];

/// From here on Slurm's step numbers stand for what is no `srun`, as the job's own script.
const FIRST_SPECIAL_STEP: u64 = 0xffff_fff0;

/// Variables that count restarts.
const ATTEMPT: &[&str] = &["STEPSCOPE_RUN_ATTEMPT", "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"];

/// Variables that give the rank.
const RANK: &[&str] = &[
    "STEPSCOPE_RANK",
    "RANK",
    "SLURM_PROCID",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "RAY_TRAIN_WORLD_RANK",
    "JOB_COMPLETION_INDEX",
];

/// Variables that give the number of ranks.
const WORLD_SIZE: &[&str] = &[
    "STEPSCOPE_WORLD_SIZE",
    "WORLD_SIZE",
    "SLURM_NTASKS",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "RAY_TRAIN_WORLD_SIZE",
];

impl Identity {
    /// Resolves the identity; `variable` reads the environment. What of it cannot be used is as if it were not there, and
    /// named in `warnings`.
    pub(crate) fn resolve(
        given: Given,
        variable: impl Fn(&str) -> Option<String>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let text =
            |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|text| !text.is_empty()));
        let mut number = |names: &[&str], least: u64, why: &str| {
            names.iter().find_map(|name| {
                let text = variable(name).filter(|text| !text.trim().is_empty())?;
                let number = number_from(name, text.trim(), least);
                number.map_err(|error| warnings.push(format!("{error}{why}: ignored"))).ok()
            })
        };
        let attempt = given.attempt.or_else(|| number(ATTEMPT, 0, "")).unwrap_or(0);
        let rank = given.rank.or_else(|| number(RANK, 0, "")).unwrap_or(0);
        // Of a rank beyond the number of ranks one of the two is wrong. Ranks tell processes apart, so that one stays.
        let why = if rank > 0 { format!(", as it has to be for rank {rank}") } else { String::new() };
        let world_size = given.world_size.or_else(|| number(WORLD_SIZE, rank.saturating_add(1), &why));
        let executable = std::env::args_os()
            .next()
            .and_then(|path| {
                std::path::Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned())
            })
            .unwrap_or_default();
        let list = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let mut attributes = resource_attributes(&list, |why| {
            warnings.push(format!("OTEL_RESOURCE_ATTRIBUTES: {why}: ignored"))
        });
        let mut take = |key: &str| {
            let index = attributes.iter().position(|(name, _)| name == key)?;
            Some(attributes.remove(index).1)
        };
        let (named, version) = (take(attr::SERVICE_NAME), take(attr::SERVICE_VERSION));
        let service_name = given.service_name.or_else(|| text(&["OTEL_SERVICE_NAME"])).or(named);
        let service_name = service_name.or(given.configured_name).unwrap_or_else(|| {
            // The conventions' fallback where nobody named the service.
            if executable.is_empty() { "unknown_service".into() } else { executable.clone() }
        });
        Self {
            run_id: given
                .run_id
                .or_else(|| text(&[RUN_ID]))
                .or_else(|| given.caller.ids().map(|ids| traced_run_id(&ids)))
                .or_else(|| launched_id(&variable))
                .unwrap_or_else(fresh_run_id),
            attempt,
            rank,
            world_size: world_size.unwrap_or(1).max(1),
            service_name,
            service_version: given.service_version.or(version),
            host: sys::host_name(),
            executable,
            caller: given.caller,
            attributes,
        }
    }

    /// `{run}-rank{n}`.
    pub(crate) fn instance_id(&self) -> String {
        format!("{}-rank{}", self.run_id, self.rank)
    }
}

/// The id of the run of all processes that one call of a launcher has started.
fn launched_id(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    LAUNCHED_ID.iter().find_map(|&name| {
        let id = variable(name).filter(|id| !id.is_empty())?;
        match name {
            // So torchrun says that nobody gave it an id: each run of its kind has this one.
            TORCHELASTIC_RUN_ID if id == "none" => agents_id(&variable),
            SLURM_JOB_ID => {
                let step = SLURM_STEP.iter().find_map(|step| variable(step)?.trim().parse::<u64>().ok());
                Some(match step.filter(|&step| step < FIRST_SPECIAL_STEP) {
                    Some(step) => format!("{id}.{step}"),
                    None => id,
                })
            }
            _ => Some(id),
        }
    })
}

/// The id of a run whose processes all have one torchrun as their parent: those of one machine. What several machines
/// could agree on is the same for the next run there.
fn agents_id(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name| variable(name)?.trim().parse::<u64>().ok();
    if number("LOCAL_WORLD_SIZE")? != number("WORLD_SIZE")? {
        return None;
    }
    let (pid, start) = sys::parent()?;
    Some(format!("torchrun-{start}-{pid}"))
}

/// The id of the run of all processes that were started within a trace.
fn traced_run_id(ids: &SpanIds) -> String {
    format!("{:032x}", u128::from_be_bytes(ids.trace_id))
}

/// A run id that sorts by time and does not repeat: start time, process id, and bits of the clock.
fn fresh_run_id() -> String {
    let now = sys::realtime_ns();
    let tail = stepscope_core::identity::mix(now ^ u64::from(std::process::id())) & 0xffff;
    format!("{}-{}-{tail:04x}", clock::compact(now), std::process::id())
}

/// `OTEL_RESOURCE_ATTRIBUTES` (`k=v,k=v`, both percent-encoded): each key once, the last value of it, and none that
/// the layer knows better itself. What is left out is handed to `refuse`: what says no attribute, those that the layer knows
/// better, and those beyond [`MAX_ATTRIBUTES`].
fn resource_attributes(list: &str, mut refuse: impl FnMut(String)) -> Vec<(String, String)> {
    let mut attributes: Vec<(String, String)> = Vec::new();
    let mut beyond = 0_usize;
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((key, value)) = part.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            refuse(format!("{part:?} is no key=value"));
            continue;
        };
        let (key, value) = (percent_decode(key.trim()), percent_decode(value.trim()));
        let is_named_only = matches!(key.as_str(), attr::SERVICE_NAME | attr::SERVICE_VERSION);
        if key.is_empty() || value.is_empty() {
            refuse(format!("{part:?} is no key=value"));
            continue;
        }
        // Names of other conventions, which readers take for ours where these are missing, may be said beside them.
        if attr::find(&key).is_some_and(|row| row.key == key || !key.contains('.')) && !is_named_only {
            refuse(format!("{key:?} says what the recorder says itself"));
            continue;
        }
        attributes.retain(|(name, _)| *name != key);
        if attributes.len() < MAX_ATTRIBUTES {
            attributes.push((key, value));
        } else {
            beyond += 1;
        }
    }
    if beyond > 0 {
        refuse(format!("{beyond} attributes beyond the first {MAX_ATTRIBUTES}"));
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(given: Given, variables: &[(&str, &str)]) -> Identity {
        let find =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Identity::resolve(given, find, &mut Vec::new())
    }

    #[test]
    fn what_cannot_be_is_named_and_as_if_it_were_not_there() {
        let resolved = |variables: &[(&str, &str)], given: Given| {
            let find = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            let mut warnings = Vec::new();
            let identity = Identity::resolve(given, find, &mut warnings);
            (identity.rank, identity.world_size, identity.attempt, warnings)
        };
        for (variables, numbers, expected) in [
            (&[("RANK", "-1")][..], (0, 1, 0), &["RANK=-1 is not a whole number from 0 on: ignored"][..]),
            // The next one that says it holds.
            (
                &[("RANK", "one"), ("SLURM_PROCID", " 3 "), ("WORLD_SIZE", "0"), ("SLURM_NTASKS", "4")],
                (3, 4, 0),
                &[
                    "RANK=one is not a whole number: ignored",
                    "WORLD_SIZE=0 is not a whole number from 4 on, as it has to be for rank 3: ignored",
                ],
            ),
            (
                &[("RANK", "4"), ("WORLD_SIZE", "4")],
                (4, 1, 0),
                &["WORLD_SIZE=4 is not a whole number from 5 on, as it has to be for rank 4: ignored"],
            ),
            (&[("WORLD_SIZE", "0")], (0, 1, 0), &["WORLD_SIZE=0 is not a whole number from 1 on: ignored"]),
            (
                &[("STEPSCOPE_RUN_ATTEMPT", "1.5"), ("SLURM_RESTART_COUNT", "2")],
                (0, 1, 2),
                &["STEPSCOPE_RUN_ATTEMPT=1.5 is not a whole number: ignored"],
            ),
            // Nothing is said of what nobody asks, and of what launchers say where there is nothing to say.
            (&[("RANK", ""), ("WORLD_SIZE", " "), ("LOCAL_RANK", "-1")], (0, 1, 0), &[]),
            (&[("STEPSCOPE_RANK", "2"), ("RANK", "-1"), ("WORLD_SIZE", "3")], (2, 3, 0), &[]),
            (&[("RANK", "7")], (7, 1, 0), &[]),
        ] {
            let (rank, size, attempt) = numbers;
            let expected = expected.iter().map(|&text| text.to_owned()).collect();
            assert_eq!(
                resolved(variables, Given::default()),
                (rank, size, attempt, expected),
                "{variables:?}"
            );
        }
        let given = Given { rank: Some(9), world_size: Some(10), ..Given::default() };
        assert_eq!(resolved(&[("RANK", "-1"), ("WORLD_SIZE", "0")], given), (9, 10, 0, vec![]));
    }

    #[test]
    fn code_wins_over_our_variables_and_these_over_the_launchers() {
        let variables =
            [("STEPSCOPE_RUN_ID", "ours"), ("SLURM_JOB_ID", "77"), ("SLURM_PROCID", "3"), ("RANK", "")];
        let identity = resolve(Given { run_id: Some("code".into()), ..Given::default() }, &variables);
        assert_eq!((identity.run_id.as_str(), identity.rank), ("code", 3));
        let identity = resolve(Given::default(), &variables);
        assert_eq!(identity.run_id, "ours");
        assert_eq!(identity.instance_id(), "ours-rank3");
        assert_eq!(resolve(Given::default(), &variables[1..]).run_id, "77");
    }

    #[test]
    fn processes_that_were_started_within_a_trace_are_one_run() {
        let started_by = |span: &str| {
            let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{span}-00");
            let caller = TraceContext::from_headers(|name| (name == "traceparent").then_some(&text));
            Given { caller, ..Given::default() }
        };
        let variables = [("SLURM_JOB_ID", "77"), ("SLURM_PROCID", "3")];
        for span in ["00f067aa0ba902b7", "00f067aa0ba902b8"] {
            let identity = resolve(started_by(span), &variables);
            // The rank is still the launcher's.
            assert_eq!(identity.instance_id(), "4bf92f3577b34da6a3ce929d0e0e4736-rank3");
            assert_eq!(identity.caller, started_by(span).caller);
        }
        let named = resolve(started_by("00f067aa0ba902b7"), &[("STEPSCOPE_RUN_ID", "ours"), variables[0]]);
        assert_eq!(named.run_id, "ours");
    }

    #[test]
    fn each_srun_of_a_job_is_a_run() {
        let of_step = |rank: &str, step: &[(&str, &str)]| {
            let job = [("SLURM_JOB_ID", "77"), ("SLURM_PROCID", rank)];
            resolve(Given::default(), &[&job, step].concat()).instance_id()
        };
        // All ranks of one agree.
        assert_eq!(of_step("0", &[("SLURM_STEP_ID", "0"), ("SLURM_STEPID", "0")]), "77.0-rank0");
        assert_eq!(of_step("3", &[("SLURM_STEP_ID", "0"), ("SLURM_STEPID", "0")]), "77.0-rank3");
        assert_eq!(of_step("0", &[("SLURM_STEPID", "1")]), "77.1-rank0");
        for script in ["", "batch", "4294967291", "4294967290"] {
            assert_eq!(of_step("0", &[("SLURM_STEP_ID", script)]), "77-rank0");
        }
    }

    #[test]
    fn a_launcher_that_was_given_no_id_names_no_run() {
        let run_id = |variables: &[(&str, &str)]| resolve(Given::default(), variables).run_id;
        let (none, step) = (("TORCHELASTIC_RUN_ID", "none"), ("SLURM_STEP_ID", "2"));
        assert_eq!(run_id(&[none, ("SLURM_JOB_ID", "77"), step]), "77.2");
        assert_eq!(run_id(&[("TORCHELASTIC_RUN_ID", "mine"), ("SLURM_JOB_ID", "77")]), "mine");
        // (As long as those that were made, in any case.)
        assert!(run_id(&[none]).len() > 15);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processes_of_one_torchrun_without_an_id_are_one_run() {
        let run_id = |rank, local| {
            let none = ("TORCHELASTIC_RUN_ID", "none");
            let ranks = [none, ("RANK", rank), ("WORLD_SIZE", "2"), ("LOCAL_WORLD_SIZE", local)];
            resolve(Given::default(), &ranks).run_id
        };
        assert!(run_id("0", "2").starts_with("torchrun-"));
        assert_eq!(run_id("0", "2"), run_id("1", "2"));
        // Of several machines each has a torchrun of its own.
        assert!(!run_id("0", "1").starts_with("torchrun-"));
    }

    #[test]
    fn without_any_source_a_process_is_a_run_of_its_own() {
        let identity = resolve(Given::default(), &[("RANK", "many")]);
        assert_eq!((identity.rank, identity.world_size, identity.attempt), (0, 1, 0));
        assert!(identity.run_id.len() > 15);
    }

    #[test]
    fn the_service_is_named_as_opentelemetry_says() {
        let variables = [("OTEL_RESOURCE_ATTRIBUTES", "a%2Cb=b, service%2Ename = my%20app ,c=d")];
        let identity = resolve(Given::default(), &variables);
        assert_eq!(identity.service_name, "my app");
        let attribute = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(identity.attributes, [attribute("a,b", "b"), attribute("c", "d")]);
        let of_file = || Given { configured_name: Some("of a file".into()), ..Given::default() };
        assert_eq!(resolve(of_file(), &variables).service_name, "my app");
        assert_eq!(resolve(of_file(), &[]).service_name, "of a file");
    }

    #[test]
    fn attributes_that_are_none_and_those_beyond_the_bound_are_named() {
        let read = |list: &str| {
            let mut refused = Vec::new();
            (resource_attributes(list, |why| refused.push(why)).len(), refused)
        };
        assert_eq!(
            read("a=b,,c, =d"),
            (1, ["\"c\" is no key=value", "\"=d\" is no key=value"].map(String::from).to_vec())
        );
        assert_eq!(read("a=b,c="), (1, vec!["\"c=\" is no key=value".to_owned()]));
        assert_eq!(
            read("host.name=x,k8s.pod.name=p,rank=3,service.name=s"),
            (
                2,
                [
                    "\"host.name\" says what the recorder says itself",
                    "\"rank\" says what the recorder says itself"
                ]
                .map(String::from)
                .to_vec()
            )
        );
        let many = (0..MAX_ATTRIBUTES + 3).map(|key| format!("k{key}=v,")).collect::<String>();
        assert_eq!(read(&format!("{many}k0=w")), (64, vec!["3 attributes beyond the first 64".to_owned()]));
        assert_eq!(read(""), (0, vec![]));
    }
}

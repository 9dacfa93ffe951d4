//! What our crates may weigh and which way they may depend on each other: tables, and their check against
//! `cargo tree`. A new crate needs a row in [`DIRECTIONS`].

mod tree;

use crate::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use tree::{Package, direct, whole};

/// Third-party crates that a package may bring along, those that run at compile time included.
struct Weight {
    package: &'static str,
    flags: &'static [&'static str],
    limit: usize,
}

const fn weight(package: &'static str, flags: &'static [&'static str], limit: usize) -> Weight {
    Weight { package, flags, limit }
}

const WEIGHTS: &[Weight] = &[
    weight("stepscope-core", &[], 0),
    weight("stepscope-otlp", &[], 0),
    weight("stepscope-limits", &[], 0),
    weight("stepscope-mem", &[], 0),
    weight("stepscope-macros", &[], 0),
    weight("stepscope", &["--no-default-features"], 12),
    weight("stepscope", &[], 45),
    weight("stepscope-metrics", &["--no-default-features"], 4),
    weight("stepscope-metrics", &[], 22),
    weight("stepscope-model", &[], 30),
    weight("stepscope-analyze", &[], 30),
];

/// Which of our crates a crate may use, features and all; DESIGN: one direction.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("stepscope-core", &[]),
    ("stepscope-otlp", &[]),
    ("stepscope-limits", &[]),
    ("stepscope-mem", &["stepscope-core"]),
    ("stepscope-macros", &[]),
    (
        "stepscope",
        &[
            "stepscope-core",
            "stepscope-limits",
            "stepscope-otlp",
            "stepscope-mem",
            "stepscope-macros",
            "stepscope-metrics",
        ],
    ),
    ("stepscope-model", &["stepscope-core", "stepscope-otlp"]),
    ("stepscope-analyze", &["stepscope-core", "stepscope-model"]),
    (
        "stepscope-report",
        &[
            "stepscope",
            "stepscope-core",
            "stepscope-limits",
            "stepscope-mem",
            "stepscope-model",
            "stepscope-analyze",
        ],
    ),
    ("stepscope-opentelemetry", &["stepscope", "stepscope-otlp", "stepscope-metrics"]),
    ("stepscope-metrics", &["stepscope-core", "stepscope-limits"]),
    ("stepscope-demo", &["stepscope"]),
    ("stepscope-server", &["stepscope-otlp"]),
    (
        "stepscope-cli",
        &[
            "stepscope",
            "stepscope-core",
            "stepscope-otlp",
            "stepscope-model",
            "stepscope-analyze",
            "stepscope-demo",
            "stepscope-server",
            "stepscope-metrics",
        ],
    ),
    ("stepscope-fake-nvml", &[]),
    ("stepscope-testkit", &["stepscope-core", "stepscope-otlp"]),
    (
        "stepscope-tests",
        &[
            "stepscope",
            "stepscope-core",
            "stepscope-otlp",
            "stepscope-mem",
            "stepscope-model",
            "stepscope-analyze",
            "stepscope-testkit",
        ],
    ),
    (
        "stepscope-stack-tests",
        &["stepscope-core", "stepscope-fake-nvml", "stepscope-testkit", "stepscope-server"],
    ),
    ("xtask", &["stepscope-core", "stepscope-metrics"]),
];

/// Crates, by the beginning of their names, that a training program must not have to compile.
const FORBIDDEN_IN_TRAINING: &[(&str, &str)] = &[
    ("sysinfo", "host metrics are a crate of their own"),
    ("nvml", "device metrics are a crate of their own"),
    ("axum", "no web server in a training program"),
    ("tower", "no web server in a training program"),
    ("tonic", "gRPC is a feature, off by default"),
    ("prost", "OTLP is encoded by hand"),
    ("opentelemetry", "the SDK's door is a crate of its own, versioned with the SDK"),
    ("datafusion", "the query engine is a program of its own"),
    ("arrow", "the query engine is a program of its own"),
    ("reqwest", "the HTTP client is hyper alone"),
    ("clap", "no command line in a library"),
    ("serde", "nothing is serialised through an object tree"),
    ("tracing-opentelemetry", "ours is the layer"),
    ("syn", "the layer's one procedural macro reads tokens by itself"),
];

/// Crates of which the program may contain several versions, and why.
const DUPLICATES: &[(&str, &str)] =
    &[("thiserror", "nvml-wrapper 0.13 has version 1, which is a derive and two small traits")];

/// Checks every table; the first line of the error counts the violations.
pub(crate) fn run() -> Outcome {
    let mut violations = Vec::new();
    weights(&mut violations)?;
    directions(&mut violations)?;
    forbidden(&mut violations)?;
    duplicates(&mut violations)?;
    if violations.is_empty() {
        return Ok(());
    }
    Err(format!("{} over budget:\n  {}", violations.len(), violations.join("\n  ")))
}

fn weights(violations: &mut Vec<String>) -> Outcome {
    eprintln!("third-party crates a package:");
    for weight in WEIGHTS {
        let packages = whole(weight.package, "normal", weight.flags)?;
        let foreign = third_party(&packages);
        let (package, flags, limit) = (weight.package, weight.flags.join(" "), weight.limit);
        eprintln!("  {:>3} of {limit:>3}  {package} {flags}", foreign.len());
        if foreign.len() > limit {
            let list = foreign.into_iter().collect::<Vec<_>>().join(" ");
            violations.push(format!("{package} {flags}: more than {limit} third-party crates: {list}"));
        }
    }
    Ok(())
}

fn third_party(packages: &[Package]) -> BTreeSet<&str> {
    packages.iter().filter(|package| !package.local).map(|package| package.name.as_str()).collect()
}

fn directions(violations: &mut Vec<String>) -> Outcome {
    let members = direct()?;
    for (member, dependencies) in &members {
        let Some((_, allowed)) = DIRECTIONS.iter().find(|(name, _)| name == member) else {
            violations.push(format!("{member}: no row in the table of directions (xtask/src/budgets)"));
            continue;
        };
        for dependency in dependencies {
            if !allowed.contains(&dependency.as_str()) {
                violations.push(format!("{member} must not depend on {dependency}"));
            }
        }
    }
    for (name, _) in DIRECTIONS {
        if !members.contains_key(*name) {
            violations.push(format!("{name}: a row in the table of directions, but no such crate"));
        }
    }
    eprintln!("directions: {} crates", members.len());
    Ok(())
}

fn forbidden(violations: &mut Vec<String>) -> Outcome {
    for package in whole("stepscope", "normal", &[])?.iter().filter(|package| !package.local) {
        for (prefix, reason) in FORBIDDEN_IN_TRAINING {
            if belongs_to(&package.name, prefix) {
                violations.push(format!("stepscope brings {}: {reason}", package.name));
            }
        }
    }
    Ok(())
}

/// Whether a crate is the family's own or one of its parts: `tonic` and `tonic-build`, not `tonics`.
fn belongs_to(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

/// Two versions of one crate in the program. Crates that run at compile time are left out: nobody ships them.
fn duplicates(violations: &mut Vec<String>) -> Outcome {
    let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
    for package in whole("stepscope-cli", "normal,no-proc-macro", &[])? {
        versions.entry(package.name).or_default().insert(package.version);
    }
    eprintln!("crates in the program: {}", versions.len());
    for (name, versions) in versions.into_iter().filter(|(_, versions)| versions.len() > 1) {
        if DUPLICATES.iter().any(|(allowed, _)| *allowed == name) {
            continue;
        }
        let list = versions.into_iter().collect::<Vec<_>>().join(" and ");
        violations.push(format!("the program contains {name} {list}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_end_at_word_boundaries() {
        assert!(belongs_to("tonic", "tonic") && belongs_to("tonic-build", "tonic"));
        assert!(belongs_to("serde_json", "serde"));
        assert!(!belongs_to("synstructure", "syn") && !belongs_to("sync_wrapper", "syn"));
    }

    #[test]
    fn the_table_of_directions_has_no_cycle() {
        for (name, allowed) in DIRECTIONS {
            let mut seen = BTreeSet::new();
            let mut open = allowed.to_vec();
            while let Some(next) = open.pop() {
                assert_ne!(next, *name, "cycle");
                if seen.insert(next) {
                    open.extend(DIRECTIONS.iter().find(|(other, _)| *other == next).unwrap().1);
                }
            }
        }
    }
}

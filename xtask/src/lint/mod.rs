//! The static checks: rules for source files that no compiler knows, format, clippy, documentation.

mod circles;
mod format;
mod literals;
mod purity;
mod sizes;
mod sources;
mod text;

use crate::Outcome;
use crate::dashboards;
pub(crate) use sizes::print as print_sizes;

use crate::process::{cargo, run as run_command, succeeds};

/// One check, by name.
struct Check {
    name: &'static str,
    run: fn() -> Outcome,
}

/// Cheapest first.
const CHECKS: &[Check] = &[
    Check { name: "sources", run: sources::check },
    Check { name: "format", run: format::check },
    Check { name: "dashboards", run: dashboards::check },
    Check { name: "clippy", run: clippy },
    Check { name: "features", run: features },
    Check { name: "rustdoc", run: rustdoc },
];

/// Runs the named checks, all of them if none is named.
pub(crate) fn run(names: &[&str]) -> Outcome {
    if let Some(unknown) = names.iter().find(|name| CHECKS.iter().all(|check| check.name != **name)) {
        let known = CHECKS.iter().map(|check| check.name).collect::<Vec<_>>().join(", ");
        return Err(format!("no check called `{unknown}`; there are {known}"));
    }
    for check in CHECKS.iter().filter(|check| names.is_empty() || names.contains(&check.name)) {
        (check.run)()
            .map_err(|problem| format!("{problem}\nrun only this check: cargo xtask lint {}", check.name))?;
    }
    Ok(())
}

/// Installs a component of the toolchain where it is missing.
fn component(name: &str, probe: &str) -> Outcome {
    if succeeds("cargo", &[probe, "--version"]) {
        return Ok(());
    }
    eprintln!("{name} is missing: adding it to the toolchain");
    if succeeds("rustup", &["component", "add", name]) && succeeds("cargo", &[probe, "--version"]) {
        return Ok(());
    }
    Err(format!(
        "{name} is missing and could not be added: run `rustup component add {name}`, or install your \
                 distribution's package of that name"
    ))
}

fn clippy() -> Outcome {
    component("clippy", "clippy")?;
    run_command(cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// The layer must build with any choice of its features; the workspace's build only sees one.
fn features() -> Outcome {
    component("clippy", "clippy")?;
    for features in [
        "",
        "http",
        "grpc",
        "macros",
        "mem",
        "tls",
        "grpc,tls",
        "zstd",
        "fmt",
        "metrics",
        "http,facade",
        "mem,rayon",
    ] {
        let choice = ["clippy", "-p", "stepscope", "--no-default-features", "--features", features];
        run_command(cargo(&[&choice[..], &["--", "-D", "warnings"]].concat()))?;
    }
    Ok(())
}

fn rustdoc() -> Outcome {
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    run_command(command)
}

//! `stepscope monitor`: figures of the machine, its GPUs and a process, without any program that records. Shows a line of
//! them a reading and answers scrapes; what is read and how it is named is `stepscope-metrics`' own.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use stepscope_core::attr;
use stepscope_metrics::alerts::Alerts;
use stepscope_metrics::view::json;
use stepscope_metrics::{ControlGroup, Metrics, Snapshot};

use crate::args::{Global, MonitorArgs, MonitorFormat};
use crate::error::CliError;
use crate::{exit, output, stop};

/// Shares are of the time between two readings; with `--once` this is it.
const ONCE_INTERVAL: Duration = Duration::from_millis(250);
/// For the first readings; a machine may be very busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads until it is asked to end, or once.
pub(crate) fn run(args: &MonitorArgs, global: Global) -> Result<u8, CliError> {
    if let Some(address) = args.listen.filter(|address| !address.ip().is_loopback() && !args.allow_remote) {
        return Err(CliError::Usage(format!(
            "other machines can reach {address}, and whoever can sees everything; use 127.0.0.1, or allow it by \
             --allow-remote"
        )));
    }
    if let Some(pid) = args.pid.filter(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()) {
        return Err(CliError::Input(format!("there is no process {pid}")));
    }
    let container = args.container.as_deref().map(ControlGroup::find).transpose();
    let container = container.map_err(|error| CliError::Input(error.to_string()))?;
    stop::watch();
    let interval = if args.once { ONCE_INTERVAL } else { Duration::from_secs_f64(args.interval) };
    let name = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let mut builder = Metrics::builder()
        .interval(interval)
        .budget(args.budget)
        .allow_remote(args.allow_remote)
        .gpus(!args.no_gpu)
        .resource(attr::SERVICE_NAME, name.unwrap_or_else(|| "stepscope-monitor".into()))
        .resource(attr::SERVICE_VERSION, env!("CARGO_PKG_VERSION"));
    if let Some(path) = &args.nvml {
        builder = builder.gpu_library(path);
    }
    if let Some(address) = args.listen {
        builder = builder.prometheus(address);
    }
    if !args.once {
        let tell = move |change: &stepscope_metrics::alerts::Change<'_>| {
            output::note(global, &format!("stepscope: {change}"));
        };
        builder = builder.alerts(Alerts::default().on_change(tell));
    }
    if let Some(endpoint) = &args.otlp {
        builder = builder.otlp(endpoint);
    }
    if let Some(name) = host_name() {
        builder = builder.resource(attr::HOST_NAME, name);
    }
    if let Some(pid) = args.pid {
        builder = builder.pid(pid);
    }
    if let Some(container) = container {
        builder = builder.container(container);
    }
    let metrics = builder.start().map_err(|error| CliError::Unwritable(error.to_string()))?;
    if let Some(address) = metrics.address() {
        output::note(global, &format!("metrics are at http://{address}/metrics"));
    }
    let shown =
        if args.once { once(&metrics, args, global) } else { follow(&metrics, args, interval, global) };
    metrics.stop();
    shown.map(|()| exit::FINE)
}

/// What tells the figures of several machines apart.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Two readings: shares need a time between them.
fn once(metrics: &Metrics, args: &MonitorArgs, global: Global) -> Result<(), CliError> {
    let deadline = Instant::now() + PATIENCE;
    while !metrics.wait_for_pass(2, Duration::from_millis(100)) {
        if stop::asked() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(CliError::Internal("the machine's files could not be read within a minute".into()));
        }
    }
    metrics.wait_for_devices(PATIENCE);
    tell_notes(metrics, global);
    let snapshot = metrics.snapshot();
    let mut text = String::new();
    write(&snapshot, args, &mut text);
    output::stdout(text.as_bytes())
}

fn tell_notes(metrics: &Metrics, global: Global) {
    for note in metrics.notes() {
        output::note(global, &format!("stepscope: {note}"));
    }
}

/// One line a reading, on a terminal or as JSON; scrapes are answered meanwhile.
fn follow(metrics: &Metrics, args: &MonitorArgs, interval: Duration, global: Global) -> Result<(), CliError> {
    // What others scrape or receive writes nothing into a service's log.
    let is_service = args.listen.is_some() || args.otlp.is_some();
    let is_shown = std::io::stdout().is_terminal() || !is_service;
    let writes = args.format == MonitorFormat::Json || (is_shown && !global.quiet);
    let (mut text, mut passes) = (String::new(), 1);
    loop {
        tell_notes(metrics, global);
        // In short turns, so that the end is quick.
        let wait = interval.min(Duration::from_millis(100));
        if metrics.wait_for_pass(passes + 1, wait) && writes {
            let snapshot = metrics.snapshot();
            passes = snapshot.passes;
            text.clear();
            write(&snapshot, args, &mut text);
            output::stdout(text.as_bytes())?;
        } else if !writes && stop::asked_within(wait) {
            return Ok(());
        }
        if stop::asked() {
            // The line on which the terminal shows ^C.
            let _ = if writes { writeln!(std::io::stderr()) } else { Ok(()) };
            return Ok(());
        }
        if metrics.process_ended() {
            output::note(global, "the process has ended");
            return Ok(());
        }
        if metrics.container_ended() {
            output::note(global, "the container has ended");
            return Ok(());
        }
    }
}

fn write(snapshot: &Snapshot, args: &MonitorArgs, text: &mut String) {
    match args.format {
        MonitorFormat::Json => {
            json::render(snapshot, args.budget, text);
        }
        MonitorFormat::Text => line(snapshot, args, text),
    }
}

/// What fits a line; what is not known is left out.
fn line(snapshot: &Snapshot, args: &MonitorArgs, text: &mut String) {
    let host = &snapshot.host;
    let mut parts: Vec<String> = Vec::new();
    let [user, nice, system, _, iowait, interrupt, softirq, steal] = host.cpu_utilization;
    let busy = [user, nice, system, interrupt, softirq, steal]
        .into_iter()
        .flatten()
        .reduce(|sum, share| sum + share);
    if let Some(busy) = busy {
        parts.push(format!("CPU {}", percent(busy)));
    }
    if let Some(iowait) = iowait.filter(|share| *share >= 0.005) {
        parts.push(format!("iowait {}", percent(iowait)));
    }
    if let Some((memory, available)) = host.memory.and_then(|memory| Some((memory, memory.available_bytes?)))
    {
        let used = memory.total_bytes.saturating_sub(available);
        parts.push(format!("memory {} of {}", bytes(used), bytes(memory.total_bytes)));
    }
    // One without a limit is told where it was asked for.
    let is_asked_for = args.container.is_some();
    if let Some(container) =
        snapshot.container.filter(|container| is_asked_for || container.memory_limit_bytes.is_some())
        && let Some(used) = container.memory_bytes
    {
        let cpus = container.cpu_usage.filter(|_| is_asked_for);
        let cpus = cpus.map_or_else(String::new, |cpus| format!("{cpus:.2} CPUs "));
        let limit = container.memory_limit_bytes;
        let limit = limit.map_or_else(String::new, |limit| format!(" of {}", bytes(limit)));
        parts.push(format!("container {cpus}{}{limit}", bytes(used)));
    }
    if let Some(process) = snapshot.process.filter(|_| args.pid.is_some()) {
        let cpus = process.cpu_utilization.into_iter().flatten().sum::<f64>() * host.cpus.unwrap_or(1) as f64;
        let memory = process.resident_bytes.map(|resident| format!(" {}", bytes(resident)));
        parts.push(format!("process {cpus:.2} CPUs{}", memory.unwrap_or_default()));
    }
    for gpu in &snapshot.gpus {
        let mut part = gpu.name.to_string();
        if gpu.state == "failed" {
            part.push_str(" failed");
        }
        if let Some(share) = gpu.utilization.first().copied().flatten() {
            let _ = write!(part, " {}", percent(share));
        }
        if let Some((used, total)) = gpu.memory_used_bytes.zip(gpu.memory_total_bytes) {
            let _ = write!(part, " {} of {}", bytes(used), bytes(total));
        }
        if let Some(watts) = gpu.watts {
            let _ = write!(part, " {watts:.0} W");
        }
        if let Some(celsius) = gpu.celsius {
            let _ = write!(part, " {celsius:.0} °C");
        }
        parts.push(part);
    }
    text.push_str(&parts.join(" | "));
    text.push('\n');
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn bytes(bytes: u64) -> String {
    let gibibytes = bytes as f64 / f64::from(1 << 30);
    if gibibytes >= 1.0 { format!("{gibibytes:.1} GiB") } else { format!("{:.0} MiB", gibibytes * 1_024.0) }
}

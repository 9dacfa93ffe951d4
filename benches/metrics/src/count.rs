//! Instructions of the exporter a pass, all of its threads, beside those of a training thread a second: both by callgrind, a
//! run of twice as many less one of as many. What the kernel does for a reading is in none; so the exporter's CPU time, which
//! has that, is told as well.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use stepscope_metrics::Metrics;

use crate::Failure;

const PASSES: u64 = 40;
const STEPS: u64 = 6;
/// For what is not counted by callgrind.
const LONG: u64 = 20;
const PATIENCE: Duration = Duration::from_secs(600);
/// Share of a training thread's instructions, at one pass a second.
const AIM: f64 = 0.001;

/// CPU time by one of the system's clocks.
fn cpu(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable for the duration of the call.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Runs the exporter as a program of its own has it; prints the CPU time of all threads.
pub(crate) fn exporter(passes: u64) -> Result<(), Failure> {
    let metrics = Metrics::builder().interval(Duration::from_millis(100)).gpus(false).start()?;
    if !metrics.wait_for_pass(passes, PATIENCE) {
        return Err("the passes took too long".into());
    }
    metrics.stop();
    println!("{}", cpu(libc::CLOCK_PROCESS_CPUTIME_ID).as_nanos());
    Ok(())
}

/// Trains; prints the CPU time of the training thread, which is this.
pub(crate) fn demo(steps: u64) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let mut options = stepscope_demo::Options::new(folder.path());
    options.steps = Some(steps);
    stepscope_demo::run(&options)?;
    println!("{}", cpu(libc::CLOCK_THREAD_CPUTIME_ID).as_nanos());
    Ok(())
}

/// What this program prints with these arguments: nanoseconds.
fn time(kind: &str, number: u64) -> Result<f64, Failure> {
    let run = Command::new(std::env::current_exe()?).args([kind, &number.to_string()]).output()?;
    Ok(String::from_utf8(run.stdout)?.trim().parse()?)
}

/// Instructions of all threads, or of the first one.
fn instructions(kind: &str, number: u64, is_first_alone: bool) -> Result<f64, Failure> {
    let folder = tempfile::tempdir()?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", folder.path().join("counts").display()))
        .arg(std::env::current_exe()?)
        .args([kind, &number.to_string()])
        .output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into());
    }
    let mut sum = 0.0;
    for entry in std::fs::read_dir(folder.path())? {
        let path = entry?.path();
        let is_first = path.extension().is_none() && path.to_string_lossy().ends_with("-01");
        if is_first || !is_first_alone {
            sum += total(&path)?;
        }
    }
    Ok(sum)
}

fn total(path: &Path) -> Result<f64, Failure> {
    let text = std::fs::read_to_string(path)?;
    let totals = text.lines().filter_map(|line| line.strip_prefix("totals: "));
    Ok(totals.filter_map(|line| line.split_whitespace().next()?.parse::<f64>().ok()).sum())
}

fn each(measure: impl Fn(u64) -> Result<f64, Failure>, number: u64) -> Result<f64, Failure> {
    Ok((measure(2 * number)? - measure(number)?) / number as f64)
}

/// Prints the share.
pub(crate) fn compare() -> Result<(), Failure> {
    let pass = each(|passes| instructions("exporter", passes, false), PASSES)?;
    let step = each(|steps| instructions("demo", steps, true), STEPS)?;
    let step_ns = each(|steps| time("demo", steps), LONG * STEPS)?;
    let pass_ns = each(|passes| time("exporter", passes), PASSES)?;
    let a_second = step / step_ns * 1e9;
    let share = pass / a_second;
    let verdict = if share <= AIM { "reached" } else { "missed" };
    println!(
        "the exporter: {pass:.0} instructions and {:.0} µs of CPU time a pass, all of its threads",
        pass_ns / 1e3
    );
    println!(
        "the training thread: {step:.0} instructions and {:.0} µs of CPU time a step, {:.2} billion instructions a second",
        step_ns / 1e3,
        a_second / 1e9
    );
    println!(
        "at a pass a second {:.4} % of the training thread's instructions (aim {:.1} %: {verdict}), {:.4} % of a processor's time",
        share * 100.0,
        AIM * 100.0,
        pass_ns / 1e9 * 100.0
    );
    Ok(())
}

//! Input made to hurt: `stepscope analyze` ends on each of it in bounded memory and time, with a report that
//! says where and why something was not read. Each input is written into the program's standard input while it
//! reads, so that none is ever stored; the peak of memory is what the kernel says of the ended program.
//!
//! `cargo test -p stepscope-tests hostile -- --nocapture --test-threads=1` prints the table in docs/formats.md.

mod compression;
mod ids;
mod shapes;
mod values;

use std::io::{self, BufWriter, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_testkit::process;

use crate::program::{assert_valid, parse, program};

/// No input may take more memory than this, whatever it is: open traces (64 MiB) and the largest message
/// (64 MiB), each with what it takes to make something of it, and the program.
const MEMORY: u64 = 256 << 20;
/// But one trace of as many spans as fit into the bound on open traces, each of which is some ten times as large once
/// its figures are laid out.
const LARGE_TRACE: u64 = 800 << 20;
/// Nor longer than this on two busy cores.
const TIME: Duration = Duration::from_secs(120);

/// What became of an input.
struct Ended {
    code: Option<i32>,
    report: Option<Value>,
    stderr: String,
}

impl Ended {
    /// The issues of a kind.
    fn issues(&self, kind: &str) -> Vec<&Value> {
        let report = self.report.as_ref().unwrap_or_else(|| panic!("a report: {}", self.stderr));
        let issues = report["read_issues"].as_array().into_iter().flatten();
        issues.filter(|issue| issue["kind"] == kind).collect()
    }

    fn issue(&self, kind: &str) -> &Value {
        let all = self.report.as_ref().map(|report| report["read_issues"].to_string());
        let found = self.issues(kind);
        assert_eq!(found.len(), 1, "{kind}: {}", all.unwrap_or_default());
        assert!(!found[0]["reason"].as_str().unwrap_or_default().is_empty());
        found[0]
    }

    fn spans(&self) -> u64 {
        self.report.as_ref().and_then(|report| report["run"]["spans"].as_u64()).unwrap_or(0)
    }
}

/// Counts what goes through.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Runs `stepscope analyze -` on what `write` writes, and holds it to [`MEMORY`] and [`TIME`].
fn analyze(name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Ended {
    analyze_within(MEMORY, name, write)
}

/// The same with another bound on memory.
fn analyze_within(memory: u64, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Ended {
    const MEASURE: &str = "import resource, subprocess, sys\n\
        code = subprocess.run(sys.argv[1:]).returncode\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)\n\
        sys.exit(code)";
    let started = Instant::now();
    let mut child = Command::new("python3")
        .args(["-c", MEASURE])
        .arg(program())
        .args(["--quiet", "analyze", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    let drain = |mut pipe: Box<dyn Read + Send>| {
        let drained = move || {
            let mut text = String::new();
            let _ = pipe.read_to_string(&mut text);
            text
        };
        std::thread::Builder::new().name("drain".into()).spawn(drained).expect("a thread")
    };
    let stdout = drain(Box::new(child.stdout.take().expect("piped")));
    let stderr = drain(Box::new(child.stderr.take().expect("piped")));
    let stdin = child.stdin.take().expect("piped");
    let mut out = Counted { inner: BufWriter::with_capacity(1 << 20, stdin), bytes: 0 };
    // A program that stops reading is judged by what it says, not by the pipe.
    let _ = write(&mut out).and_then(|()| out.flush());
    let bytes = out.bytes;
    drop(out);
    let (status, timed_out) = process::wait(&mut child, TIME).expect("it is waited for");
    let elapsed = started.elapsed();
    let (stdout, stderr) = (stdout.join().expect("drained"), stderr.join().expect("drained"));
    assert!(!timed_out, "{name}: out of time");
    let peak: u64 = stderr.lines().last().and_then(|line| line.trim().parse().ok()).expect("a peak");
    println!(
        "| {name} | {} | {} MiB | {:.1} s |",
        if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} B") },
        peak >> 20,
        elapsed.as_secs_f64()
    );
    assert!(peak < memory, "{name}: {} MiB", peak >> 20);
    assert!(elapsed < TIME, "{name}: {elapsed:?}");
    let code = status.code();
    // 0 is fine, 3 is unreadable input: anything else is a panic, an abort or a wrong use.
    assert!(matches!(code, Some(0 | 3)), "{name}: {code:?}: {stderr}");
    let report = (code == Some(0)).then(|| parse(&stdout));
    report.iter().for_each(assert_valid);
    Ended { code, report, stderr }
}

/// One span in OTLP JSON, on a line of its own; `number` makes its trace.
fn line(number: u64, name: &str) -> String {
    format!(
        "{{\"resourceSpans\":[{{\"resource\":{{}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"x\"}},\"spans\":[{}]}}]}}]}}\n",
        span(number, number, 0, name, "")
    )
}

/// One span in OTLP JSON; `members` begin with a comma.
fn span(trace: u64, id: u64, parent: u64, name: &str, members: &str) -> String {
    let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
    format!(
        "{{\"traceId\":\"{trace:032x}\",\"spanId\":\"{id:016x}\",\"parentSpanId\":\"{parent}\",\"name\":\"{name}\",\
         \"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\"{members}}}",
        1_000_000_000 + id,
        1_000_000_100 + id
    )
}

/// Writes `text` again and again until `bytes` have been written.
fn repeat(out: &mut dyn Write, text: &[u8], bytes: u64) -> io::Result<()> {
    let block = text.repeat((1 << 20) / text.len().max(1) + 1);
    let mut left = bytes;
    while left > 0 {
        let count = (block.len() as u64).min(left) as usize;
        out.write_all(&block[..count])?;
        left -= count as u64;
    }
    Ok(())
}

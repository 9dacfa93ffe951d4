//! Processes that leak among others that do not, read from OTLP: each is judged by itself, whatever order its steps come in.

use serde_json::{Value, json};
use stepscope_analyze::report::Verdict;
use stepscope_analyze::rules::{Config as Rules, find};
use stepscope_analyze::summary::CourseVerdict;
use stepscope_analyze::{Config, Partial, Summary};
use stepscope_core::attr;
use stepscope_model::{ReadOptions, Reader, Sink, Trace};

const MIB: f64 = 1_048_576.0;

/// Noise in [-1, 1), the same in each run: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn rough(seed: u64) -> f64 {
    let mut mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / 2f64.powi(52) - 1.0
}

fn attribute(key: &str, value: &Value) -> Value {
    let kind = if value.is_string() { "stringValue" } else { "intValue" };
    json!({ "key": key, "value": { kind: value } })
}

/// A process of a run of eight.
#[derive(Clone, Copy)]
struct Process {
    rank: u64,
    pid: u64,
    is_ranked: bool,
}

impl Process {
    /// A message with one step that ends with so many live bytes.
    fn step(self, step: u64, live_bytes: f64) -> Value {
        let mut resource =
            vec![attribute(attr::RUN_ID, &json!("eight")), attribute("process.pid", &json!(self.pid))];
        if self.is_ranked {
            resource.push(attribute(attr::RANK, &json!(self.rank)));
            resource.push(attribute(attr::WORLD_SIZE, &json!(8)));
        }
        let start_ns = 1_700_000_000_000_000_000 + step * 10_000_000;
        let span = json!({
            "traceId": format!("{:08x}{:08x}{:016x}", self.pid + 1, 7, step + 1),
            "spanId": format!("{:016x}", (self.pid + 1) * 1_000_000 + step),
            "name": "step",
            "startTimeUnixNano": start_ns.to_string(),
            "endTimeUnixNano": (start_ns + 9_000_000).to_string(),
            "attributes": [
                attribute(attr::SECTION_KIND, &json!("step")),
                attribute(attr::STEP, &json!(step)),
                attribute(attr::TRACE_SPANS, &json!(1)),
                attribute(attr::TRACE_DROPPED, &json!(0)),
                attribute(attr::MEM_LIVE_BYTES, &json!(live_bytes as i64)),
            ],
        });
        json!({ "resourceSpans": [{ "resource": { "attributes": resource }, "scopeSpans": [{ "spans": [span] }] }] })
    }

    /// Steps of this process, which leaks so many bytes in each.
    fn steps(self, steps: std::ops::Range<u64>, leaks_bytes: f64) -> Vec<Value> {
        let first = steps.start;
        let live = |step: u64| {
            400.0 * MIB + leaks_bytes * (step - first) as f64 + 2.0 * MIB * rough(self.pid * 10_000 + step)
        };
        steps.map(|step| self.step(step, live(step))).collect()
    }
}

const fn rank(rank: u64) -> Process {
    Process { rank, pid: 100 + rank, is_ranked: true }
}

#[derive(Debug)]
struct Fold(Partial);

impl Sink for Fold {
    fn trace(&mut self, trace: &Trace) {
        self.0.add(trace);
    }
}

fn read(messages: &[Value]) -> Partial {
    let lines: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let mut fold = Fold(Partial::new(Config::default()));
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_stream("spans.jsonl", lines.join("\n").as_bytes(), &mut fold).unwrap();
    let issues = reader.finish(&mut fold);
    assert!(issues.issues.is_empty(), "{issues:?}");
    fold.0
}

/// Eight processes over 300 steps, of which two leak 1 MiB in each.
fn eight(is_ranked: bool) -> Vec<Value> {
    let leaks = |rank: u64| if rank == 2 || rank == 5 { MIB } else { 0.0 };
    (0..8).flat_map(|n| Process { is_ranked, ..rank(n) }.steps(0..300, leaks(n))).collect()
}

fn title(summary: &Summary) -> String {
    match (find("memory_growth").unwrap().check)(summary, &Rules::default()) {
        Verdict::Found(findings) => findings[0].title.clone(),
        Verdict::Fine { because } | Verdict::Unknown { because } => because,
    }
}

#[test]
fn ranks_that_leak_are_named_with_their_rate_and_the_others_as_healthy() {
    let summary = read(&eight(true)).finish(None);
    let title = title(&summary);
    assert!(title.starts_with("Ranks 2 and 5 of 8 leak 1.0"), "{title}");
    assert!(title.ends_with(" steps; the others do not grow."), "{title}");
    for process in &summary.memory.processes {
        let (rank, course) = (process.rank.unwrap(), process.course.unwrap());
        let leaks = [2, 5].contains(&rank);
        assert_eq!(
            course.verdict,
            if leaks { CourseVerdict::Leak } else { CourseVerdict::None },
            "rank {rank}"
        );
        if leaks {
            let rate = course.trend.unwrap().slope_per_step;
            assert!((rate / MIB - 1.0).abs() < 0.1, "rank {rank}: {rate}");
        }
    }
}

#[test]
fn processes_without_ranks_are_named_by_their_ids() {
    let title = title(&read(&eight(false)).finish(None));
    assert!(title.starts_with("Processes 102 and 105 of 8 leak 1.0"), "{title}");
}

#[test]
fn steps_out_of_order_missing_and_read_in_parts_change_no_verdict() {
    let mut messages = eight(true);
    let mut at = 0;
    messages.retain(|_| {
        at += 1;
        at % 7 != 3
    });
    let count = messages.len();
    (0..count).for_each(|at| messages.swap(at, (at * 7_919 + 13) % count));
    let (first, last) = messages.split_at(count / 3);
    let mut parts = Partial::from_bytes(&read(last).to_bytes().unwrap(), Config::default()).unwrap();
    parts.merge(&read(first));
    let title = title(&parts.finish(None));
    assert!(title.starts_with("Ranks 2 and 5 of 8 leak"), "{title}");
    assert_eq!(parts.to_bytes().unwrap(), read(&messages).to_bytes().unwrap());
}

#[test]
fn a_process_that_begins_anew_from_its_checkpoint_is_one_of_its_own() {
    // Rank 0 dies after step 299 and goes on from step 200: as much as one that never grew, to whoever mixes them.
    let anew = Process { pid: 900, ..rank(0) };
    let summary = read(&[rank(0).steps(0..300, MIB), anew.steps(200..520, MIB)].concat()).finish(None);
    let rates: Vec<f64> = summary
        .memory
        .processes
        .iter()
        .map(|one| one.course.unwrap().trend.unwrap().slope_per_step)
        .collect();
    assert_eq!(summary.memory.course.unwrap().verdict, CourseVerdict::Leak);
    assert!(rates.len() == 2 && rates.iter().all(|rate| (rate / MIB - 1.0).abs() < 0.1), "{rates:?}");
}

#[test]
fn sizes_that_no_memory_has_are_left_out_and_counted() {
    let mut messages = rank(0).steps(0..200, 0.0);
    for step in [50, 51, 120] {
        messages[step as usize] = rank(0).step(step, -5.0);
    }
    let summary = read(&messages).finish(None);
    assert_eq!(summary.memory.processes[0].impossible_values, 3);
    assert_eq!(summary.memory.course.unwrap().verdict, CourseVerdict::None);
}

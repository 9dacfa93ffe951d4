//! The figures of programs that do what the demo does not, and of runs made by hand, equal those of the second
//! implementation; and what a program reads of its own run while it goes on is what the report says.

use std::collections::BTreeMap;
use std::process::Command;

use stepscope_testkit::{TempFolder, binaries, crosscheck, published};

use crate::figures::{compare, compare_report};
use crate::program::{LIMIT, clean, output, report, report_text, stepscope};

/// Traces that others published, in the formats of Jaeger and of PyTorch's profiler. The second implementation reads what
/// `convert` makes of them.
#[test]
fn of_published_traces() {
    let Some(data) = published::folder() else { return };
    let some = [
        "crisp/18.json",
        "crisp/24.json",
        "crisp/err_pattern1/err1.json",
        "jaeger_fixtures/otel_traces_01.json",
        "hta/cpu_only",
        "kineto/linear_kineto.json.gz",
    ];
    for name in some {
        let folder = TempFolder::new("figures-published").expect("a folder");
        let (input, converted, report) =
            (data.join(name), folder.join("run.otlp"), folder.join("report.json"));
        output(stepscope(&["--quiet", "convert"]).args([&input, &converted]));
        std::fs::write(&report, report_text(&[&input])).expect("the report is written");
        println!("{name}: {}", crosscheck::compare(&[&converted], &report).expect("all figures equal"));
    }
}

/// Loaders that the step itself reads, and loaders in threads of their own; children that outlive what is around them.
#[test]
fn of_programs_that_do_what_the_demo_does_not() {
    let programs = [
        &["iterate", "100"][..],
        &["loader", "40"],
        &["loader", "300"],
        &["outlive"],
        // More call paths than a process keeps sums of.
        &["names", "5000"],
    ];
    for arguments in programs {
        println!("{arguments:?}");
        of_the_example("programs", arguments);
    }
}

/// Threads that each drive steps, with numbers of their own: which come first is a matter of time, not of numbers.
#[test]
fn of_a_storm_of_threads() {
    for seed in ["1", "3", "5"] {
        println!("{seed}");
        of_the_example("programs", &["storm", seed, "1000"]);
    }
}

/// Steps that wait for what nobody recorded.
#[test]
fn of_waits_without_a_loader() {
    let folder = TempFolder::new("figures-waits").expect("a folder");
    let file = folder.join("run.jsonl");
    std::fs::write(&file, (1..=400).map(|at| waiting_step(at, 0, at)).collect::<String>()).expect("written");
    let report = report(&[&file]);
    // A step begins every 401 ms, and takes 14.8 ms on average.
    let rules = [0, 1].map(|at: usize| &report["findings"][at]["rule"]);
    assert_eq!(rules, ["between_steps", "input_bound"]);
    compare_report(&folder, &file);
}

/// Numbers that begin anew in each of ten epochs: the first step of each waits, and only that of the run, which waits for
/// longer, is warm-up.
#[test]
fn of_numbers_that_begin_anew() {
    let folder = TempFolder::new("figures-anew").expect("a folder");
    let file = folder.join("run.jsonl");
    let steps = (0..400).map(|at| waiting_step(at, at / 40, at % 40));
    std::fs::write(&file, steps.collect::<String>()).expect("written");
    let report = report(&[&file]);
    assert_eq!(report["summary"]["warmup_steps"], 1);
    compare_report(&folder, &file);
}

/// 10 ms of work; each fortieth step waits 190 ms before it, and the first one 390 ms.
fn waiting_step(at: u64, epoch: u64, number: u64) -> String {
    let start = 1_700_000_000_000_000_000 + at * 401_000_000;
    let wait = match at {
        0 => 390_000_000,
        _ if at.is_multiple_of(40) => 190_000_000,
        _ => 10_000,
    };
    let trace = at + 1;
    let span = |id: u64, parent: &str, name: &str, start: u64, end: u64, more: &str| {
        format!(
            r#"{{"traceId":"{trace:032x}","spanId":"{id:016x}","parentSpanId":"{parent}","name":"{name}","startTimeUnixNano":"{start}","endTimeUnixNano":"{end}","attributes":[{{"key":"thread.id","value":{{"intValue":"1"}}}}{more}]}}"#
        )
    };
    let step = format!(
        r#",{{"key":"stepscope.section.kind","value":{{"stringValue":"step"}}}},{{"key":"stepscope.epoch","value":{{"intValue":"{epoch}"}}}},{{"key":"stepscope.step","value":{{"intValue":"{number}"}}}}"#
    );
    let root = span(1, "", "step", start, start + wait + 10_000_000, &step);
    let waits = span(2, "0000000000000001", "data_wait", start, start + wait, "");
    let works = span(3, "0000000000000001", "forward", start + wait, start + wait + 9_900_000, "");
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{root},{waits},{works}]}}]}}]}}"#) + "\n"
}

/// A real program of several kinds of sections, not the demo: the layer's own example.
#[test]
fn of_a_program_with_recursion_and_a_loader() {
    of_the_example("smoke", &["300"]);
}

#[test]
fn of_a_run_without_steps() {
    of_the_example("smoke", &["0"]);
}

fn of_the_example(name: &str, arguments: &[&str]) {
    let example = binaries::find(name).expect("cargo build -p stepscope --examples");
    let folder = TempFolder::new("figures-example").expect("a folder");
    let mut command = clean(Command::new(example));
    command.args(arguments).current_dir(folder.path()).env("STEPSCOPE_FORMAT", "json");
    // The rings hold the whole run.
    command.env("STEPSCOPE_RING_BYTES", "67108864");
    stepscope_testkit::process::run(&mut command, LIMIT).expect("starts").success().expect("succeeds");
    compare(&folder, &folder.join("profiles"));
}

/// What a program reads of its own run while it goes on is what the report on the run says.
#[test]
fn of_the_program_itself() {
    for (level, filter) in [("detailed", ""), ("detailed", "sample=50"), ("basic", ""), ("comprehensive", "")]
    {
        let example = binaries::find("programs").expect("cargo build -p stepscope --examples");
        let folder = TempFolder::new("figures-own").expect("a folder");
        let mut command = clean(Command::new(example));
        command.args(["figures", "after"]).current_dir(folder.path());
        // Its own quantiles leave deep steps out, those of a section in the report do not.
        command.env("STEPSCOPE_DEEP_STEPS", "off");
        command.envs([("STEPSCOPE_LEVEL", level), ("STEPSCOPE_FILTER", filter)]);
        let ended = stepscope_testkit::process::run(&mut command, LIMIT).expect("starts");
        let said = ended.success().expect("succeeds").stdout_text();
        let report = report(&[&folder.join("profiles")]);
        let rows = report["sections"].as_array().expect("sections");
        let lines: Vec<Vec<&str>> = said
            .lines()
            .filter_map(|line| Some(line.strip_prefix("section\t")?.split('\t').collect()))
            .collect();
        assert_eq!(lines.len(), rows.len(), "{said}");
        for row in rows {
            let path = row["path"].as_str().expect("a path");
            let line = lines.iter().find(|line| line[0] == path).expect(path);
            own_row(line, row);
        }
        own_throughput(&said, &report);
        own_memory(&said, &report);
        for (name, ranked) in [("slowest", "slowest_sections"), ("most_variable", "most_variable_sections")] {
            let own = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
            let own: Vec<&str> = own.expect(name).split('\t').collect();
            assert_eq!(serde_json::json!(own), report["detailed_metrics"][ranked], "{level} {filter}");
        }
    }
}

/// The fields of the line that begins with `first` and `second`, as numbers.
fn own_numbers(said: &str, first: &str, second: &str, at: usize) -> Vec<u64> {
    let begin = format!("{first}\t{second}\t");
    let line = said.lines().filter_map(|line| line.strip_prefix(&begin)).nth(at).expect(first);
    line.split('\t').map(|field| field.parse().expect("a number")).collect()
}

/// What steps did after the warm-up: samples and tokens to the one, and rates of the time of steps.
fn own_throughput(said: &str, report: &serde_json::Value) {
    let warm_up = report["summary"]["warmup_steps"].as_u64().expect("a number");
    let all = own_numbers(said, "work", "train", 0);
    let before = match warm_up {
        0 => vec![0; 4],
        _ => own_numbers(said, "so_far", "train", warm_up as usize - 1),
    };
    let [steps, total_ns, samples, tokens] = std::array::from_fn(|index| all[index] - before[index]);
    assert_eq!(steps, 150 - warm_up);
    let reported = &report["summary"]["throughput"];
    for (amount, name) in [(samples, "samples"), (tokens, "tokens")] {
        assert_eq!(reported[name].as_u64(), Some(amount), "{name}: {reported}");
        let rate = reported[format!("{name}_per_step_second")].as_f64().expect("a rate");
        let own = amount as f64 / (total_ns as f64 / 1e9);
        assert!((rate - own).abs() <= own * 1e-9, "{name}: {own} and {reported}");
    }
}

/// The memory of the process at the end of the run.
fn own_memory(said: &str, report: &serde_json::Value) {
    let [rss, peak, live] = own_numbers(said, "process", "memory", 0)[..] else { panic!("{said}") };
    let [reported] = &report["memory"]["processes"].as_array().expect("processes")[..] else {
        panic!("one process: {}", report["memory"])
    };
    // What the layer takes for itself is in neither, but for the name of its thread and what the copies of a guard share, which
    // go when nobody counts any more.
    let (name_bytes, guard_bytes) = ("stepscope\0".len() as u64, 32);
    let last = reported["live_last_bytes"].as_u64().expect("a size");
    let more = [0, name_bytes, guard_bytes, name_bytes + guard_bytes];
    assert!(more.iter().any(|more| last == live + more), "{live} and {reported}");
    // The program's own look came after the last one that the report knows of, when the layer had let its buffers go.
    let last = reported["rss_last_bytes"].as_u64().expect("a size");
    assert!(last.abs_diff(rss) <= 16 << 20 && last > 0, "{rss} and {reported}");
    let most = reported["rss_max_bytes"].as_u64().expect("a size");
    // (The system counts pages in lots of some dozens a processor, so that its own maximum may be a little less.)
    assert!((last..=peak + (1 << 20)).contains(&most), "{peak} and {reported}");
}

/// Filters and sampling leave spans out, and no section: the report on what is left counts what the program itself did.
#[test]
fn of_a_program_whose_spans_were_left_out() {
    const STEPS: u64 = 300;
    for filter in ["sample=100", "sample=100,min=5ms,rate=1000,depth=3,name=inner", "name=tiny,min=1s"] {
        let example = binaries::find("programs").expect("cargo build -p stepscope --examples");
        let folder = TempFolder::new("figures-left-out").expect("a folder");
        let mut command = clean(Command::new(example));
        command.args(["sieve", &STEPS.to_string()]).current_dir(folder.path());
        command.envs([("STEPSCOPE_FILTER", filter), ("STEPSCOPE_RING_BYTES", "8000000")]);
        let ended = stepscope_testkit::process::run(&mut command, LIMIT).expect("starts");
        let said = ended.success().expect("succeeds").stdout_text();
        let own: BTreeMap<&str, u64> = said
            .lines()
            .filter_map(|line| line.strip_prefix("= ")?.rsplit_once(' '))
            .map(|(path, count)| (path, count.parse().expect("a count")))
            .collect();
        assert_eq!(own["step/work/tiny"], STEPS * 10, "{said}");
        let report = report(&[&folder.join("profiles")]);
        let rows = report["sections"].as_array().expect("sections").iter();
        let reported: BTreeMap<&str, u64> = rows
            .map(|row| (row["path"].as_str().expect("a path"), row["count"].as_u64().expect("a count")))
            .collect();
        assert_eq!(reported, own, "{filter}");
        // And nearly all spans are missing.
        let read = report["run"]["spans"].as_u64().expect("spans that were read");
        assert!(read < own.values().sum::<u64>() / 4, "{filter}: {read}");
    }
}

/// A line that the program printed, and the row of the same section in the report.
fn own_row(line: &[&str], row: &serde_json::Value) {
    let as_said = |value: &serde_json::Value| match value {
        serde_json::Value::Null => "-".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let (stats, memory) = (row, &row["alloc"]);
    let same = [
        (1, &row["name"]),
        (2, &row["kind"]),
        (4, &stats["count"]),
        (5, &stats["total"]),
        (6, &row["self_busy_ns"]),
        (7, &stats["min"]),
        (8, &stats["max"]),
        (16, &memory["alloc_bytes"]),
        (17, &memory["free_bytes"]),
        (18, &memory["alloc_count"]),
        (19, &memory["self_alloc_bytes"]),
        (20, &memory["self_free_bytes"]),
    ];
    for (column, value) in same {
        assert_eq!(line[column], as_said(value), "{column} of {line:?} and {row}");
    }
    // Of sections without spans the report does not say what is around them.
    assert!(row["phase"].is_null() || line[3] == as_said(&row["phase"]), "{line:?} and {row}");
    // Few durations are known one by one where spans were read, and else to a bucket.
    let near = |said: &str, value: &serde_json::Value, relative: f64| {
        let Some(value) = value.as_f64() else { return assert_eq!(said, "-", "{line:?} and {row}") };
        let said: f64 = said.parse().expect("a number");
        assert!(
            (said - value).abs() <= value.abs() * relative + 0.5,
            "{said} for {value}: {line:?} and {row}"
        );
    };
    for (column, name) in [(9, "p50"), (10, "p95"), (11, "p99")] {
        near(line[column], &stats[name], 0.006);
    }
    for (column, name) in [(12, "mean"), (13, "std")] {
        near(line[column], &stats[name], 1e-12);
    }
    if let (Ok(said), Some(value)) = (line[14].parse::<f64>(), stats["cv"].as_f64()) {
        assert!((said - value).abs() <= 1e-9 * value, "{line:?} and {row}");
    }
}

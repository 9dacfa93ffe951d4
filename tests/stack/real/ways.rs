//! One run, all ways to the report: the directory, our receiver behind the collector, the collector's file exporter in
//! each of its formats, and Jaeger's API. The same for the demo and for a training program with burn.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_stack_tests::http;
use stepscope_stack_tests::program::{command, parse, report_text};
use stepscope_stack_tests::recorded::{self, Forwarding, Recorded};
use stepscope_stack_tests::report::{difference, without};
use stepscope_testkit::folder::{TempFolder, files_below};

/// Where a report may differ between the ways: where it was read from, and what the very last publication says of the
/// sending itself, which goes to the directory alone.
const MAY_DIFFER: [&str; 2] = ["inputs", "exported"];

/// What a report lacks, or says with less, where metrics are lost: Jaeger keeps none.
const LOST_WITH_METRICS: [&str; 14] = [
    "inputs",
    // How many spans were recorded and lost, and the rule that judges it.
    "losses",
    "recorded_steps",
    "state",
    "because",
    // Gauges of the process.
    "processes",
    // What sections did themselves, where spans show only the time around them, and the order by it.
    "source",
    "self_busy_ns",
    "self_ns",
    "self_alloc_bytes",
    "self_free_bytes",
    "self_net_bytes",
    "slowest_sections",
    // What sections hold over the steps: those that may have steps or batches inside are told apart by the sums alone.
    "by_section",
];

#[test]
fn one_run_of_the_demo_gives_one_report() {
    // Besides what the configuration has: zstd around the whole file, which the collector can do on request.
    let native: &[&str] = &["--gates", "exporter.file.nativeCompression"];
    for (gates, forwarding, seed) in [(&[][..], Forwarding::Http, "1"), (native, Forwarding::Grpc, "2")] {
        let demo = |profiles: &Path| {
            recorded::demo_command(profiles, &["--steps", "440", "--seed", seed], "protobuf")
        };
        let mut recorded = recorded::everywhere(gates, forwarding, demo).expect("a run");
        let directory = assert_one_report(&mut recorded, "stepscope-demo");
        assert_eq!(recorded.printed, directory, "the demo prints the directory's report");
    }
}

/// burn is not built with the workspace: `cargo xtask test stack` builds the example and says where it is.
#[test]
fn one_run_with_burn_gives_one_report() {
    let Some(program) = std::env::var_os("STEPSCOPE_BURN_DIGITS").map(PathBuf::from) else {
        println!("SKIPPED: STEPSCOPE_BURN_DIGITS names no built examples/burn-digits");
        return;
    };
    let burn = |profiles: &Path| {
        let mut command = command(&program, &["--steps", "200", "--out"]);
        command.arg(profiles).env("RAYON_NUM_THREADS", "1");
        Ok(command)
    };
    let mut recorded = recorded::everywhere(&[], Forwarding::Http, burn).expect("a run");
    let report = parse(&assert_one_report(&mut recorded, "burn-digits")).expect("JSON");
    let steps = |key: &str| report["summary"][key].as_u64().expect("a number");
    assert_eq!(steps("steps") + steps("warmup_steps"), 200);
    let paths: Vec<_> =
        report["sections"].as_array().expect("sections").iter().map(|row| &row["path"]).collect();
    for path in ["step/data_wait", "step/forward", "step/backward", "step/optimizer"] {
        assert!(paths.iter().any(|found| *found == path), "{path} is not among {paths:?}");
    }
}

/// Compares the reports of all ways; gives the directory's.
fn assert_one_report(recorded: &mut Recorded, service: &str) -> String {
    recorded.finish().expect("everything arrives");
    let Recorded { stack, profiles, spans, received, .. } = &*recorded;
    let directory = report_text(&[profiles]).expect("a report");
    let losses = &parse(&directory).expect("JSON")["losses"];
    for sink in losses["exported"].as_array().expect("sinks") {
        assert_eq!(sink["spans"].as_u64(), Some(*spans), "{sink}");
    }
    let expected = without(&directory, &MAY_DIFFER);
    assert!(expected.len() > directory.len() / 2, "something is left to compare");
    let ways = [
        ("our receiver", received.clone()),
        ("file exporter, JSON", stack.data("json")),
        ("file exporter, protobuf", stack.data("proto")),
        ("file exporter, zstd", stack.data("zstd")),
    ];
    let mut formats = Vec::new();
    for (way, input) in &ways {
        let text = report_text(&[input]).expect("a report");
        let got = without(&text, &MAY_DIFFER);
        assert!(got == expected, "{way}: another report\n{}", difference(&expected, &got));
        let inputs = &parse(&text).expect("JSON")["inputs"];
        formats.push(inputs[1]["format"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(formats.iter().collect::<BTreeSet<_>>().len(), 3, "three formats: {formats:?}");
    println!(
        "{service}: {spans} spans, {} bytes of the directory's report but for {MAY_DIFFER:?} the same from {:?}",
        expected.len(),
        ways.map(|(way, _)| way)
    );
    assert_jaeger_loses_the_metrics_alone(recorded, service, &directory);
    directory
}

/// Jaeger keeps no metrics, so its report is that of the directory's spans alone, byte for byte, and parts from the
/// whole directory's only where metrics tell more.
fn assert_jaeger_loses_the_metrics_alone(recorded: &Recorded, service: &str, directory: &str) {
    // Every trace of the service, whenever it was.
    let query = format!(
        "/api/v3/traces?query.service_name={service}&query.num_traces=100000\
         &query.start_time_min=2000-01-01T00:00:00Z&query.start_time_max=2200-01-01T00:00:00Z"
    );
    let answer = http::get(recorded.stack.address("JAEGER_QUERY"), &query).expect("an answer");
    let folder = TempFolder::new("answer").expect("a folder");
    let file = folder.join("answer.json");
    std::fs::write(&file, &answer).expect("written");

    let files = files_below(&recorded.profiles).expect("files");
    let is_traces =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces"));
    let traces: Vec<&Path> = files.iter().filter(is_traces).map(PathBuf::as_path).collect();
    let expected = without(&report_text(&traces).expect("a report"), &["inputs"]);
    let text = report_text(&[&file]).expect("a report");
    let got = without(&text, &["inputs"]);
    assert!(got == expected, "Jaeger: another report\n{}", difference(&expected, &got));

    let kept = |text: &str| {
        let mut report = parse(text).expect("JSON");
        remove(&mut report, &LOST_WITH_METRICS);
        serde_json::to_string_pretty(&report).expect("text")
    };
    let (whole, from_jaeger) = (kept(directory), kept(&text));
    assert!(whole == from_jaeger, "Jaeger loses more\n{}", difference(&whole, &from_jaeger));
    println!(
        "{service}: from Jaeger the report of the spans alone, byte for byte; {} bytes are the whole directory's, but for \
         {LOST_WITH_METRICS:?}",
        whole.len()
    );
}

/// Takes fields of these names away, wherever they are.
fn remove(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|value| remove(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| remove(value, names)),
        _ => {}
    }
}

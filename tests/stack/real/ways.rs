//! One run, several ways to the report: the directory, the collector's file exporter in each of its formats, and
//! Jaeger's API.

use stepscope_stack_tests::http;
use stepscope_stack_tests::program::{parse, report_text};
use stepscope_stack_tests::recorded::{self, Recorded};
use stepscope_stack_tests::report::{difference, without};
use stepscope_testkit::folder::{TempFolder, files_below};

/// Where a report may differ between the ways: where it was read from, and what the very last publication of the
/// program's figures says, which counts what the sending itself took and hence goes to the directory alone.
const MAY_DIFFER: [&str; 4] = ["inputs", "exported", "live_last_bytes", "rss_last_bytes"];

#[test]
fn each_file_format_of_the_collector_gives_the_directorys_report() {
    // Besides what the configuration has: zstd around the whole file, which the collector can do on request.
    for (gates, seed) in [(&[][..], "1"), (&["--gates", "exporter.file.nativeCompression"], "2")] {
        let recorded = recorded::demo(gates, &[], &["--steps", "440", "--seed", seed], "protobuf");
        let Recorded { stack, profiles, report, spans, .. } = &recorded.expect("a run");
        let directory = report_text(&[profiles]).expect("a report");
        assert_eq!(report, &directory, "the demo prints the directory's report");
        let losses = &parse(&directory).expect("JSON")["losses"];
        for sink in losses["exported"].as_array().expect("sinks") {
            assert_eq!(sink["spans"].as_u64(), Some(*spans), "{sink}");
        }
        stack.wait_for_stored(*spans).expect("all reach Jaeger");
        stack.change("stop", "collector").expect("stops, hence flushes its files");

        let expected = without(&directory, &MAY_DIFFER);
        assert!(expected.len() > directory.len() / 2, "something is left to compare");
        let mut formats = Vec::new();
        for way in ["json", "proto", "zstd"] {
            let text = report_text(&[&stack.data(way)]).expect("a report");
            let got = without(&text, &MAY_DIFFER);
            assert!(got == expected, "{way}: another report\n{}", difference(&expected, &got));
            let inputs = &parse(&text).expect("JSON")["inputs"];
            formats.push(inputs[1]["format"].as_str().unwrap_or_default().to_owned());
        }
        println!("{spans} spans, the same report from the directory and from {formats:?}");
        formats.dedup();
        assert_eq!(formats.len(), 3, "three formats");
    }
}

/// Jaeger keeps no metrics, so the report is that of the directory's spans alone.
#[test]
fn jaegers_answer_gives_the_report_of_the_directorys_spans() {
    let recorded = recorded::demo(&[], &[], &["--steps", "220"], "protobuf").expect("a run");
    let Recorded { stack, profiles, spans, .. } = &recorded;
    stack.wait_for_stored(*spans).expect("all reach Jaeger");

    // Every trace of the service, whenever it was.
    let query = "/api/v3/traces?query.service_name=stepscope-demo&query.num_traces=100000\
                 &query.start_time_min=2000-01-01T00:00:00Z&query.start_time_max=2200-01-01T00:00:00Z";
    let answer = http::get(stack.address("JAEGER_QUERY"), query).expect("an answer");
    let folder = TempFolder::new("answer").expect("a folder");
    let file = folder.join("answer.json");
    std::fs::write(&file, &answer).expect("written");

    let traces: Vec<_> = files_below(profiles).expect("files");
    let traces = traces
        .iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces")));
    let traces: Vec<_> = traces.map(|path| path.as_path()).collect();
    let expected = without(&report_text(&traces).expect("a report"), &["inputs"]);
    let got = without(&report_text(&[&file]).expect("a report"), &["inputs"]);
    assert!(got == expected, "another report\n{}", difference(&expected, &got));
    println!("{spans} spans, the same report from the directory's traces and from Jaeger's answer");
}

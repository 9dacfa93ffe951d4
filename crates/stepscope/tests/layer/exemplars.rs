//! A metric of the program's own that names the step behind it: the ids are those of a span that arrives.

use crate::common::{Program, check};

#[test]
fn an_exemplar_names_a_step_that_is_there() {
    let ended = Program::new(&["exemplars", "8"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    let exemplar = |le: &str| {
        let start = format!("step_seconds_bucket{{le=\"{le}\"}} ");
        let line = ended.stdout.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
        // `count # {trace_id="…",span_id="…"} value`, as OpenMetrics has it.
        let (count, exemplar) = line.split_once(" # {trace_id=\"").unwrap();
        let (trace, rest) = exemplar.split_once("\",span_id=\"").unwrap();
        let (span, value) = rest.split_once("\"} ").unwrap();
        assert_eq!((trace.len(), span.len()), (32, 16), "{line}");
        let trace = u128::from_str_radix(trace, 16).unwrap().to_be_bytes();
        let id = u64::from_str_radix(span, 16).unwrap();
        (count.parse::<u64>().unwrap(), trace, id, value.parse::<f64>().unwrap())
    };
    let (count, trace, id, seconds) = exemplar("+Inf");
    assert_eq!(count, 8);
    let by_id = recording.by_id();
    let step = by_id[&id];
    assert_eq!((step.name.as_str(), step.trace), ("step", trace));
    // The step has more in it than what was measured.
    assert!(seconds >= 0.003 && step.duration_ns() as f64 >= seconds * 1e9, "{seconds} {step:?}");
}

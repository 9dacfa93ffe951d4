//! One short run through the collector and Jaeger: every span arrives once, the collector's files give the directory's
//! report, and steps open. The other files of this folder look at everything else.

use stepscope_stack_tests::program::report_text;
use stepscope_stack_tests::recorded::{self, Recorded};
use stepscope_stack_tests::report::{difference, without};
use stepscope_stack_tests::traces::{self, Traces, integer, root};

use crate::jaeger::open;

/// Where the reports may differ: where they were read from, and what the last publication says of the sending itself.
const MAY_DIFFER: [&str; 2] = ["inputs", "exported"];

#[test]
fn a_run_arrives_and_opens() {
    let mut recorded = recorded::demo(&[], &[], &["--steps", "60"], "protobuf").expect("a run");
    recorded.finish().expect("everything arrives");
    let Recorded { stack, profiles, spans, .. } = &recorded;
    let report = |input| without(&report_text(&[input]).expect("a report"), &MAY_DIFFER);
    let (sent, received) = (report(profiles), report(&stack.data("proto")));
    assert!(sent == received, "another report\n{}", difference(&sent, &received));

    let mut taken = Traces::new();
    traces::of_json_lines(&stack.data("json/traces.jsonl"), &mut taken).expect("traces");
    assert_eq!(taken.values().map(|spans| spans.len() as u64).sum::<u64>(), *spans);
    let is_step =
        |trace: &&String| root(&taken[*trace]).is_some_and(|root| integer(root, "stepscope.step").is_some());
    let steps: Vec<&String> = taken.keys().filter(is_step).collect();
    assert!(steps.len() >= 60, "{}", steps.len());
    for trace in steps.iter().step_by(10) {
        assert_eq!(open(stack, trace).expect("it opens")[*trace], taken[*trace], "{trace}");
    }
}

//! Critical paths that go on from a wait through the traces that it links to, stage by stage. All times by hand.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::ThroughBatches;
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{Link, Trace};

use crate::build::{Build, fold, summarise};
use crate::critical::{critical, rows};

/// The root of trace `number`, whose id is that of a trace with a number of its own in its process.
fn stage(number: u64) -> Build {
    let mut build = Build::new(number);
    build.0.id[8] = 1;
    build
}

fn link(span: u64, to: &Build) -> Link {
    Link { span, trace: to.0.id, target: 1 }
}

/// A step that waits for a batch, which was collated from one that another thread decoded from what a third one fetched.
fn stages() -> Vec<Trace> {
    let (mut step, mut run) = (stage(1), Build::new(90));
    let (mut collate, mut decode, mut fetch) = (stage(2), stage(3), stage(4));
    step.step(1, 0, 1100).thread(1);
    step.span(1, "data_wait", 0, 1000).thread(1);
    step.span(1, "forward", 1000, 1100).thread(1);
    collate.span(0, "collate", 700, 980).kind(SectionKind::Batch).thread(2);
    collate.span(1, "data_wait", 710, 800).thread(2);
    collate.span(1, "stack", 800, 970).thread(2);
    decode.span(0, "decode", 400, 790).kind(SectionKind::Batch).thread(3);
    decode.span(1, "jpeg", 410, 780).thread(3);
    fetch.span(0, "fetch", 100, 395).thread(4);
    fetch.span(1, "read", 150, 390).thread(4);
    // The run's trace, which ended later than that.
    run.span(0, "session", 0, 399).thread(1);
    step.0.links = vec![link(2, &collate)];
    collate.0.links = vec![link(1, &decode), link(2, &decode)];
    decode.0.links = vec![link(1, &fetch)];
    let to_run = link(1, &run);
    let mut stages = [step, collate, decode, fetch, run];
    stages[..4].iter_mut().for_each(|stage| stage.0.links.push(to_run));
    stages.map(|stage| stage.trace()).into()
}

fn times(summary: &Summary) -> Vec<(String, u64)> {
    let mut times: Vec<(String, u64)> = rows(critical(summary))
        .into_iter()
        .map(|(path, on_path_ns, ..)| (path.to_owned(), on_path_ns))
        .collect();
    times.retain(|(_, on_path_ns)| *on_path_ns > 0);
    times.sort();
    times
}

fn expected(times: &[(&str, u64)]) -> Vec<(String, u64)> {
    assert_eq!(times.iter().map(|(_, ns)| ns).sum::<u64>(), 1100);
    times.iter().map(|(path, ns)| ((*path).to_owned(), *ns)).collect()
}

#[test]
fn the_path_goes_through_all_stages() {
    let traces = stages();
    let all = [
        ("collate", 20),
        ("collate/data_wait", 10),
        ("collate/stack", 170),
        ("decode", 20),
        ("decode/jpeg", 360),
        ("fetch", 55),
        ("fetch/read", 240),
        ("step/data_wait", 125),
        ("step/forward", 100),
    ];
    let summary = summarise(&traces);
    assert_eq!(times(&summary), expected(&all));
    let said = ThroughBatches { linked_ns: 1000, in_production_ns: 875, is_exact: true };
    assert_eq!(critical(&summary).through_batches, Some(said));
    let calls: Vec<_> = rows(critical(&summary)).iter().map(|row| (row.2, row.3)).collect();
    assert_eq!(calls, [(1, 0); 9], "{:?}", rows(critical(&summary)));
    // Parts of the input are put together in any order.
    for cut in 1..traces.len() {
        let (mut one, other) = (fold(&traces[cut..]), fold(&traces[..cut]));
        one.merge(&other);
        assert_eq!(one.finish(None).critical_path, summary.critical_path);
    }
}

/// OpenTelemetry's kinds of spans.
const CLIENT: i32 = 3;
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;

/// Sections and their time on the path of a step with a section from 100 to 900 that links to `publish` of a trace whose root
/// ends then.
fn of_message(name: &str, kind: i32, phase: Option<Phase>, root_end_ns: u64) -> Vec<(String, u64)> {
    let (mut step, mut sender) = (stage(1), stage(2));
    step.step(1, 0, 1100).thread(1);
    let wait = step.span(1, name, 100, 900).thread(1);
    if let Some(phase) = phase {
        wait.phase(phase);
    }
    step.0.spans[1].span_kind = kind;
    step.0.links = vec![Link { span: 2, trace: sender.0.id, target: 3 }];
    sender.span(0, "handle", 50, root_end_ns);
    sender.span(1, "render", 200, 600);
    sender.span(1, "publish", 600, 800);
    sender.0.spans[2].span_kind = PRODUCER;
    times(&summarise(&[step.foreign().trace(), sender.foreign().trace()]))
}

#[test]
fn who_takes_a_message_waited_until_it_was_sent() {
    let row = |path: &str, ns| (path.to_owned(), ns);
    let sent = [row("handle", 100 + 10), row("handle/publish", 200), row("handle/render", 400)];
    for (name, kind) in
        [("process orders", CONSUMER), ("orders receive", CONSUMER), ("receive orders", CLIENT)]
    {
        let expected = [&sent[..], &[row(&format!("step/{name}"), 90)]].concat();
        assert_eq!(of_message(name, kind, None, 810), expected);
    }
    // Who sends, calls, or says what else it does did not wait.
    for (name, kind, phase) in [
        ("send orders", CLIENT, None),
        ("receive", PRODUCER, None),
        ("process", CONSUMER, Some(Phase::Forward)),
    ] {
        assert_eq!(of_message(name, kind, phase, 810), [row(&format!("step/{name}"), 800)]);
    }
    // Who sent it went on to work: of that nobody says when it was sent, and of the section it is known that it works too.
    assert_eq!(of_message("process", CONSUMER, None, 950), [row("step/process", 800)]);
    // What only waits did so for what was at work, and never beyond its own end.
    let sent = [row("handle", 100 + 100), row("handle/publish", 200), row("handle/render", 400)];
    assert_eq!(of_message("process", CONSUMER, Some(Phase::DataWait), 950), sent);
}

//! Critical paths that go on from a wait through the traces that it links to, stage by stage. All times by hand.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::ThroughBatches;
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{Link, Trace};

use crate::build::{Build, fold, summarise};
use crate::critical::{Row, critical, rows};

/// The root of trace `number`, whose id is that of a trace with a number of its own in its process.
fn stage(number: u64) -> Build {
    let mut build = Build::new(number);
    build.0.id[8] = 1;
    build
}

fn link(span: u64, to: &Build) -> Link {
    Link { span, trace: to.0.id, target: 1 }
}

/// Which links are left out.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    None,
    WaitOfStep,
    RootOfCollate,
    WaitOfCollate,
    RootOfDecode,
}

/// A step that waits for a batch, which was collated from one that another thread decoded from what a third one fetched.
fn stages(without: Without) -> Vec<Trace> {
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
    let links = [
        (Without::WaitOfStep, link(2, &collate), 0),
        (Without::RootOfCollate, link(1, &decode), 1),
        (Without::WaitOfCollate, link(2, &decode), 1),
        (Without::RootOfDecode, link(1, &fetch), 2),
    ];
    let to_run = link(1, &run);
    let mut stages = [step, collate, decode, fetch, run];
    for (what, link, of) in links {
        if what != without {
            stages[of].0.links.push(link);
        }
    }
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
    let traces = stages(Without::None);
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
    // Traces come in any order, and parts of the input are put together either way.
    assert_eq!(summarise(traces.iter().rev()).critical_path, summary.critical_path);
    for cut in 1..traces.len() {
        let (mut one, other) = (fold(&traces[cut..]), fold(&traces[..cut]));
        one.merge(&other);
        assert_eq!(one.finish(None).critical_path, summary.critical_path);
    }
}

#[test]
fn without_a_link_the_path_ends_there() {
    let wait_of_step = [("step/data_wait", 1000), ("step/forward", 100)];
    assert_eq!(times(&summarise(&stages(Without::WaitOfStep))), expected(&wait_of_step));
    let root_of_collate = [
        ("collate", 20),
        ("collate/data_wait", 10),
        ("collate/stack", 170),
        ("decode", 10),
        ("decode/jpeg", 70),
        ("step/data_wait", 720),
        ("step/forward", 100),
    ];
    assert_eq!(times(&summarise(&stages(Without::RootOfCollate))), expected(&root_of_collate));
    let wait_of_collate = [
        ("collate", 20),
        ("collate/data_wait", 90),
        ("collate/stack", 170),
        ("decode", 10),
        ("decode/jpeg", 290),
        ("fetch", 55),
        ("fetch/read", 240),
        ("step/data_wait", 125),
        ("step/forward", 100),
    ];
    assert_eq!(times(&summarise(&stages(Without::WaitOfCollate))), expected(&wait_of_collate));
    let root_of_decode = [
        ("collate", 20),
        ("collate/data_wait", 10),
        ("collate/stack", 170),
        ("decode", 20),
        ("decode/jpeg", 360),
        ("step/data_wait", 420),
        ("step/forward", 100),
    ];
    assert_eq!(times(&summarise(&stages(Without::RootOfDecode))), expected(&root_of_decode));
}

#[test]
fn of_several_batches_the_one_that_ended_last_is_followed() {
    // By the numbers of the two traces.
    let path = |early: u64, late: u64| {
        let mut step = stage(1);
        step.step(1, 0, 1000).thread(1);
        step.span(1, "data_wait", 0, 800).thread(1);
        let mut batches = [(early, "early", 300), (late, "late", 700)].map(|(number, name, end)| {
            let mut batch = stage(number);
            batch.span(0, name, 100, end).kind(SectionKind::Batch).thread(2);
            batch
        });
        step.0.links = batches.iter().map(|batch| link(2, batch)).collect();
        // One that went on after the wait did not end it.
        let mut after = stage(50);
        after.span(0, "after", 50, 900).kind(SectionKind::Batch).thread(3);
        step.0.links.push(link(2, &after));
        let mut traces: Vec<Trace> =
            batches.iter_mut().map(|batch| std::mem::replace(batch, stage(0)).trace()).collect();
        traces.extend([step.trace(), after.trace()]);
        let summary = summarise(&traces);
        assert_eq!(summarise(traces.iter().rev()).critical_path, summary.critical_path);
        summary
    };
    let expected: [Row<'_>; 2] = [("late", 600, 1, 0, None), ("step/data_wait", 200, 1, 0, None)];
    for (early, late) in [(2, 3), (3, 2)] {
        let summary = path(early, late);
        assert_eq!(rows(critical(&summary)), expected);
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

#[test]
fn a_part_of_a_checkpoint_that_says_what_it_does_takes_no_messages() {
    let through = |phase: Option<Phase>| {
        let (mut step, mut sender) = (stage(1), stage(2));
        step.step(1, 0, 1000).thread(1);
        step.span(1, "checkpoint", 50, 950).thread(1);
        let part = step.span(2, "process", 100, 900).thread(1);
        if let Some(phase) = phase {
            part.phase(phase);
        }
        step.0.spans[2].span_kind = CONSUMER;
        step.0.links = vec![link(3, &sender)];
        sender.span(0, "send", 200, 800);
        critical(&summarise(&[step.trace(), sender.trace()])).through_batches.map(|through| through.linked_ns)
    };
    assert_eq!(through(None), Some(800));
    assert_eq!(through(Some(Phase::Io)), None);
}

#[test]
fn a_message_within_a_trace_is_waited_for_until_it_was_sent() {
    let path = |kind: i32| {
        let mut build = stage(1);
        build.span(0, "request", 0, 1000);
        build.span(1, "handle", 50, 950);
        build.span(2, "render", 200, 600);
        build.span(2, "publish", 600, 800);
        build.span(1, "process", 100, 960);
        (build.0.spans[3].span_kind, build.0.spans[4].span_kind) = (PRODUCER, kind);
        build.0.links = vec![Link { span: 5, trace: build.0.id, target: 4 }];
        times(&summarise(&[build.foreign().trace()]))
    };
    let row = |path: &str, ns| (path.to_owned(), ns);
    // After it was sent the time is its own, whatever the sender did then; the sender is there from its start.
    let sent = [
        row("request", 90),
        row("request/handle", 150),
        row("request/handle/publish", 200),
        row("request/handle/render", 400),
        row("request/process", 160),
    ];
    assert_eq!(path(CONSUMER), sent);
    assert_eq!(path(CLIENT), [row("request", 140), row("request/process", 860)]);
}

#[test]
fn a_wait_for_a_section_that_is_no_batch_is_followed_as_well() {
    let path = |is_linked: bool| {
        let (mut step, mut writer) = (stage(1), stage(2));
        step.step(1, 0, 1000).thread(1);
        step.span(1, "join_writer", 200, 800).phase(Phase::Synchronization).thread(1);
        writer.span(0, "write", 100, 790).phase(Phase::Io).thread(2);
        writer.span(1, "compress", 300, 700).thread(2);
        if is_linked {
            step.0.links = vec![link(2, &writer)];
        }
        summarise(&[step.trace(), writer.trace()])
    };
    let expected: [Row<'_>; 3] = [
        ("write/compress", 400, 1, 0, None),
        ("write", 190, 1, 0, None),
        ("step/join_writer", 10, 1, 0, None),
    ];
    assert_eq!(rows(critical(&path(true))), expected);
    assert_eq!(rows(critical(&path(false))), [("step/join_writer", 600, 1, 0, None)]);
}

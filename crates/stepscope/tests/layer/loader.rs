//! Batches: a trace each, and a waiting section that knows where its batch came from.

use std::collections::BTreeMap;

use stepscope_core::attr;

use crate::common::{Program, check};

#[test]
fn a_wait_leads_to_its_batch() {
    let ended = Program::new(&["loader", "40"]).succeed();
    let (recording, truth) = (ended.recording(), ended.truth());
    check::all(&recording);
    assert_eq!((truth["taken"], truth["depth"], truth["validation.depth"]), (40, 0, 0));

    let is_of = |loader: &'static str| {
        move |span: &&_| crate::common::Span::text(span, attr::BATCH_LOADER) == Some(loader)
    };
    let batches: BTreeMap<i64, _> = recording
        .named("batch")
        .filter(is_of("train"))
        .map(|span| (span.int(attr::BATCH_ID).unwrap(), span))
        .collect();
    assert!(batches.keys().copied().eq(0..40));
    let waits: Vec<_> = recording.named("data_wait").filter(is_of("train")).collect();
    assert_eq!(waits.len(), 40);
    let steps = recording.by_id();
    let mut taken = std::collections::BTreeSet::new();
    for wait in waits {
        let get = |key| u64::try_from(wait.int(key).unwrap()).unwrap();
        let id = wait.int(attr::BATCH_ID).unwrap();
        assert!(taken.insert(id), "batch {id} was taken twice");
        let batch = batches[&id];
        assert!(batch.is_root() && batch.kind() == "batch");
        assert_eq!(wait.links, [(batch.trace, batch.id)]);
        assert_eq!(
            (wait.text(attr::PHASE), batch.text(attr::PHASE)),
            (Some("data_wait"), Some("data_loading"))
        );
        let decode = recording.children(batch);
        assert_eq!((decode.len(), decode[0].name.as_str()), (1, "decode"));
        // It took at least as long as its section; and it lay in the queue from its end, or a little later,
        // until it was taken, or a little earlier.
        assert!(get(attr::BATCH_PRODUCE_NS) >= batch.duration_ns());
        assert!(get(attr::BATCH_QUEUE_NS) <= wait.end_ns - batch.end_ns);
        let step = steps[&wait.parent.unwrap()].int(attr::STEP).unwrap();
        let (least, most) =
            (truth[&*format!("queue.at_least.{step}")], truth[&*format!("queue.at_most.{step}")]);
        assert!((least..=most).contains(&get(attr::BATCH_QUEUE_NS)), "{least} {most} {wait:?}");
        // 4 in the channel, one in the hands of each worker, and one more that was made while this one, still
        // counted, was on its way.
        assert!((1..=7).contains(&get(attr::BATCH_QUEUE_DEPTH)));
        assert_eq!(wait.text(attr::BATCH_WORKER), batch.text(attr::THREAD_NAME));
        assert!(batch.text(attr::THREAD_NAME).unwrap().starts_with("worker-"));
        // The memory of the batch alone: the vector, and nothing of what travels with it.
        assert_eq!(batch.int(attr::MEM_ALLOC_BYTES), Some(10_000));
    }
    // What a thread says of the time since its last batch is no more than that; of its first one nothing can be said.
    let mut by_thread: BTreeMap<Option<i64>, Vec<_>> = BTreeMap::new();
    for batch in batches.values() {
        by_thread.entry(batch.int(attr::THREAD_ID)).or_default().push(batch);
    }
    for batches in by_thread.values_mut() {
        batches.sort_by_key(|batch| batch.start_ns);
        assert_eq!(batches[0].int(attr::BATCH_SLOT_WAIT_NS), None);
        for pair in batches.windows(2) {
            let waited = u64::try_from(pair[1].int(attr::BATCH_SLOT_WAIT_NS).unwrap()).unwrap();
            assert!(waited <= pair[1].start_ns - pair[0].end_ns, "{waited} {pair:?}");
        }
    }
    // After the step that waited for it the queue was full.
    let deepest = recording.named("data_wait").filter_map(|wait| wait.int(attr::BATCH_QUEUE_DEPTH)).max();
    assert!(deepest >= Some(6), "{deepest:?}");
    assert!(batches.values().any(|batch| batch.int(attr::BATCH_SLOT_WAIT_NS) > Some(0)));
}

#[test]
fn the_end_of_the_data_is_no_step() {
    let recording = Program::new(&["loader", "40"]).succeed().recording();
    let steps = recording.steps();
    let numbers: Vec<i64> = steps.iter().map(|step| step.int(attr::STEP).unwrap()).collect();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
    assert!(steps.iter().all(|step| step.int(attr::SAMPLES) == Some(8)));
    // They wait themselves.
    assert!(steps.iter().all(|step| step.int(attr::INPUT_BEFORE_NS).is_none()));
    // The attempt to take one more: a trace without a number, with a wait that leads nowhere.
    let discarded: Vec<_> = recording.named("step").filter(|span| span.kind() != "step").collect();
    assert_eq!((discarded.len(), discarded[0].int(attr::STEP)), (1, None));
    let wait = recording.children(discarded[0]);
    assert_eq!((wait.len(), wait[0].int(attr::BATCH_ID), wait[0].links.len()), (1, None, 0));

    let alone = recording.named("data_wait").find(|span| span.text(attr::BATCH_LOADER) == Some("validation"));
    let alone = alone.unwrap();
    assert!(alone.is_root());
    // Waiting for what is there already costs no memory; a channel's own would be the program's.
    assert_eq!((alone.int(attr::MEM_ALLOC_BYTES), alone.int(attr::MEM_FREE_BYTES)), (Some(0), Some(0)));
    // Its batch was made on the same thread before; the one that nobody took is there as well.
    assert_eq!(recording.named("batch").count(), 42);
    assert_eq!(alone.int(attr::BATCH_QUEUE_DEPTH), Some(1));
}

#[test]
fn waits_for_an_iterator_lie_between_the_steps() {
    let recording = Program::new(&["iterate", "20"]).succeed().recording();
    check::all(&recording);
    let mut waits: Vec<_> = recording.named("data_wait").collect();
    // One for each item, and one for the end; before that those of the loops without steps.
    assert_eq!(waits.len(), 4 + 1 + 21);
    assert!(waits.iter().all(|wait| wait.text(attr::PHASE) == Some("data_wait")));
    assert_eq!(waits.iter().filter(|wait| wait.is_root()).count(), 4 + 21);
    assert_eq!(waits.iter().filter(|wait| wait.duration_ns() >= 2_000_000).count(), 1 + 20);
    assert_eq!(recording.named("step").count(), 20);

    // Each step knows of the wait before it: as long as the items take, and no longer than from what came before.
    waits.sort_by_key(|wait| wait.start_ns);
    let mut until_ns = recording.named("evaluation").next().unwrap().end_ns;
    for step in recording.steps() {
        let waited_ns = u64::try_from(step.int(attr::INPUT_BEFORE_NS).unwrap()).unwrap();
        assert!((2_000_000..=step.start_ns - until_ns).contains(&waited_ns), "{waited_ns} {step:?}");
        until_ns = step.end_ns;
    }
}

#[test]
fn waits_between_steps_are_for_the_steps_of_their_loop() {
    for from in ["iterator", "loader"] {
        let recording = Program::new(&["evaluate", from]).succeed().recording();
        check::all(&recording);
        let mut waits: Vec<_> = recording.named("data_wait").collect();
        waits.sort_by_key(|wait| wait.start_ns);
        let modes: Vec<&str> = waits.iter().map(|wait| wait.text(attr::MODE).unwrap_or("train")).collect();
        // Before the first step of a loop that never ran nobody knows; the wait for the end is the loop's, too.
        let first = ["train", "train", "train", "train", "train", "eval", "eval"];
        let second = ["train", "train", "train", "train", "eval", "eval", "eval"];
        assert_eq!(modes, [first, second].concat(), "{from}");
        // The wait for the end of one loop is not the first step's of the next one.
        for step in recording.steps() {
            let its = waits.iter().rfind(|wait| wait.end_ns <= step.start_ns).unwrap();
            let waited_ns = u64::try_from(step.int(attr::INPUT_BEFORE_NS).unwrap()).unwrap();
            assert!(waited_ns > 0, "{step:?}");
            let before_ns =
                recording.spans.iter().map(|span| span.end_ns).filter(|&end_ns| end_ns <= its.start_ns).max();
            assert!(waited_ns <= step.start_ns - before_ns.unwrap_or(0), "{waited_ns} {step:?}");
        }
    }
}

#[test]
fn a_loop_that_was_left_early_is_known_when_it_comes_again() {
    let recording = Program::new(&["sources", "left"]).succeed().recording();
    let mut waits: Vec<_> = recording.named("data_wait").collect();
    waits.sort_by_key(|wait| wait.start_ns);
    let modes: Vec<&str> = waits.iter().map(|wait| wait.text(attr::MODE).unwrap_or("train")).collect();
    assert_eq!(modes, ["train", "eval", "train", "eval", "eval", "eval"]);
}

/// The training steps of what takes batches from several sources, 4 ms each: the input before each is at least so long, and no
/// longer than from the step before it, or one of `others`, without what loops in between wait for.
fn sources(case: &str, at_least_ns: u64, others: &[&str], between_ns: u64) {
    let recording = Program::new(&["sources", case]).succeed().recording();
    check::all(&recording);
    let steps = recording.steps();
    assert!(!steps.is_empty());
    for step in steps.iter().filter(|step| step.text(attr::MODE).is_none()) {
        let is_before = |span: &&crate::common::Span| span.end_ns <= step.start_ns;
        let is_other = |span: &&crate::common::Span| others.contains(&&*span.name) || span.name == "step";
        let before_ns =
            recording.spans.iter().filter(is_before).filter(is_other).map(|span| span.end_ns).max();
        let waited_ns = step.int(attr::INPUT_BEFORE_NS).map(|ns| u64::try_from(ns).unwrap());
        let most_ns = step.start_ns - before_ns.unwrap_or(0) - between_ns;
        let is_right = waited_ns.is_some_and(|ns| (at_least_ns..=most_ns).contains(&ns));
        assert!(is_right, "{case}: {waited_ns:?} of {at_least_ns}..={most_ns} {step:?}");
    }
}

#[test]
fn each_source_of_a_step_counts_for_it() {
    sources("two", 6_000_000, &[], 0);
    sources("chunks", 8_000_000, &[], 0);
    sources("nested", 12_000_000, &[], 0);
    sources("nested_loader", 12_000_000, &[], 0);
    sources("turns", 4_000_000, &[], 0);
}

#[test]
fn what_others_wait_for_is_no_input_of_a_step() {
    sources("before", 4_000_000, &["evaluate"], 0);
    sources("steps", 4_000_000, &["evaluate"], 0);
    sources("between", 4_000_000, &[], 4_000_000);
}

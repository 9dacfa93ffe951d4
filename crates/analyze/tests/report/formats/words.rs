//! Sentences that are made once for every format, in cases where their usual words would say something odd: times of nothing, lists
//! of nothing, ranks that are not there.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{CriticalPath, CriticalSection, ThroughBatches};
use stepscope_core::Mode;

use super::{report_of, text_in};
use crate::fixture::{MS, Run, healthy};

/// The text of a report without the ends of its lines.
fn flat(format: &str, summary: &Summary) -> String {
    let text = text_in(format, &report_of(summary));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_path(sections: Vec<CriticalSection>, through_batches: Option<ThroughBatches>) -> Summary {
    let mut summary = healthy().build();
    summary.critical_path = Some(CriticalPath {
        window: "step",
        mode: Some(Mode::Train),
        windows: 100,
        total_ns: 1_000 * MS,
        other_ns: 400 * MS,
        warmup_other_ns: 0,
        explained_share: 0.6,
        sections,
        waits: None,
        through_batches,
    });
    summary
}

#[test]
fn waits_for_batches_that_none_was_making_do_not_take_0_ns_of_that() {
    let of = |linked_ns, in_production_ns| {
        let summary = with_path(vec![], Some(ThroughBatches { linked_ns, in_production_ns, is_exact: true }));
        flat("md", &summary)
    };
    let text = of(8 * MS, 0);
    assert!(!text.contains(" of that"), "{text}");
    assert!(text.contains("meanwhile no section of a loader was making it"), "{text}");
    assert!(of(8 * MS, 6 * MS).contains(" of that, sections of a loader were making the batch"));
    assert!(!of(0, 0).contains("that link to their batch"));
}

#[test]
fn times_of_several_traces_are_sums() {
    let of = |windows, mode: Option<Mode>| {
        let section = CriticalSection {
            path: "load/read".into(),
            phase: None,
            on_path_ns: 750 * MS,
            share: 0.75,
            on_path_calls: 1,
            beside_calls: 0,
            slack_mean_ns: None,
            slack_min_ns: None,
        };
        let mut summary = with_path(vec![section], None);
        let path = summary.critical_path.as_mut().unwrap();
        (path.window, path.mode) = (if mode.is_some() { "step" } else { "trace" }, mode);
        (path.windows, path.other_ns, path.explained_share) = (windows, 250 * MS, 0.75);
        ["text", "md"].map(|format| {
            let text = flat(format, &summary);
            let (_, path) = text.split_once("What held up").unwrap();
            let path = path.replace(['`', '|'], "");
            path.split_whitespace().collect::<Vec<_>>().join(" ")
        })
    };
    let all = of(1_330, None);
    assert!(
        all.iter().all(|text| text.starts_with("the ends of 1,330 traces: of 1.00 s in all, ")),
        "{all:?}"
    );
    assert!(all.iter().all(|text| text.contains(" load/read 75 % 750 ms 1 ")), "{all:?}");
    // One is itself; of steps the mean is told besides.
    let all = of(1, None);
    assert!(all.iter().all(|text| text.starts_with("the end of the trace: of ")), "{all:?}");
    let all = of(100, Some(Mode::Train));
    assert!(all.iter().all(|text| text.starts_with("the end of the step: of ")), "{all:?}");
    assert!(all.iter().all(|text| text.contains(" load/read 75 % 7.50 ms 750 ms 1 ")), "{all:?}");
}

#[test]
fn ranks_that_are_not_there_are_told_where_findings_are() {
    let mut summary = healthy().build();
    summary.state.world_size = Some(4);
    let note = "1 of 4 ranks is in this input (ranks 1, 2 and 3 are not). What findings say of ranks, and who waits for whom, is \
                of those that are; give the files of all.";
    assert!(flat("md", &summary).contains(note));
    let report = report_of(&summary);
    let [first, ..] = report.notes.as_slice() else { panic!("no note") };
    assert_eq!((first.rule, first.text.as_str()), ("slow_rank", note));
    let state = report.detailed_metrics.rules.iter().find(|state| state.rule == "slow_rank").unwrap();
    assert_eq!(state.state, "unknown");
    // Too many to be named; one; all of them; nobody said how many.
    let told = |size| {
        let mut summary = healthy().build();
        summary.state.world_size = size;
        report_of(&summary).notes.iter().find(|note| note.rule == "slow_rank").map(|note| note.text.clone())
    };
    assert!(told(Some(64)).unwrap().starts_with("1 of 64 ranks is in this input. "), "{:?}", told(Some(64)));
    assert!(told(Some(2)).unwrap().starts_with("1 of 2 ranks is in this input (rank 1 is not). "));
    assert_eq!((told(Some(1)), told(None)), (None, None));
}

#[test]
fn names_that_are_empty_are_told_in_findings() {
    let mut summary = Run::of(100, 10 * MS)
        .phase(stepscope_core::Phase::Forward, "forward", 5 * MS)
        .untagged("log", 1, 4 * MS)
        .build();
    for row in &mut summary.sections {
        if row.name == "log" {
            (row.path, row.name) = ("step/".into(), String::new());
        }
    }
    let report = report_of(&summary);
    assert!(report.findings.iter().any(|found| found.section.as_deref() == Some("step/")));
    assert!(flat("md", &summary).contains("step/(no name)"));
}

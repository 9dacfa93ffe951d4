//! What the operating system counts inside sections.

use stepscope_core::attr;

use crate::common::program::Program;

/// Counts that every Linux has; the others may be refused.
const ALWAYS: [&str; 4] =
    [attr::SWITCHES_VOLUNTARY, attr::SWITCHES_INVOLUNTARY, attr::FAULTS_MINOR, attr::FAULTS_MAJOR];

const NETWORK: [&str; 2] = [attr::NETWORK_RECEIVE_BYTES, attr::NETWORK_TRANSMIT_BYTES];

/// What has gone through all interfaces so far: received, sent.
fn through_the_network() -> [i64; 2] {
    let table = std::fs::read_to_string("/proc/net/dev").unwrap();
    let rows = table.lines().skip(2).map(|line| line.split_once(':').unwrap().1);
    let column = |at: usize| {
        rows.clone().map(|row| row.split_ascii_whitespace().nth(at).unwrap().parse::<i64>().unwrap()).sum()
    };
    [column(0), column(8)]
}

#[test]
fn sections_that_sleep_compute_touch_memory_and_write_are_told_apart() {
    let before = through_the_network();
    let recording = Program::new(&["system"]).env("STEPSCOPE_LEVEL", "comprehensive").succeed().recording();
    let after = through_the_network();
    let each = |name: &str, key: &str| -> Vec<i64> {
        let found: Vec<i64> = recording.named(name).map(|span| span.int(key).unwrap()).collect();
        assert_eq!(found.len(), 3, "{name} {key}");
        found
    };
    assert!(each("sleeping", attr::SWITCHES_VOLUNTARY).iter().all(|&count| count >= 1));
    assert!(each("computing", attr::SWITCHES_VOLUNTARY).iter().all(|&count| count == 0));
    // With pages of 2 MiB, the largest that come by themselves, 16 MiB are 8.
    assert!(each("touching", attr::FAULTS_MINOR)[0] >= 7);
    assert!(each("computing", attr::FAULTS_MAJOR).iter().all(|&count| count == 0));
    if recording.named("writing").all(|span| span.int(attr::IO_READ_BYTES).is_some()) {
        for key in [attr::IO_READ_BYTES, attr::IO_WRITE_BYTES] {
            assert!(each("writing", key).iter().all(|&bytes| bytes >= 100_000), "{key}");
            assert_eq!(
                each("sleeping", key),
                [0; 3],
                "{key}: what is read for the figures is none of the program's"
            );
            // A step reads and writes what its sections do.
            for step in recording.steps() {
                let inside = recording.spans.iter().filter(|span| span.parent == Some(step.id));
                assert_eq!(step.int(key), inside.map(|span| span.int(key)).sum(), "{key}");
            }
        }
    }
    // The network is of everybody who sees it: steps have no more of it than the machine.
    for (key, of_machine) in NETWORK.into_iter().zip([0, 1].map(|at| after[at] - before[at])) {
        let of_steps: Vec<i64> = recording.steps().iter().filter_map(|step| step.int(key)).collect();
        assert!(of_steps.iter().sum::<i64>() <= of_machine, "{key} {of_steps:?} {of_machine}");
        assert!(of_steps.len() == 3 || !std::path::Path::new("/sys/class/net").exists(), "{of_steps:?}");
        assert!(recording.named("writing").all(|span| span.int(key).is_none()));
    }
    // A step has counted at least what its sections have.
    for step in recording.steps() {
        let inside = recording.spans.iter().filter(|span| span.parent == Some(step.id));
        let sum: i64 = inside.map(|span| span.int(attr::SWITCHES_VOLUNTARY).unwrap()).sum();
        assert!(step.int(attr::SWITCHES_VOLUNTARY).unwrap() >= sum && sum >= 1);
    }
}

#[test]
fn below_comprehensive_only_coarse_sections_ask_the_system() {
    for (level, steps_do) in [("basic", false), ("detailed", true)] {
        let recording = Program::new(&["system"]).env("STEPSCOPE_LEVEL", level).succeed().recording();
        for span in &recording.spans {
            let is_asked = steps_do && recording.steps().iter().any(|step| step.id == span.id);
            for key in ALWAYS {
                assert_eq!(span.int(key).is_some(), is_asked, "{level} {key} {span:?}");
            }
            assert_eq!(span.int(attr::IO_READ_BYTES), None, "{level}");
            assert_eq!(NETWORK.map(|key| span.int(key)), [None, None], "{level}");
        }
    }
}

#[test]
fn what_is_counted_on_other_threads_or_after_its_last_exit_is_not_a_sections() {
    let recording =
        Program::new(&["system_of_others"]).env("STEPSCOPE_LEVEL", "comprehensive").succeed().recording();
    let elsewhere = recording.only("elsewhere");
    assert_eq!(ALWAYS.map(|key| elsewhere.int(key)), [None; 4], "{elsewhere:?}");
    for name in ["kept", "part"] {
        assert_eq!(recording.named(name).count(), 3);
        // (After it the thread sleeps twenty times.)
        for span in recording.named(name) {
            assert!(span.int(attr::SWITCHES_VOLUNTARY).is_some_and(|count| count < 10), "{span:?}");
            assert_eq!(span.int(attr::MEM_RSS_BYTES), None, "{span:?}");
        }
    }
}

#[test]
fn a_step_has_its_figures_however_many_sections_inside_leave_no_span() {
    let program = Program::new(&["wide", "1000"]).env("STEPSCOPE_LEVEL", "comprehensive");
    let recording = program.env("STEPSCOPE_FILTER", "min=100s").succeed().recording();
    assert_eq!((recording.steps().len(), recording.named("part").count()), (2, 0));
    for step in recording.steps() {
        for key in ALWAYS {
            assert!(step.int(key).is_some(), "{key} {step:?}");
        }
    }
}

#[test]
fn no_thread_waits_for_a_processor_for_longer_than_it_has_none() {
    let program = Program::new(&["system"]).env("STEPSCOPE_LEVEL", "comprehensive");
    for span in program.succeed().recording().spans {
        let Some(run_queue_ns) = span.int(attr::RUN_QUEUE_NS) else { continue };
        let duration_ns = i64::try_from(span.end_ns - span.start_ns).unwrap();
        assert!(run_queue_ns <= (duration_ns - span.int(attr::CPU_NS).unwrap()).max(0), "{span:?}");
    }
}

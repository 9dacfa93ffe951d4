//! The ways a process can end: what is on disk afterwards, and that the program ends as it would have without
//! us.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

use stepscope_core::{attr, metric};

use crate::common::collector::{Answer, Collector};
use crate::common::{Attribute, Ended, Program, Recording, check, terminal};

fn step_numbers(recording: &Recording) -> Vec<i64> {
    recording.steps().iter().map(|step| step.int(attr::STEP).unwrap()).collect()
}

fn up_to(end: i64) -> Vec<i64> {
    (0..end).collect()
}

#[test]
fn a_dropped_guard_ends_the_run() {
    for how in ["drop", "no_hooks", "patient"] {
        let ended = Program::new(&["process", how]).succeed();
        let recording = ended.recording();
        check::all(&recording);
        assert_eq!(step_numbers(&recording), up_to(5));
        assert_eq!((recording.only("run").status, ended.stderr.as_str()), (0, ""));
    }
}

#[test]
fn an_exit_without_the_guard_loses_nothing() {
    let ended = Program::new(&["process", "exit"]).run();
    assert_eq!(ended.status.code(), Some(3));
    check::all(&ended.recording());
    assert_eq!(step_numbers(&ended.recording()), up_to(5));
    let ended = Program::new(&["process", "forget"]).succeed();
    check::all(&ended.recording());
    assert_eq!(step_numbers(&ended.recording()), up_to(5));
}

#[test]
fn an_exit_while_the_guard_is_dropped_waits_for_the_end() {
    let ended = Program::new(&["process", "exit_beside"]).run();
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
    // Five steps with a section each, the run and its mark.
    assert_eq!(ended.truth().get("exported"), Some(&12), "{}", ended.stdout);
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!((recording.spans.len(), recording.exported("exporter")), (12, 12));
}

#[test]
fn a_panic_loses_nothing_and_is_seen() {
    let ended = Program::new(&["process", "panic"]).run();
    assert_eq!(ended.status.code(), Some(101));
    assert!(ended.stderr.contains("on purpose"));
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(step_numbers(&recording), up_to(6));
    assert_eq!(recording.steps()[5].status, 2);
    let breaks = recording.only("breaks");
    assert_eq!((breaks.parent, breaks.status), (Some(recording.steps()[5].id), 2));

    let ended = Program::new(&["process", "caught"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(step_numbers(&recording), up_to(8));
    assert_eq!((recording.only("breaks").status, recording.only("run").status), (2, 0));
}

#[test]
fn an_abort_after_a_panic_leaves_what_was_finished() {
    let ended = Program::new(&["process", "abort"]).run();
    assert_eq!(ended.signal(), Some(libc::SIGABRT));
    let recording = ended.recording();
    assert_eq!(step_numbers(&recording), up_to(5));
    assert_eq!((recording.named("run.started").count(), recording.named("run").count()), (1, 0));
}

/// Starts the scenario, waits until it is in place, sends `signal`, and waits for its end.
fn interrupted(how: &str, signal: i32) -> Ended {
    interrupt(Program::new(&["process", how]), signal)
}

fn interrupt(mut program: Program, signal: i32) -> Ended {
    let (mut child, stdout) = start(&mut program);
    send(signal, child.id());
    // Standard input stays open: only the signal can end it.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop((stdin, stdout));
    program.end(output)
}

fn send(signal: i32, process: u32) {
    let kill = format!("kill -{signal} {process}");
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Starts the program and waits until it says that everything is in place.
fn start(program: &mut Program) -> (Child, BufReader<ChildStdout>) {
    let mut child = program.start();
    let (mut line, mut stdout) = (String::new(), BufReader::new(child.stdout.take().unwrap()));
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

#[test]
fn a_process_that_is_stopped_goes_on_where_it_was() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let mut program =
        Program::new(&["process", "stopped"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    let (child, stdout) = start(&mut program);
    send(libc::SIGSTOP, child.id());
    let stat = format!("/proc/{}/stat", child.id());
    // Its state is behind the name, which is in parentheses.
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        std::thread::yield_now();
    }
    let begin = Instant::now();
    std::thread::sleep(Duration::from_millis(700));
    let stopped = begin.elapsed();
    send(libc::SIGCONT, child.id());
    // It ends once its standard input is closed, which the waiting does.
    let ended = program.end(child.wait_with_output().unwrap());
    drop(stdout);
    assert!(ended.status.success(), "{:?} {}", ended.status, ended.stderr);
    assert_eq!(ended.stderr, "");
    let recording = ended.recording();
    check::all(&recording);
    check::account(&recording, "otlp");
    assert_eq!(recording.exported("otlp"), recording.spans.len() as u64);
    assert_eq!(step_numbers(&recording), up_to(8));
    // Time went on: what was open meanwhile took as long, and nothing else did.
    let stopped_ns = u64::try_from(stopped.as_nanos()).unwrap();
    for name in ["while_stopped", "section_while_stopped"] {
        // (Two clocks: the system's may be bent.)
        assert!(recording.only(name).duration_ns() + 1_000_000 >= stopped_ns, "{name}: {stopped_ns}");
    }
    let steps = recording.steps();
    assert!(steps.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "{steps:?}");
}

#[test]
fn a_signal_ends_the_run_as_failed_and_the_process_by_that_signal() {
    for (signal, name) in [(libc::SIGTERM, "SIGTERM"), (libc::SIGINT, "SIGINT")] {
        let ended = interrupted("signal", signal);
        assert_eq!(ended.signal(), Some(signal), "{:?}", ended.status);
        let recording = ended.recording();
        let run = recording.only("run");
        assert_eq!((run.status, run.text(attr::ERROR_TYPE)), (2, Some(name)));
        assert_eq!(step_numbers(&recording), up_to(5));
        check::traces(&recording);
        check::account(&recording, "directory");
        assert_eq!(recording.named("interrupted").count(), 0);
    }
}

#[test]
fn a_thread_that_makes_sections_without_a_pause_keeps_nobody_waiting() {
    // A ring so large that nobody comes to its end. What is asked for meanwhile is answered, and what other threads record is
    // there.
    let program = Program::new(&["process", "hot"]).env("STEPSCOPE_DIR_BYTES", "2000000");
    let ended = interrupt(program, libc::SIGTERM);
    assert_eq!(ended.signal(), Some(libc::SIGTERM), "{:?} {}", ended.status, ended.stderr);
    let recording = ended.recording();
    assert_eq!(recording.only("run").text(attr::ERROR_TYPE), Some("SIGTERM"));
    assert_eq!(recording.named("epoch").count(), 5);
    check::account(&recording, "directory");
}

#[test]
fn a_signal_takes_its_course_where_the_background_thread_is_stuck() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // (Sent once; and it is not the test that ends the program.)
        let ended = interrupt(Program::new(&["process", "stuck"]).hurried(), signal);
        assert_eq!(ended.signal(), Some(signal), "{:?}", ended.status);
    }
}

#[test]
fn a_signal_that_the_program_asks_for_comes_to_it() {
    let program = Program::new(&["process", "waits_for_signal"]).hurried();
    // A name that is looked up, on a thread for that.
    let ended = program.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1").succeed();
    let recording = ended.recording();
    check::account(&recording, "directory");
    assert_eq!((step_numbers(&recording), recording.only("run").status), (up_to(8), 0));
}

#[test]
fn a_signal_that_the_system_ignores_ends_no_recording() {
    let unshare = ["--pid", "--fork", "--mount-proc"];
    let is_allowed = std::process::Command::new("unshare").args(unshare).arg("true").output();
    if !is_allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: nobody but the super-user may start a first process (unshare --pid)");
        return;
    }
    let script = format!("exec unshare {} \"$@\"", unshare.join(" "));
    let program = Program::in_shell(&script, &["process", "first_process"]);
    let ended = program.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin").succeed();
    assert_eq!(ended.truth()["pid"], 1);
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!((step_numbers(&recording), recording.only("run").status), (up_to(10), 0));
}

#[test]
fn a_signal_while_the_run_ends_is_not_swallowed() {
    let collector = Collector::start(|_, _| Answer::Silence);
    let program = Program::new(&["process", "signal_at_end"]).hurried();
    let ended = interrupt(program.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url()), libc::SIGTERM);
    assert_eq!(ended.signal(), Some(libc::SIGTERM), "{:?}", ended.status);
    assert_eq!(step_numbers(&ended.recording()), up_to(5));
}

#[test]
fn a_handler_of_the_programs_own_is_left_alone() {
    for how in ["own_handler", "late_handler"] {
        assert_eq!(interrupted(how, libc::SIGINT).status.code(), Some(42), "{how}");
    }
    // The other signal is still ours.
    let ended = interrupted("own_handler", libc::SIGTERM);
    assert_eq!(ended.signal(), Some(libc::SIGTERM));
    assert_eq!(ended.recording().only("run").text(attr::ERROR_TYPE), Some("SIGTERM"));
}

#[test]
fn a_handler_that_calls_ours_keeps_the_signal_to_the_program() {
    for (how, signals, steps) in [("chained_handler", 2, 10), ("signal_then_end", 1, 5)] {
        let ended = Program::new(&["process", how]).succeed();
        // Each once: none was sent again.
        assert_eq!(ended.truth()["signals"], signals, "{how}");
        let recording = ended.recording();
        check::all(&recording);
        assert_eq!(step_numbers(&recording), up_to(steps), "{how}");
        assert_eq!(recording.only("run").status, 0, "{how}");
    }
}

#[test]
fn a_standard_error_that_takes_nothing_ends_nothing() {
    // One message at the start, one from the background thread.
    for (script, nobody) in [
        ("exec \"$@\" 2>/dev/full", "http://127.0.0.1:1"),
        ("exec \"$@\" 2>&-", "http://127.0.0.1:1"),
        ("exec \"$@\" 2>/dev/full", "nonsense"),
        // A full pipe that nobody reads.
        ("mkfifo full; exec 9<>full; head -c 65536 /dev/zero >&9; exec \"$@\" 2>&9", "http://127.0.0.1:1"),
    ] {
        let program = Program::in_shell(script, &["process", "drop"]).hurried();
        let program = program.env("STEPSCOPE_LEVEL", "nonsense").env("OTEL_EXPORTER_OTLP_ENDPOINT", nobody);
        let ended = program.succeed();
        let recording = ended.recording();
        check::account(&recording, "directory");
        assert_eq!(step_numbers(&recording), up_to(5), "{script} {nobody}");
        assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
    }
}

#[test]
fn a_terminal_that_nobody_reads_holds_up_nothing() {
    // One message at the start, one from the background thread.
    let program = Program::new(&["process", "drop"]).hurried();
    let program = program.env("STEPSCOPE_LEVEL", "nonsense");
    let mut program = program.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    // Kept open, so that the terminal is there, and nobody reads.
    let (_ours, terminal) = terminal::full();
    let mut child = program.start_with_stderr(terminal);
    // A program that hangs is ended, and fails.
    let hung = Instant::now() + Duration::from_secs(300);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > hung {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = program.end(child.wait_with_output().unwrap());
    assert!(ended.status.success(), "{:?}", ended.status);
    let recording = ended.recording();
    check::account(&recording, "directory");
    assert_eq!(step_numbers(&recording), up_to(5));
    assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
}

#[test]
fn what_cannot_go_anywhere_is_lost_and_said_to_be() {
    for (name, value, advice) in [
        ("STEPSCOPE_DIR", "/proc/x", "choose another with STEPSCOPE_DIR"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:7401", "or STEPSCOPE_DIR"),
    ] {
        let ended = Program::new(&["process", "flushed"]).without_directory().env(name, value).succeed();
        // Five steps with a section each, and the mark of the start.
        let truth = ended.truth();
        let figures = ["complete", "emitted", "lost", "counted"].map(|name| truth[name]);
        assert_eq!(figures, [0, 11, 11, 11], "{name}={value}");
        let warnings = ended.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(advice), "{warnings:?}");
    }
}

#[test]
fn a_flush_says_where_no_thread_could_be_started() {
    // A stack of a size that no system has room for.
    let ended = Program::new(&["process", "flushed"]).env("RUST_MIN_STACK", "99999999999999").succeed();
    assert_eq!(ended.truth(), ["complete", "counted", "emitted", "lost"].map(|name| (name, 0)).into());
    let warnings = ended.warnings();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.contains("could not start the background thread"), "{warning}");
}

#[test]
fn a_flush_says_where_sums_could_not_be_written() {
    let ended = Program::new(&["process", "no_sums"]).succeed();
    let warnings = ended.warnings();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.contains("could not write aggregates"), "{warning}");
    let recording = ended.recording();
    check::account(&recording, "directory");
    // Written at the next time.
    assert_eq!(recording.by_path(metric::SECTION_COUNT)["step/forward"], 5);
}

#[test]
fn what_would_go_into_deleted_files_is_lost_and_said_to_be() {
    let ended = Program::new(&["process", "deleted"]).succeed();
    let truth = ended.truth();
    // The mark of the run and five steps before, three steps behind them; then ten steps, and the run itself.
    assert_eq!(
        (truth["exported"], truth["lost"], truth["lost.end"]),
        (1 + 5 * 2 + 3 * 2, 20, 21),
        "{truth:?}"
    );
    assert_eq!(truth["emitted"], truth["exported"] + truth["lost.end"]);
    let warnings = ended.warnings();
    assert!(
        warnings[0].contains("could not write to ") && warnings[0].contains("spans are lost"),
        "{warnings:?}"
    );
}

#[test]
fn a_file_in_the_working_directory_sets_what_the_environment_does_not() {
    let text =
        "[recording]\ndir = \"of-file\"\nlevel = \"basic\"\nservice_name = \"of file\"\nlevle = \"off\"\n";
    for (level, spans) in [("", 5), ("detailed", 10)] {
        let program = Program::new(&["process", "drop"]).without_directory().env("STEPSCOPE_LEVEL", level);
        std::fs::write(program.path().join("stepscope.toml"), text).unwrap();
        let ended = program.succeed();
        let recording = Recording::read(&ended.path().join("of-file"));
        check::account(&recording, "directory");
        assert_eq!(step_numbers(&recording), up_to(5));
        // Beside the steps, and the parts in them: the run and its start.
        assert_eq!(recording.spans.len(), spans + 2, "{level}");
        let name = Attribute::Str("of file".to_owned());
        assert_eq!(recording.resource.get(attr::SERVICE_NAME), Some(&name));
        let warnings = ended.warnings();
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert!(warning.starts_with("stepscope: stepscope.toml:5: there is no setting levle"), "{warning}");
    }
}

#[test]
fn opentelemetrys_switch_wins_over_the_program() {
    for (value, is_recording) in [("True", 0), ("no", 1)] {
        let ended = Program::new(&["process", "level_by_code"]).env("OTEL_SDK_DISABLED", value).succeed();
        assert_eq!(ended.truth()["recording"], is_recording, "{value}");
        assert_eq!(ended.path().join("profiles").exists(), is_recording == 1, "{value}");
    }
}

#[test]
fn a_killed_process_leaves_what_was_flushed() {
    let ended = interrupted("killed", libc::SIGKILL);
    assert_eq!(ended.signal(), Some(libc::SIGKILL));
    let recording = Recording::read_torn(&ended.path().join("profiles"));
    assert_eq!(step_numbers(&recording), up_to(5));
    assert_eq!(recording.named("run.started").count(), 1);
}

#[test]
fn a_forked_child_records_nothing_and_the_parent_goes_on() {
    let ended = Program::new(&["process", "fork"]).succeed();
    let truth = ended.truth();
    assert_eq!((truth["child.exited"], truth["child.code"]), (1, 7));
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(step_numbers(&recording), up_to(8));
    assert_eq!(recording.named("in_the_child").count(), 0);
    for name in ["open_at_fork", "section_at_fork"] {
        assert!(recording.only(name).duration_ns() > 0);
    }
    // One process, one directory.
    let directories: std::collections::HashSet<_> =
        crate::common::recording::files(&ended.path().join("profiles"))
            .iter()
            .map(|path| path.parent().unwrap().to_owned())
            .collect();
    assert_eq!(directories.len(), 1);
}

#[test]
fn a_signal_ends_a_forked_child() {
    let ended = Program::new(&["process", "fork_terminate"]).succeed();
    assert_eq!(ended.truth()["children.ended"], 2, "one by SIGTERM, one by SIGINT");
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(step_numbers(&recording), up_to(8));
}

#[test]
fn a_forked_child_may_record_by_itself() {
    let ended = Program::new(&["process", "fork_record"]).succeed();
    assert_eq!(ended.truth()["child.code"], 0);
    let of_child = format!("-{}-r1", ended.truth()["child.pid"]);
    let (child, parent): (Vec<_>, Vec<_>) = crate::common::recording::files(&ended.path().join("profiles"))
        .into_iter()
        .partition(|path| path.parent().unwrap().to_string_lossy().ends_with(&of_child));
    // Spans, sums and live memory of each, in a directory of its own.
    assert_eq!((child.len(), parent.len()), (3, 3), "{child:?} {parent:?}");
    assert!(child.iter().all(|path| path.metadata().unwrap().len() > 0));
}

#[test]
fn a_child_forked_in_the_middle_of_anything_ends() {
    let ended = Program::new(&["process", "fork_busy"]).succeed();
    assert_eq!(ended.truth()["children.ended"], 50);
    let recording = ended.recording();
    check::account(&recording, "directory");
    assert_eq!(recording.named("in_the_child").count(), 0);
}

#[test]
fn a_program_that_becomes_another_one_leaves_what_was_flushed() {
    let ended = Program::new(&["process", "exec"]).env("STEPSCOPE_RUN_ID", "same").succeed();
    assert_eq!(ended.stderr, "");
    let directory = ended.path().join("profiles/same/0");
    let mut directories: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    directories.sort();
    // Of the same process, so the second one has a number in its name.
    let [first, second] = &directories[..] else { panic!("{directories:?}") };
    let first = Recording::read_torn(first);
    assert_eq!(step_numbers(&first), up_to(5));
    assert_eq!((first.named("run.started").count(), first.named("run").count()), (1, 0));
    assert_eq!(first.named("open_at_exec").count(), 0);
    // The other program starts with nothing of the first one's.
    let second = Recording::read(second);
    check::all(&second);
    assert_eq!(step_numbers(&second), up_to(5));
}

#[test]
fn a_change_of_the_working_directory_moves_nothing() {
    let ended = Program::new(&["process", "chdir"]).env("STEPSCOPE_DIR", "profiles").succeed();
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(step_numbers(&recording), up_to(8));
}

#[test]
fn what_has_the_descriptors_of_our_files_is_not_written_to() {
    for level in ["detailed", "comprehensive"] {
        let ended = Program::new(&["process", "closes_all"]).env("STEPSCOPE_LEVEL", level).succeed();
        let recording = ended.recording();
        check::all(&recording);
        assert_eq!(step_numbers(&recording), up_to(8));
        assert_eq!(ended.truth()["intact"], ended.truth()["files"]);
    }
}

#[test]
fn what_is_printed_after_the_standard_descriptors_were_closed_is_not_in_our_files() {
    for level in ["detailed", "comprehensive"] {
        let recording = Program::new(&["process", "closes_standard"]).env("STEPSCOPE_LEVEL", level).succeed();
        let recording = recording.recording();
        check::all(&recording);
        assert_eq!(step_numbers(&recording), up_to(50));
    }
}

#[test]
fn threads_that_end_leave_everything_and_losses_at_their_very_end_are_counted() {
    let ended = Program::new(&["process", "teardown"]).succeed();
    let recording = ended.recording();
    check::account(&recording, "directory");
    assert_eq!(recording.named("short").count(), 20 * 50);
    // A span may end after its thread has forgotten us: it is there or it is counted, once.
    let kept = recording.named("kept_to_the_end").count() as u64;
    let born = recording.named("born_late").count() as u64;
    let lost = recording.dropped("", "thread_teardown");
    assert_eq!(kept + born + lost, 2 * 20, "{kept} {born} {lost}");
}

#[test]
fn what_is_open_at_the_end_is_not_there_and_hurts_nobody() {
    let ended = Program::new(&["process", "alive"]).succeed();
    let recording = ended.recording();
    check::account(&recording, "directory");
    assert_eq!(step_numbers(&recording), up_to(6));
    assert_eq!(recording.spans.len(), 5 * 2 + 1 + 2 + 2);
    assert_eq!(ended.stderr, "");
    // What has ended is there, and as many as were counted, also where it waited for what has not.
    assert_eq!(recording.emitted(), recording.spans.len() as u64);
    let parts: Vec<_> = recording.named("late_part").collect();
    assert_eq!(parts[0].trace, parts[1].trace);
    let announced: Vec<_> = parts.iter().filter_map(|part| part.int(attr::TRACE_SPANS)).collect();
    assert_eq!(announced, [2]);
}

#[test]
fn a_second_recorder_does_nothing_and_says_so() {
    let ended = Program::new(&["process", "twice"]).succeed();
    assert_eq!(ended.warnings().len(), 2, "{}", ended.stderr);
    // The first run's directory and the second one's, although it is the same process.
    let directory = ended.path().join("profiles");
    let again = Recording::read(&directory.join("again"));
    check::all(&again);
    assert_eq!(step_numbers(&again), up_to(3));
    std::fs::remove_dir_all(directory.join("again")).unwrap();
    let first = Recording::read(&directory);
    check::all(&first);
    assert_eq!(step_numbers(&first), up_to(8));
}

#[test]
fn a_namesake_gets_a_directory_of_its_own() {
    // Two runs of one name in one process, as two containers with process id 1 would have it.
    let ended = Program::new(&["process", "namesake"]).env("STEPSCOPE_RUN_ID", "same").succeed();
    assert_eq!(ended.stderr, "");
    let mut runs: Vec<Recording> = std::fs::read_dir(ended.path().join("profiles/same/0"))
        .unwrap()
        .map(|entry| Recording::read(&entry.unwrap().path()))
        .collect();
    runs.sort_by_key(|run| run.spans.len());
    assert_eq!(runs.len(), 2);
    for (run, steps) in runs.iter().zip([3, 5]) {
        check::all(run);
        assert_eq!(step_numbers(run), up_to(steps));
    }
}

//! The ways a process can end. Each does a few steps first.
#![expect(unsafe_code, reason = "fork, signals and waiting for a child have no safe interface")]

mod forks;

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use stepscope::{section, step};

use crate::say;

fn work(steps: std::ops::Range<u64>) {
    for number in steps {
        let _step = step!(number);
        let _forward = section!("forward");
    }
}

/// Says that everything is in place and waits until standard input is closed or a signal comes.
fn wait_for_parent() {
    println!("ready");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

extern "C" fn own_handler(_: libc::c_int) {
    // SAFETY: `_exit` is async-signal-safe and does not return.
    unsafe { libc::_exit(42) };
}

fn handle(signal: libc::c_int) {
    let handler = own_handler as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler only calls an async-signal-safe function.
    unsafe { libc::signal(signal, handler) };
}

/// How often the program's own chained handler was called.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// The handler that was there before it.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn chained_handler(signal: libc::c_int) {
    SEEN.fetch_add(1, Ordering::SeqCst);
    let previous = PREVIOUS.load(Ordering::SeqCst);
    if ![libc::SIG_DFL, libc::SIG_IGN].contains(&previous) {
        // SAFETY: what the system gave as the previous handler, which was installed without SA_SIGINFO.
        unsafe { std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(previous)(signal) };
    }
}

/// Installs a handler that calls the one before it, as `signal-hook` does and, on top of it, tokio.
fn chain(signal: libc::c_int) {
    let handler = chained_handler as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler only touches atomics and calls a handler.
    let previous = unsafe { libc::signal(signal, handler) };
    PREVIOUS.store(previous, Ordering::SeqCst);
}

/// Handles its own signal and goes on, as a program does that ends the step it is in first.
fn go_on_after_a_signal(guard: &stepscope::Guard) {
    chain(libc::SIGTERM);
    for steps in [5..8, 8..10] {
        // SAFETY: a signal to the own thread, which has a handler.
        assert_eq!(unsafe { libc::raise(libc::SIGTERM) }, 0);
        // The thread that would act on the signal is the one that answers this, and looks for signals first.
        assert!(guard.flush(Duration::from_secs(10)).is_complete());
        work(steps);
    }
    assert!(guard.is_recording());
    say("signals", SEEN.load(Ordering::SeqCst));
}

/// A shell starts what it puts into the background with interrupts ignored, and so would be the tests' programs.
fn stop_ignoring_interrupts() {
    // SAFETY: no handler of this program's is replaced, nothing has been set up yet.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
}

/// Closes what it has not opened, as programs that become daemons do, and opens files of its own, which get the numbers.
fn close_all(guard: stepscope::Guard) {
    assert!(guard.flush(Duration::from_secs(10)).is_complete());
    for descriptor in 3..100 {
        // SAFETY: nobody is harmed who does not take a descriptor for its own still: that it does not is what is tried.
        unsafe { libc::close(descriptor) };
    }
    let folder = std::env::temp_dir().join(format!("stepscope-closes-all-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let paths: Vec<_> = (0..50).map(|number| folder.join(number.to_string())).collect();
    let mut files: Vec<_> = paths.iter().map(|path| std::fs::File::create_new(path).unwrap()).collect();
    files.iter_mut().for_each(|file| file.write_all(b"before ").unwrap());
    work(5..8);
    assert!(guard.flush(Duration::from_secs(10)).is_complete());
    drop(guard);
    // They are open, and nothing else has been written to them.
    files.iter_mut().for_each(|file| file.write_all(b"after").unwrap());
    let intact = paths.iter().filter(|path| std::fs::read(path).unwrap() == b"before after").count();
    say("files", files.len() as u64);
    say("intact", intact as u64);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Prints between steps, where there is nothing to print to.
#[expect(clippy::print_stderr, reason = "it is not to be found in our files")]
fn print_nowhere(guard: &stepscope::Guard) {
    for number in 5..50 {
        eprintln!("step {number} of the program's own log");
        println!("step {number}");
        work(number..number + 1);
        assert!(guard.flush(Duration::from_secs(10)).is_complete());
    }
}

extern "C" fn wait_for_ever(_: libc::c_int) {
    loop {
        // SAFETY: no preconditions.
        unsafe { libc::pause() };
    }
}

/// The background thread stops in its tracks, as one that waits for a disk that is gone would.
fn stop_the_background_thread() {
    let handler = wait_for_ever as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // (One of those that come to it: others are blocked there.)
    // SAFETY: nobody else handles this signal, and the handler does nothing but wait.
    unsafe { libc::signal(libc::SIGTRAP, handler) };
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap());
    let is_ours = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).unwrap().trim() == "stepscope"
    };
    let task = tasks.filter(is_ours).map(|task| task.file_name().into_string().unwrap()).next().unwrap();
    // SAFETY: the thread is there, and has a handler for the signal.
    let sent = unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), task.parse::<libc::c_int>().unwrap(), libc::SIGTRAP)
    };
    assert_eq!(sent, 0);
}

/// Another thread makes sections without a pause, to the end.
fn beside_a_hot_loop(guard: &stepscope::Guard) {
    let hot = || {
        for number in 1_000_000.. {
            let _step = step!(number);
            for _ in 0..1_000 {
                let _section = section!("hot");
            }
        }
    };
    std::thread::Builder::new().name("hot".into()).spawn(hot).unwrap();
    // Until its ring has filled up.
    while guard.handle().figures().section("step/hot").is_none_or(|hot| hot.count < 1_000_000) {
        std::thread::sleep(Duration::from_millis(1));
    }
    for number in 0..5 {
        drop(stepscope::epoch!(number));
        assert!(guard.flush(Duration::from_secs(60)).is_complete());
    }
    wait_for_parent();
}

/// Takes all, in some time, and says at its end how much it was.
#[derive(Debug)]
struct Slow(u64);

/// [`Slow`] has its first message.
static IS_EXPORTING: AtomicBool = AtomicBool::new(false);

impl stepscope::Exporter for Slow {
    fn export(&mut self, _: &[u8], spans: u64) -> stepscope::Exported {
        IS_EXPORTING.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(500));
        self.0 += spans;
        stepscope::Exported::Taken
    }

    fn shutdown(&mut self) {
        say("exported", self.0);
    }
}

/// Another thread exits while the guard is being dropped, and what is left is under way.
fn exit_beside(guard: stepscope::Guard) {
    let exit = || {
        while !IS_EXPORTING.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::process::exit(3);
    };
    std::thread::Builder::new().name("exit".into()).spawn(exit).unwrap();
    drop(guard);
    // Only the other thread ends the program.
    loop {
        std::thread::park();
    }
}

/// Which signals a thread blocks, one bit each, and its name; nothing of one that has ended meanwhile.
fn blocked(task: &std::path::Path) -> Option<(u64, String)> {
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    let of = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim();
    Some((u64::from_str_radix(of("SigBlk:"), 16).unwrap(), of("Name:").to_owned()))
}

/// Takes SIGTERM by asking for it, as a program does that blocks it in all of its threads once it is set up.
fn wait_for_signal(guard: &stepscope::Guard) {
    // SAFETY: all bytes 0 are a valid set of signals.
    let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
    let mut came = 0;
    // SAFETY: the set is writable and the signal the system's.
    unsafe {
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
    }
    let bit = |signal: libc::c_int| 1 << (signal - 1);
    // All threads of the layer's are there, the one that looks up names, too. While the C library makes a thread, this
    // blocks every signal, the library's own (the first behind the 31 of old) as well, which no thread can ask for.
    let tasks = || -> Vec<(u64, String)> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks
            .filter_map(|task| blocked(&task.unwrap().path()))
            .filter(|(blocked, name)| name.starts_with("stepscope") && blocked & bit(32) == 0)
            .collect()
    };
    while tasks().len() < 3 {
        let _ = guard.flush(Duration::from_millis(20));
    }
    let outside = [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGUSR2,
        libc::SIGHUP,
        libc::SIGCHLD,
        libc::SIGPIPE,
        libc::SIGXFSZ,
    ];
    for (blocked, name) in tasks() {
        assert!(outside.iter().all(|&signal| blocked & bit(signal) != 0), "{name} {blocked:x}");
        assert!(
            [libc::SIGSEGV, libc::SIGPROF].iter().all(|&signal| blocked & bit(signal) == 0),
            "{name} {blocked:x}"
        );
    }
    // What the program's thread blocks is what it has blocked itself.
    assert_eq!(blocked("/proc/self".as_ref()).unwrap().0, bit(libc::SIGTERM));
    // SAFETY: a signal to the own process, which blocks it, and the variables are valid for the duration of the calls.
    let waited = unsafe {
        libc::kill(libc::getpid(), libc::SIGTERM);
        libc::sigwait(&raw const signals, &raw mut came)
    };
    assert_eq!((waited, came), (0, libc::SIGTERM));
    assert!(guard.is_recording());
    work(5..8);
}

/// The first process of a container, which the system has survive signals that it does not handle.
fn go_on_as_the_first_process(guard: &stepscope::Guard) {
    say("pid", std::process::id().into());
    for (signal, steps) in [(libc::SIGTERM, 5..8), (libc::SIGINT, 8..10)] {
        // SAFETY: a signal to the own process.
        assert_eq!(unsafe { libc::kill(libc::getpid(), signal) }, 0);
        // The thread that would act on the signal is the one that answers this.
        assert!(guard.flush(Duration::from_secs(60)).is_complete());
        work(steps);
    }
    assert!(guard.is_recording());
}

/// Becomes another program, with everything open that can be.
fn exec(guard: &stepscope::Guard) {
    use std::os::unix::process::CommandExt as _;

    assert!(guard.flush(Duration::from_secs(10)).is_complete());
    let _step = step!(5);
    let _open = section!("open_at_exec");
    let error = std::process::Command::new(std::env::current_exe().unwrap()).args(["process", "drop"]).exec();
    panic!("{error}");
}

/// Ends a section while its thread is torn down.
struct Late(std::cell::RefCell<Option<tracing::Span>>);

impl Drop for Late {
    fn drop(&mut self) {
        drop(self.0.take());
        // (A new span here is beyond the registry, which panics.)
        let _section = section!("born_late");
    }
}

thread_local! {
    static LATE: Late = const { Late(std::cell::RefCell::new(None)) };
}

fn teardown() {
    for _ in 0..20 {
        let thread = std::thread::Builder::new().name("short".into()).spawn(|| {
            // Registered before the layer's own state of this thread, so it goes after it.
            LATE.with(|_| ());
            let span = tracing::info_span!("kept_to_the_end");
            span.in_scope(|| ());
            LATE.with(|late| late.0.replace(Some(span)));
            work(0..0);
            // The ring is full of what nobody has read yet when the thread ends.
            for _ in 0..50 {
                let _short = section!("short");
            }
        });
        thread.unwrap().join().unwrap();
    }
}

pub(crate) fn run(how: &str) {
    stop_ignoring_interrupts();
    if how == "own_handler" {
        handle(libc::SIGINT);
    }
    if how == "closes_standard" {
        // SAFETY: nothing has been opened yet, and whoever prints later finds nothing there, which is what is tried.
        (0..3).for_each(|descriptor| assert_eq!(unsafe { libc::close(descriptor) }, 0));
    }
    let guard = match how {
        "no_hooks" => {
            crate::install(stepscope::builder().handle_signals(false).hook_panics(false).hook_exit(false))
        }
        "level_by_code" => crate::install(stepscope::builder().level(stepscope::Level::Detailed)),
        "exit_beside" | "waits_for_signal" => crate::install(stepscope::builder().exporter(Slow(0))),
        "patient" => crate::install(stepscope::builder().exit_timeout(Duration::MAX)),
        _ => crate::start(),
    };
    work(0..5);
    match how {
        "level_by_code" => say("recording", u64::from(guard.is_recording())),
        "closes_standard" => print_nowhere(&guard),
        "flushed" => {
            let flushed = guard.flush(Duration::from_secs(10));
            let figures = guard.handle().figures();
            let spans = figures.spans();
            say("complete", u64::from(flushed.is_complete()));
            let lost = if let stepscope::Flushed::Dropped(lost) = flushed { lost } else { 0 };
            say("lost", lost);
            say("counted", spans.sinks.iter().map(|&(.., lost)| lost).sum());
            say("emitted", spans.emitted);
        }
        "no_sums" => {
            // What stands where the file is to be is no file.
            std::fs::create_dir(guard.directory().unwrap().join("metrics-000001.otlp")).unwrap();
            drop(stepscope::epoch!(0));
            let flushed = guard.flush(Duration::from_secs(60));
            assert_eq!(flushed, stepscope::Flushed::Dropped(0));
            std::fs::remove_dir(guard.directory().unwrap().join("metrics-000001.otlp")).unwrap();
            drop(stepscope::epoch!(1));
            assert!(guard.flush(Duration::from_secs(60)).is_complete());
        }
        "deleted" => {
            let directory = guard.directory().unwrap().to_owned();
            let lost = |flushed| if let stepscope::Flushed::Dropped(lost) = flushed { lost } else { 0 };
            assert!(guard.flush(Duration::from_secs(10)).is_complete());
            // One file: what was in it is gone, and the next one has the rest.
            std::fs::remove_file(directory.join("traces-000001.otlp")).unwrap();
            work(5..8);
            assert!(guard.flush(Duration::from_secs(10)).is_complete());
            assert!(directory.join("traces-000002.otlp").exists());
            // All of it.
            std::fs::remove_dir_all(&directory).unwrap();
            work(8..18);
            say("lost", lost(guard.flush(Duration::from_secs(10))));
            let handle = guard.handle();
            drop(guard);
            let figures = handle.figures();
            let &(_, exported, lost) = &figures.spans().sinks[0];
            say("exported", exported);
            say("lost.end", lost);
            say("emitted", figures.spans().emitted);
        }
        "drop" | "no_hooks" | "patient" => drop(guard),
        "exit" => std::process::exit(3),
        "forget" => std::mem::forget(guard),
        "panic" => {
            let _step = step!(5);
            let _span = tracing::info_span!("breaks").entered();
            panic!("on purpose");
        }
        "caught" => {
            let result = std::panic::catch_unwind(|| {
                let _section = section!("breaks");
                panic!("on purpose");
            });
            assert!(result.is_err());
            work(5..8);
        }
        "caught_unanswered" => {
            // Until one request has had no answer.
            let lost =
                || guard.handle().figures().spans().sinks.iter().map(|&(_, _, lost)| lost).sum::<u64>();
            while lost() == 0 {
                work(5..6);
                std::thread::sleep(Duration::from_millis(1));
            }
            let before = lost();
            work(6..8);
            assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
            say("lost", lost() - before);
        }
        "abort" => {
            let _step = step!(5);
            std::panic::set_hook({
                let chained = std::panic::take_hook();
                Box::new(move |info| {
                    chained(info);
                    std::process::abort();
                })
            });
            panic!("on purpose");
        }
        "signal" | "own_handler" => {
            let _step = step!(5);
            let _open = section!("interrupted");
            wait_for_parent();
        }
        "late_handler" => {
            handle(libc::SIGINT);
            wait_for_parent();
        }
        "exit_beside" => exit_beside(guard),
        "waits_for_signal" => wait_for_signal(&guard),
        "first_process" => go_on_as_the_first_process(&guard),
        "hot" => beside_a_hot_loop(&guard),
        "chained_handler" => go_on_after_a_signal(&guard),
        "signal_then_end" => {
            chain(libc::SIGTERM);
            // SAFETY: a signal to the own thread, which has a handler.
            assert_eq!(unsafe { libc::raise(libc::SIGTERM) }, 0);
            drop(guard);
            say("signals", SEEN.load(Ordering::SeqCst));
        }
        "stopped" => {
            {
                let _step = step!(5);
                let _span = tracing::info_span!("while_stopped").entered();
                let _section = section!("section_while_stopped");
                wait_for_parent();
            }
            work(6..8);
        }
        "killed" => {
            assert!(guard.flush(Duration::from_secs(10)).is_complete());
            wait_for_parent();
        }
        "deliver" | "deliver_soon" => {
            work(5..50);
            let timeout = Duration::from_millis(if how == "deliver" { 10_000 } else { 200 });
            let start = std::time::Instant::now();
            let (timed_out, dropped) = match guard.flush(timeout) {
                stepscope::Flushed::Complete => (0, 0),
                stepscope::Flushed::Dropped(spans) => (0, spans),
                stepscope::Flushed::TimedOut => (1, 0),
            };
            say("flush_ms", u64::try_from(start.elapsed().as_millis()).unwrap());
            say("timed_out", timed_out);
            say("dropped", dropped);
            std::io::stdout().flush().unwrap();
            // What has not left by now never will.
            // SAFETY: no preconditions.
            unsafe { libc::_exit(0) };
        }
        "exec" => exec(&guard),
        "fork" => forks::fork_child(guard),
        "fork_record" => forks::fork_and_record(guard),
        "fork_terminate" => forks::fork_and_terminate(),
        "stuck" => {
            stop_the_background_thread();
            wait_for_parent();
        }
        "teardown" => teardown(),
        "fork_busy" => forks::fork_while_busy(),
        "closes_all" => close_all(guard),
        "chdir" => {
            std::env::set_current_dir("/").unwrap();
            work(5..8);
        }
        "signal_at_end" => {
            // The collector is silent, so the end takes its time; the signal comes in the middle of it.
            println!("ready");
            std::io::stdout().flush().unwrap();
            drop(guard);
        }
        "alive" => {
            let of_a_step = {
                let _step = step!(5);
                tracing::info_span!("of_a_step")
            };
            // They go on in a trace that says how many it has once that has ended in which they are.
            of_a_step.in_scope(|| (0..2).for_each(|_| drop(section!("late_part"))));
            let span = tracing::info_span!("never_closed");
            let entered = span.enter();
            let section = section!("never_left");
            drop(guard);
            // What ends after the run is nobody's any more; it must not hurt.
            drop((section, entered));
            drop((span, of_a_step));
            work(50..60);
        }
        "namesake" => {
            drop(guard);
            let (_layer, again) = stepscope::builder().build();
            work(0..3);
            drop(again);
        }
        "twice" => {
            let (second, other) = (crate::start(), crate::start());
            assert!(guard.is_recording() && !second.is_recording() && !other.is_recording());
            drop((second, other));
            work(5..8);
            drop(guard);
            // After the end, a new run may begin.
            let (layer, again) = stepscope::builder().run_id("again").build();
            assert!(again.is_recording());
            drop(layer);
            work(0..3);
        }
        other => panic!("no way to end is called {other:?}"),
    }
}

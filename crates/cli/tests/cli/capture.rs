//! `capture`: which programs are asked, in which words, and what is said when nobody answers.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::program::{command, folder, json, run};

/// A directory as a process writes it, its files this old.
fn process(base: &Path, name: &str, age_s: u64) {
    let directory = base.join(name);
    fs::create_dir_all(&directory).expect("it works");
    let file = fs::File::create(directory.join("traces-000001.otlp")).expect("it works");
    file.set_modified(SystemTime::now() - Duration::from_secs(age_s)).expect("it works");
}

/// Takes the request there, as a program does, and gives its text.
fn take(base: &Path, name: &str) -> std::thread::JoinHandle<String> {
    let path = base.join(name).join("capture.request");
    let take = move || {
        while !path.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let text = fs::read_to_string(&path).expect("it works");
        fs::remove_file(&path).expect("it works");
        text
    };
    std::thread::Builder::new().name("program".into()).spawn(take).expect("it works")
}

#[test]
fn the_processes_of_the_latest_run_are_asked() {
    let folder = folder("capture-latest");
    let base = folder.path().join("profiles");
    process(&base, "old/0/host-7-r0", 5_000);
    process(&base, "new/0/host-7-r0", 4_000);
    process(&base, "new/1/my-host-7-r0", 100);
    process(&base, "new/1/my-host-8-r1", 50);
    let ask = |arguments: &[&str]| {
        let ended = run(folder.path(), arguments);
        (ended.code, ended.stdout, ended.stderr)
    };
    let (first, second) = (take(&base, "new/1/my-host-7-r0"), take(&base, "new/1/my-host-8-r1"));
    let (code, said, _) = ask(&["capture", "--steps", "20", "--level", "detailed", "--timeout", "600"]);
    assert_eq!((code, said.lines().count()), (0, 3), "{said}");
    for taken in [first, second] {
        assert_eq!(taken.join().expect("it works"), "steps=20,level=detailed");
    }

    let taken = take(&base, "new/1/my-host-7-r0");
    let (code, said, _) = ask(&["capture", "7", "--timeout", "600"]);
    assert_eq!(code, 0);
    assert!(
        said.contains("10 steps") && said.contains("my-host-7-r0") && !said.contains("my-host-8"),
        "{said}"
    );
    assert_eq!(taken.join().expect("it works"), "steps=10,level=comprehensive");

    let taken = take(&base, "old/0/host-7-r0");
    let (code, said, _) = ask(&["capture", "profiles/old", "--quiet", "--timeout", "600"]);
    assert_eq!((code, said.as_str()), (0, ""));
    taken.join().expect("it works");

    // Nobody is there.
    let (code, _, wrong) = ask(&["capture", "8", "--timeout", "0"]);
    assert_eq!(code, 3, "{wrong}");
    assert!(wrong.contains("my-host-8-r1") && !wrong.contains("name it"), "{wrong}");
    let (code, _, wrong) = ask(&["capture", "--timeout", "0"]);
    assert_eq!(code, 3, "{wrong}");
    assert!(wrong.contains("the latest is profiles/new/0/host-7-r0: name it"), "{wrong}");
    assert!(!base.join("new/1/my-host-8-r1/capture.request").exists());
    for arguments in [["capture", "9"], ["capture", "nowhere"]] {
        let (code, _, wrong) = ask(&arguments);
        assert_eq!(code, 3, "{wrong}");
        assert!(wrong.contains("no recording"), "{wrong}");
    }
    assert_eq!(ask(&["capture", "--steps", "0"]).0, 2);
}

#[test]
fn a_running_program_takes_it() {
    let folder = folder("capture-running");
    let mut demo = command(folder.path(), &["--quiet", "demo", "--epochs", "10000", "--out", "profiles"]);
    let mut demo = demo.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it works");
    let pid = demo.id().to_string();
    // It may not have begun yet.
    let taken = (0..600).any(|_| {
        let is_taken = run(folder.path(), &["capture", &pid, "--steps", "3", "--timeout", "60"]).code == 0;
        if !is_taken {
            std::thread::sleep(Duration::from_millis(100));
        }
        is_taken
    });
    demo.kill().expect("it works");
    demo.wait().expect("it works");
    assert!(taken);
}

#[test]
fn who_asks_beside_somebody_else_waits_for_that_one() {
    let folder = folder("capture-beside");
    let base = folder.path().join("profiles");
    process(&base, "1/0/my-host-7-r0", 0);
    let directory = base.join("1/0/my-host-7-r0");
    let request = directory.join("capture.request");
    fs::write(&request, "steps=3,level=basic").expect("it works");
    let read = || fs::read_to_string(&request).unwrap_or_default();
    let draft = fs::File::create(directory.join("capture.123")).expect("it works");
    draft.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("it works");
    // Not taken in time: it stays that one's.
    let ended = run(folder.path(), &["capture", "7", "--steps", "5", "--timeout", "0"]);
    assert_eq!((ended.code, read().as_str()), (3, "steps=3,level=basic"), "{}", ended.stderr);
    let waiting = ["capture", "7", "--steps", "5", "--timeout", "600"];
    let mut waiting = command(folder.path(), &waiting).stdout(Stdio::null()).spawn().expect("it works");
    let until = |what: &dyn Fn() -> bool| {
        while !what() {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until(&|| fs::read_dir(&directory).expect("it works").count() == 3);
    assert_eq!(read(), "steps=3,level=basic");
    fs::remove_file(&request).expect("it works");
    until(&|| read().starts_with("steps=5,"));
    fs::remove_file(&request).expect("it works");
    assert!(waiting.wait().expect("it works").success());
    // One that nobody waits for any more is in nobody's way, and of two directories neither is in the other's.
    process(&base, "1/0/my-host-6-r1", 0);
    let other = base.join("1/0/my-host-6-r1/capture.request");
    fs::write(&other, "steps=3,level=basic").expect("it works");
    fs::write(&request, "steps=3,level=basic").expect("it works");
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    let abandoned = fs::File::options().append(true).open(&request).expect("it works");
    abandoned.set_modified(long_ago).expect("it works");
    let asking = ["capture", "--steps", "6", "--timeout", "600"];
    let mut asking = command(folder.path(), &asking).stdout(Stdio::null()).spawn().expect("it works");
    until(&|| read().starts_with("steps=6,"));
    for path in [&request, &other] {
        fs::remove_file(path).expect("it works");
    }
    until(&|| fs::read_to_string(&other).is_ok_and(|text| text.starts_with("steps=6,")));
    fs::remove_file(&other).expect("it works");
    assert!(asking.wait().expect("it works").success());
    // Nothing else is left behind, and what somebody has left before who was killed is gone.
    assert_eq!(fs::read_dir(&directory).expect("it works").count(), 1);
}

/// The demo, with what it is started with; ended with the test.
struct Demo(std::process::Child);

impl Demo {
    fn start(folder: &Path, setting: (&str, &str)) -> Self {
        let mut demo = command(folder, &["demo", "--quiet", "--epochs", "10000", "--out", "here"]);
        Self(demo.env(setting.0, setting.1).stdout(Stdio::null()).spawn().expect("it works"))
    }

    /// Asks for its live memory, from a folder that knows nothing of it.
    fn ask(&self, folder: &Path) -> crate::program::Ended {
        let pid = self.0.id().to_string();
        loop {
            let ended = run(folder, &["capture", "--memory", "--pid", &pid, "--timeout", "600"]);
            // It has just started.
            if !ended.stderr.contains("writes no recording") {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_running_program_writes_what_is_live() {
    let (folder, elsewhere) = (folder("capture-memory"), folder("capture-memory-elsewhere"));
    let demo = Demo::start(folder.path(), ("STEPSCOPE_MEMORY_SAMPLE_BYTES", "4096"));
    // One that has just started has taken no sample yet.
    let sampled = loop {
        let ended = demo.ask(elsewhere.path());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let said = |before| ended.stdout.lines().find_map(|line| Some(line.split_once(before)?.1));
        let file = said("written to ").expect("a file");
        assert!(fs::metadata(file).is_ok_and(|file| file.len() > 0), "{}", ended.stdout);
        let next = said("next: stepscope analyze ").expect("a command");
        let report = json(elsewhere.path(), &["analyze", next]);
        let sampled = report["memory"]["sampled"].clone();
        if sampled["steps"].as_u64().expect("steps") > 0 {
            break sampled;
        }
    };
    assert!(sampled["bytes"].as_u64().expect("bytes") > 0);

    let untracked = Demo::start(folder.path(), ("STEPSCOPE_TRACK", "-memory"));
    let ended = untracked.ask(elsewhere.path());
    assert!(ended.code == 3 && ended.stderr.contains("takes no samples"), "{}", ended.stderr);
}

#[test]
fn a_program_says_why_it_writes_nothing_of_its_memory() {
    let folder = folder("capture-memory-answers");
    let base = folder.path().join("profiles");
    process(&base, "1/0/my-host-7-r0", 0);
    let request = base.join("1/0/my-host-7-r0/capture.request");
    for (text, said) in
        [("no-allocator", "global_allocator"), ("failed no room", "no room"), ("memory", "older")]
    {
        let request = request.clone();
        let answer = move || {
            while !fs::read_to_string(&request).is_ok_and(|text| text == "memory") {
                std::thread::sleep(Duration::from_millis(1));
            }
            fs::write(&request, text).expect("it works");
            fs::remove_file(&request).expect("it works");
        };
        let program = std::thread::Builder::new().name("program".into()).spawn(answer).expect("it works");
        let ended = run(folder.path(), &["capture", "7", "--memory", "--timeout", "600"]);
        assert!(ended.code == 3 && ended.stderr.contains(said), "{}", ended.stderr);
        program.join().expect("it works");
    }
    let ended = run(folder.path(), &["capture", "--memory", "--pid", "4194305"]);
    assert!(ended.code == 3 && ended.stderr.contains("no process 4194305"), "{}", ended.stderr);
}

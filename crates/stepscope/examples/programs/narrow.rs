//! Where there is little room, or little left of a thread.

#![expect(unsafe_code, reason = "threads and keys of C's need it")]

use std::any::Any;
use std::ffi::c_void;
use std::panic::{catch_unwind, panic_any};
use std::ptr::null_mut;

use stepscope::{Loader, section, step};

/// One of each, on this thread.
fn all(number: u64) {
    let _step = step!(number, samples = 3u64);
    let _span = tracing::info_span!("span", number = 1, text = "two").entered();
    let _section = section!("section");
    tracing::warn!("a warning {number}");
}

/// A thread whose stack has so many bytes.
fn on_stack(bytes: usize) {
    extern "C" fn body(_: *mut c_void) -> *mut c_void {
        (0..3).for_each(all);
        null_mut()
    }

    // SAFETY: the attributes are made before they are used, and what is joined was begun.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        let mut thread = std::mem::zeroed::<libc::pthread_t>();
        assert_eq!(libc::pthread_attr_init(&raw mut attributes), 0);
        assert_eq!(libc::pthread_attr_setstacksize(&raw mut attributes, bytes), 0);
        assert_eq!(libc::pthread_create(&raw mut thread, &raw const attributes, body, null_mut()), 0);
        assert_eq!(libc::pthread_join(thread, null_mut()), 0);
    }
}

/// A thread that is first heard of in the destructor of a key of C's, which runs after those of Rust's.
fn in_destructor_of_a_key() {
    extern "C" fn destructor(_: *mut c_void) {
        let _section = section!("in_the_destructor");
        let loader = Loader::new("late");
        let batch = loader.produce(|| 1);
        assert_eq!(loader.wait(|| Some(batch)), Some(1));
        crate::say("destructors", 1);
    }

    let mut key = 0;
    // SAFETY: the key is made before it is used.
    assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) }, 0);
    let thread = std::thread::Builder::new().name("key".into()).spawn(move || {
        // SAFETY: a key that there is; the value is never looked at.
        assert_eq!(unsafe { libc::pthread_setspecific(key, std::ptr::dangling()) }, 0);
    });
    thread.unwrap().join().unwrap();
}

/// Begins to record while its thread unwinds.
struct BeginsLate;

impl Drop for BeginsLate {
    fn drop(&mut self) {
        let run = crate::start();
        crate::say("recording", run.is_recording().into());
        all(0);
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Box::new(0) as Box<dyn Any + Send>);
    }
}

/// Panics with something that panics when it is dropped.
struct Explodes;

impl std::fmt::Debug for Explodes {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic_any(Bomb)
    }
}

pub(crate) fn run(what: &str) {
    if what == "unwinding" {
        let begun = catch_unwind(|| {
            let _begins = BeginsLate;
            panic_any(0);
        });
        assert!(begun.is_err());
        return;
    }
    let _run = crate::install(stepscope::builder().format_field("explodes"));
    match what {
        "stack" => on_stack(32 << 10),
        "key" => in_destructor_of_a_key(),
        "payload" => {
            let _step = step!(0);
            let _span = tracing::info_span!("formatted", explodes = ?Explodes).entered();
        }
        "kinds" => {
            for number in 0..5 {
                let _step = step!(number);
                let _run = tracing::info_span!("inside", stepscope.section.kind = "run").entered();
            }
            for _ in 0..5 {
                let _run = tracing::info_span!("outside", stepscope.section.kind = "run").entered();
                let _section = section!("section");
            }
        }
        other => panic!("no such scenario: {other}"),
    }
}

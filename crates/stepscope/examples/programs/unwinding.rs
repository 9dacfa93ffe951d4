//! A panic, and what destructors do while it unwinds. Whatever it leaves has a name that begins with `left`.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use stepscope::{section, step};
use tracing::{Instrument, Span, info_span, instrument};

type Task = Pin<Box<dyn Future<Output = ()>>>;

fn poll(task: &mut Task) -> Poll<()> {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn ready(mut task: Task) {
    assert!(poll(&mut task).is_ready());
}

/// Begins and ends a section of each sort at the end of its life.
struct Tidies {
    span: Span,
    given_up: Option<Task>,
}

impl Drop for Tidies {
    fn drop(&mut self) {
        let _step = step!(1);
        drop(section!("tidy_section"));
        section!("tidy_whole").record("number", 1_u64);
        info_span!("tidy_span").in_scope(|| drop(section!("tidy_section")));
        self.span.in_scope(|| ());
        ready(Box::pin(async {}.instrument(info_span!("tidy_future"))));
        drop(self.given_up.take());
    }
}

fn fails() {
    panic!("on purpose");
}

#[instrument]
fn left_function() {
    fails();
}

#[instrument]
async fn left_future() {
    let mut is_first = true;
    std::future::poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) })
        .await;
    fails();
}

fn breaks() {
    let _step = step!(0);
    let _section = section!("left_section");
    let mut whole = section!("left_whole");
    whole.record("number", 1_u64);
    let _span = info_span!("left_span").entered();
    let mut given_up: Task = Box::pin(pending().instrument(info_span!("tidy_given_up")));
    assert!(poll(&mut given_up).is_pending());
    let span = info_span!("tidy_span_from_before");
    span.in_scope(|| ());
    let _tidies = Tidies { span, given_up: Some(given_up) };
    left_function();
}

pub(crate) fn run() {
    // Panics are part of the scenario: nobody needs to read of them.
    std::panic::set_hook(Box::new(|_| ()));
    let _run = crate::start();
    assert!(catch_unwind(breaks).is_err());

    // A span that another thread than its own panics in.
    let span = info_span!("left_elsewhere");
    span.in_scope(|| ());
    let elsewhere = span.clone();
    let thread = std::thread::Builder::new().name("elsewhere".into());
    assert!(thread.spawn(move || elsewhere.in_scope(fails)).unwrap().join().is_err());
    drop(span);

    let mut task: Task = Box::pin(left_future());
    assert!(poll(&mut task).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut task))).is_err());
    drop(task);

    // What comes next is as well as ever.
    let _step = step!(2);
    drop(section!("well_section"));
    info_span!("well_span").in_scope(|| ());
}

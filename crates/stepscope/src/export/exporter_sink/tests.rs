//! What becomes of batches, by themselves.

use super::*;

fn batch(number: u64, bytes: usize) -> Batch {
    Batch { number, request: vec![0; bytes], spans: 10 }
}

fn dropped(shared: &Shared, reason: LossReason) -> u64 {
    lock(&shared.state).counts.dropped[reason as usize]
}

#[test]
fn each_end_is_counted_for_what_it_is() {
    let shared = Shared::default();
    let why = || "why".to_owned();
    for (number, exported, said) in [
        (1, Exported::Taken, None),
        (2, Exported::Rejected(3, why()), Some(why())),
        (3, Exported::Rejected(0, why()), None),
        (4, Exported::Rejected(11, why()), Some(why())),
        (5, Exported::NotTaken(why()), Some(why())),
        (6, Exported::Unknown(why()), Some(why())),
    ] {
        assert!(!shared.put(batch(number, 1)));
        let taken = shared.take().unwrap();
        assert_eq!(shared.settle(taken.spans, exported), said, "{number}");
    }
    assert_eq!(lock(&shared.state).counts.exported, 10 + 7 + 10);
    assert_eq!(dropped(&shared, LossReason::ExportRejected), 3 + 10);
    assert_eq!(dropped(&shared, LossReason::ExportFailed), 10);
    assert_eq!(dropped(&shared, LossReason::ExportUnknown), 10);
}

#[test]
fn the_oldest_go_where_too_many_wait() {
    let shared = Shared::default();
    let half = QUEUE_BYTES / 2;
    assert!(!shared.put(batch(1, half)) && !shared.put(batch(2, half)));
    assert!(shared.put(batch(3, 1)));
    assert_eq!(dropped(&shared, LossReason::ExportFailed), 10);
    assert_eq!([shared.take(), shared.take()].map(|batch| batch.unwrap().number), [2, 3]);
    assert_eq!(lock(&shared.state).queue_bytes, 0);
}

/// Tells what it gets, and hangs from the second batch on until the test has ended.
#[derive(Debug)]
struct Hangs(std::sync::mpsc::SyncSender<u64>, std::sync::mpsc::Receiver<()>, u64);

impl Exporter for Hangs {
    fn export(&mut self, _: &[u8], spans: u64) -> Exported {
        self.2 += 1;
        let _ = self.0.send(spans);
        if self.2 > 1 {
            let _ = self.1.recv();
        }
        Exported::Taken
    }
}

#[test]
fn what_is_under_way_at_the_end_is_in_doubt_and_counted_once() {
    let (says, hears) = std::sync::mpsc::sync_channel(4);
    let (goes_on, told) = std::sync::mpsc::sync_channel::<()>(1);
    let mut sink = ExporterSink::create(Box::new(Hangs(says, told, 0))).unwrap();
    for number in 1..=3 {
        sink.shared.put(batch(number, 1));
    }
    sink.last = 3;
    assert_eq!([hears.recv(), hears.recv()], [Ok(10), Ok(10)]);
    assert_eq!((sink.settled(), sink.work(Instant::now())), (1, true));
    sink.end(Instant::now());
    let counts = sink.counts();
    assert_eq!((counts.exported, counts.dropped[LossReason::ExportUnknown as usize]), (10, 10));
    assert_eq!(counts.dropped[LossReason::ExportFailed as usize], 10);
    // It goes on after all; that changes nothing of what was said.
    drop(goes_on);
    while !lock(&sink.shared.state).has_ended {
        std::thread::yield_now();
    }
    assert_eq!(sink.counts(), counts);
    assert_eq!((sink.settled(), sink.work(Instant::now())), (3, false));
}

/// Panics wherever it can at the end.
#[derive(Debug)]
struct Panics;

impl Exporter for Panics {
    fn export(&mut self, _: &[u8], _: u64) -> Exported {
        Exported::Taken
    }

    fn shutdown(&mut self) {
        panic!("asked to end");
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn nobody_waits_for_an_exporter_that_panics_at_the_end() {
    let mut sink = ExporterSink::create(Box::new(Panics)).unwrap();
    sink.shared.put(batch(1, 1));
    sink.end(Instant::now() + std::time::Duration::from_secs(60));
    assert!(lock(&sink.shared.state).has_ended);
    assert_eq!(sink.counts().exported, 10);
}

//! A pipe whose reader is slow, so that whoever writes waits for room; healthy, the reader is quick.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Place, Program, advance};
use crate::work;

struct Writer {
    end: Option<PipeWriter>,
    reader: Option<JoinHandle<()>>,
    rows: Vec<u8>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Program for Writer {
    fn step(&mut self, _: u64) -> io::Result<()> {
        advance(2_000);
        self.end.as_mut().map_or(Ok(()), |end| hand_over(end, &self.rows))
    }
}

/// Half a megabyte a step; the slow reader takes about fifteen milliseconds for it.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let (out, end) = io::pipe()?;
    let rest = if place.is_healthy { Duration::ZERO } else { Duration::from_millis(2) };
    let reader = thread::Builder::new().spawn(move || drain(out, rest))?;
    Ok(Box::new(Writer { end: Some(end), reader: Some(reader), rows: vec![1; 512 << 10] }))
}

fn drain(mut out: PipeReader, rest: Duration) {
    let mut buffer = vec![0; 64 << 10];
    while out.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
        if !rest.is_zero() {
            thread::sleep(rest);
        }
    }
}

#[tracing::instrument(skip_all)]
fn hand_over(end: &mut PipeWriter, rows: &[u8]) -> io::Result<()> {
    end.write_all(rows)
}

//! A file that is written through to the disk in each step; healthy, the system writes it when it likes.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use super::{Place, Program, advance};
use crate::work;

/// Two megabytes, in pieces that reach the disk one by one.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let mut file = File::create(place.folder.join("rows"))?;
    let rows = vec![7_u8; 64 << 10];
    let is_healthy = place.is_healthy;
    Ok(Box::new(move |_| {
        advance(2_000);
        put(&mut file, &rows, is_healthy)
    }))
}

#[tracing::instrument(skip_all)]
fn put(file: &mut File, rows: &[u8], is_healthy: bool) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    for _ in 0..8 {
        file.write_all(rows)?;
        if !is_healthy {
            file.sync_all()?;
        }
    }
    Ok(())
}

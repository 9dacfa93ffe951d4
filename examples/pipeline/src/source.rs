//! Loader threads: each reads recordings ahead and decodes them. The reading is tokio's, so that it could as well
//! be an object store; `block_on` keeps it inside of the batch's trace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, Scope};

use stepscope::{Loader, Traced, section};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt as _, BufReader};
use tokio::runtime::Handle;

use crate::recordings::{RECORDS, Recording, VALUES, parse};

const LOADERS: usize = 2;
/// Recordings that each loader may be ahead.
const AHEAD: usize = 4;

/// What the loaders read, and how.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub files: &'a [PathBuf],
    pub runtime: &'a Handle,
    pub steps: usize,
    /// The planted fault: the file is read piece by piece, without a buffer.
    pub is_unbuffered: bool,
}

type Item = Traced<io::Result<Recording>>;

/// The consumer's end: recordings in the order of the steps.
pub struct Recordings {
    loader: Loader,
    queues: Vec<Receiver<Item>>,
    taken: usize,
}

impl Recordings {
    /// Waits for the next recording.
    pub fn next(&mut self) -> Option<io::Result<Recording>> {
        let queue = self.queues.get(self.taken % LOADERS)?;
        self.taken += 1;
        self.loader.wait(|| queue.recv().ok())
    }
}

/// Starts the loader threads; they end with the last step, or when nobody takes their recordings.
pub fn start<'scope>(scope: &'scope Scope<'scope, '_>, source: Source<'scope>) -> io::Result<Recordings> {
    let loader = Loader::new("recordings");
    let mut queues = Vec::new();
    for thread in 0..LOADERS {
        let (sender, receiver) = sync_channel(AHEAD);
        queues.push(receiver);
        let loader = loader.clone();
        Builder::new().name(format!("loader-{thread}")).spawn_scoped(scope, move || {
            for step in (thread..source.steps).step_by(LOADERS) {
                let path = &source.files[step % source.files.len()];
                let item = loader.produce(|| source.recording(path));
                if sender.send(item).is_err() {
                    return;
                }
            }
        })?;
    }
    Ok(Recordings { loader, queues, taken: 0 })
}

impl Source<'_> {
    fn recording(&self, path: &Path) -> io::Result<Recording> {
        let records = self.runtime.block_on(async {
            let file = File::open(path).await?;
            if self.is_unbuffered {
                read(file).await
            } else {
                read(BufReader::with_capacity(1 << 20, file)).await
            }
        })?;
        let _section = section!("decode", records = records.len());
        let mut values = Vec::with_capacity(RECORDS * VALUES);
        for record in &records {
            parse(record, &mut values)?;
        }
        Ok(Recording { values })
    }
}

/// All records. Without a buffer each piece that is asked for is a job for tokio's thread pool and a system call.
#[tracing::instrument(skip_all)]
async fn read(mut file: impl AsyncRead + Unpin) -> io::Result<Vec<Vec<u8>>> {
    let mut records = Vec::with_capacity(RECORDS);
    for _ in 0..RECORDS {
        let length = file.read_u32_le().await?;
        let mut record = vec![0; length as usize];
        file.read_exact(&mut record).await?;
        records.push(record);
    }
    Ok(records)
}

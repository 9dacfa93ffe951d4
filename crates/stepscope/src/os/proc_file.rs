//! Files under `/proc` that are read again and again: kept open, so that reading is one call, as long as the process has
//! descriptors to spare; else opened each time. What is in them is the business of `hot::resource_usage` and `network`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::os::guarded_file::{GuardedFile, beyond_standard};
use crate::os::sys;

/// Of the descriptors that the process may have, this part is kept at most.
const KEPT_PART: u64 = 8;
/// However many it may have.
const MOST_KEPT: u64 = 1_024;

/// Files of the process that are kept open.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Of the smallest page that there is.
const HALF_A_PAGE: usize = 2_048;

/// How many files may be kept open at the same time.
fn bound() -> u64 {
    static BOUND: OnceLock<u64> = OnceLock::new();
    *BOUND.get_or_init(|| (sys::most_files().unwrap_or(0) / KEPT_PART).min(MOST_KEPT))
}

/// An open file that counts among those kept. Where the program has closed it, what is read is that of another one: it is none of
/// the figures that are looked for, and is left as it is.
#[derive(Debug)]
struct Kept(GuardedFile);

impl Kept {
    /// Keeps `file`, or gives it back where there are enough.
    fn new(file: File) -> Result<Self, File> {
        if KEPT.fetch_add(1, Ordering::Relaxed) < bound() {
            Ok(Self(GuardedFile::new(file)))
        } else {
            KEPT.fetch_sub(1, Ordering::Relaxed);
            Err(file)
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unopened,
    Open(Kept),
    Refused,
}

/// See the module. It is that of the thread that reads it first.
#[derive(Debug, Default)]
pub(crate) struct ProcFile {
    state: State,
    read_bytes: u64,
}

impl ProcFile {
    /// All bytes that were ever read: the system counts them among those of the thread.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    fn with<R>(&mut self, name: &str, read: impl FnOnce(&File, &mut u64) -> io::Result<R>) -> Option<R> {
        if let State::Unopened = self.state {
            match File::open(name).and_then(beyond_standard).map(Kept::new) {
                Ok(Ok(kept)) => self.state = State::Open(kept),
                Ok(Err(file)) => return read(&file, &mut self.read_bytes).ok(),
                // There may be descriptors again.
                Err(error) if sys::is_out_of_files(&error) => return None,
                Err(_) => self.state = State::Refused,
            }
        }
        let State::Open(Kept(kept)) = &self.state else { return None };
        read(kept.file()?, &mut self.read_bytes).ok()
    }

    /// What one call gives.
    pub(crate) fn read<'a>(&mut self, name: &str, buffer: &'a mut [u8]) -> Option<&'a str> {
        let read = self.with(name, |file, read_bytes| {
            let read = file.read_at(buffer, 0)?;
            *read_bytes += read as u64;
            Ok(read)
        })?;
        std::str::from_utf8(buffer.get(..read)?).ok()
    }

    /// All of a file that gives its lines by the page, each of less than half a page; `None` if there is no room for it.
    pub(crate) fn read_whole<'a>(&mut self, name: &str, buffer: &'a mut [u8]) -> Option<&'a str> {
        let len = self.with(name, |file, read_bytes| {
            let mut len = 0;
            loop {
                let room = buffer.get_mut(len..).filter(|room| !room.is_empty());
                let room = room.ok_or(io::ErrorKind::FileTooLarge)?;
                let read = file.read_at(room, len as u64)?;
                len += read;
                *read_bytes += read as u64;
                // Where another line would have had room it is not asked once more, which would have the system write all
                // of them again.
                if read < room.len().min(HALF_A_PAGE) {
                    return Ok(len);
                }
            }
        })?;
        std::str::from_utf8(buffer.get(..len)?).ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bound_files_are_read_and_not_kept() {
        let comm = std::fs::read_to_string("/proc/self/comm").unwrap();
        let count = usize::try_from(bound()).unwrap() + 20;
        let mut files: Vec<ProcFile> = (0..count).map(|_| ProcFile::default()).collect();
        for file in &mut files {
            assert_eq!(file.read("/proc/self/comm", &mut [0; 64]), Some(&*comm));
            assert_eq!(file.read_bytes(), comm.len() as u64);
        }
        let is_kept = |file: &&ProcFile| matches!(file.state, State::Open(_));
        let kept = files.iter().filter(is_kept).count();
        assert!((1..=count - 20).contains(&kept), "{kept} of {count}");
        drop(files);
        let mut file = ProcFile::default();
        assert!(
            file.read("/proc/self/comm", &mut [0; 64]).is_some() && is_kept(&&file),
            "there is room again"
        );
    }

    #[test]
    fn what_does_not_fit_and_what_is_not_there_is_absent() {
        assert_eq!(ProcFile::default().read_whole("/proc/self/comm", &mut [0; 1]), None);
        assert_eq!(ProcFile::default().read("/proc/self/no-such-file", &mut [0; 64]), None);
        // Longer than a page: mounts, maps.
        let mut buffer = vec![0; 1 << 20];
        let mut file = ProcFile::default();
        let whole = file.read_whole("/proc/self/maps", &mut buffer).unwrap();
        assert!(whole.len() > 4_096 && whole.ends_with('\n') && whole.contains("[stack]"), "{}", whole.len());
    }
}

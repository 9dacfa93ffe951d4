//! Reads `/proc/self/statm` through a descriptor that stays open, and `/proc/self/status`.
#![expect(unsafe_code, reason = "the open file is leaked and shared through a raw pointer, without a lock")]

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// An open `statm`. `/proc/self` is resolved when a file is opened: after `fork` the child's copy of the
/// descriptor still shows the parent, so the owner is remembered and the child opens its own.
struct Statm {
    pid: u32,
    file: File,
}

/// The file in use. Replaced after `fork`, or if the descriptor was closed behind our back; what it replaces
/// is leaked, because the number of a closed descriptor may belong to someone else by now. No lock: one that
/// another thread held at the moment of `fork` would never open in the child.
static STATM: AtomicPtr<Statm> = AtomicPtr::new(ptr::null_mut());

pub(super) fn rss_bytes() -> Option<u64> {
    let pid = std::process::id();
    let kept = STATM.load(Ordering::Acquire);
    // SAFETY: null, or leaked by `keep`.
    let ours = unsafe { kept.as_ref() }.filter(|statm| statm.pid == pid);
    if let Some(pages) = ours.and_then(|statm| resident_pages(&statm.file)) {
        return to_bytes(pages);
    }
    let file = File::open("/proc/self/statm").ok()?;
    let pages = resident_pages(&file)?;
    keep(kept, Statm { pid, file });
    to_bytes(pages)
}

/// Makes `statm` the file in use, unless another thread replaced `old` first.
fn keep(old: *mut Statm, statm: Statm) {
    let new = Box::into_raw(Box::new(statm));
    if STATM.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: made by `Box::into_raw` above and published to nobody.
        drop(unsafe { Box::from_raw(new) });
    }
}

fn resident_pages(statm: &File) -> Option<u64> {
    let mut buffer = [0; 256];
    let length = statm.read_at(&mut buffer, 0).ok()?;
    super::count_read(length);
    parse_statm(buffer.get(..length)?)
}

fn to_bytes(pages: u64) -> Option<u64> {
    pages.checked_mul(crate::sys::page_size_bytes()?)
}

/// The second of seven numbers: `size resident shared text lib data dt`.
fn parse_statm(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

pub(super) fn peak_rss_bytes() -> Option<u64> {
    // Far more than the usual 1.5 kB; only the list of supplementary groups can make it longer, and then the
    // figure is absent.
    let mut buffer = [0; 16 * 1024];
    let mut file = File::open("/proc/self/status").ok()?;
    let mut length = 0;
    loop {
        match file.read(buffer.get_mut(length..)?).ok()? {
            0 => break,
            more => {
                super::count_read(more);
                length += more;
            }
        }
    }
    parse_peak(buffer.get(..length)?)
}

/// The line `VmHWM:      1234 kB`.
fn parse_peak(status: &[u8]) -> Option<u64> {
    let line = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    let kibibytes = std::str::from_utf8(line).ok()?.trim().strip_suffix("kB")?.trim_end();
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statm_gives_its_second_number() {
        assert_eq!(parse_statm(b"5791 1024 640 12 0 300 0\n"), Some(1024));
        for damaged in [&b""[..], b"5791", b"5791 x", b"5791 -1", b"1 99999999999999999999", b"\xff 1"] {
            assert_eq!(parse_statm(damaged), None);
        }
    }

    #[test]
    fn the_peak_is_in_kibibytes() {
        assert_eq!(
            parse_peak(b"Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 1 kB\n"),
            Some(1_263_616)
        );
        for damaged in [&b""[..], b"VmHWM:", b"VmHWM: 12", b"VmHWM: x kB", b"xVmHWM: 12 kB"] {
            assert_eq!(parse_peak(damaged), None);
        }
    }

    #[test]
    fn what_is_read_is_counted_for_the_thread() {
        let before = super::super::own_read_bytes();
        let len = std::fs::read("/proc/self/statm").unwrap().len() as u64;
        rss_bytes().unwrap();
        // (Its numbers may have had another length a moment before.)
        let counted = super::super::own_read_bytes() - before;
        assert!((len - 3..=len + 3).contains(&counted), "{counted} of {len}");
        let elsewhere = std::thread::Builder::new().name("other".into()).spawn(super::super::own_read_bytes);
        assert_eq!(elsewhere.unwrap().join().unwrap(), 0);
    }
}

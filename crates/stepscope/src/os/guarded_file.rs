//! A file of ours that is written to, and closed, only while it is ours: a program may close descriptors that it has not opened, all of
//! them before it becomes a daemon for one, and what it opens next then has their numbers. Which files there are is the business of
//! `export::directory` and of `proc_file`.

use std::fs::File;
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::time::SystemTime;

/// What tells a file from all others that there are or were: where the system keeps it, its device and its number there, and when it
/// was made, where the system says. The number of one that has gone is soon another's.
type Id = (u64, u64, Option<SystemTime>);

/// What a file is told from others by, and how many names it has.
#[cfg(unix)]
fn place(file: &File) -> Option<(Id, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    Some(((metadata.dev(), metadata.ino(), metadata.created().ok()), metadata.nlink()))
}

/// The same for all, where the system does not say.
#[cfg(not(unix))]
fn place(_: &File) -> Option<(Id, u64)> {
    Some(((0, 0, None), 1))
}

/// The file by another descriptor, if it has got a standard one, which the program has closed: what that prints would go into it.
#[cfg(unix)]
pub(crate) fn beyond_standard(file: File) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    // (A copy gets none of the three.)
    if file.as_raw_fd() < 3 { file.try_clone() } else { Ok(file) }
}

/// The file as it is: there are no such numbers.
#[cfg(not(unix))]
pub(crate) fn beyond_standard(file: File) -> io::Result<File> {
    Ok(file)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct GuardedFile {
    /// There until it goes.
    file: Option<File>,
    id: Option<Id>,
    /// It never had a name, and so never gets one.
    is_nameless: bool,
}

impl GuardedFile {
    pub(crate) fn new(file: File) -> Self {
        let (id, names) = place(&file).unzip();
        Self { file: Some(file), id, is_nameless: names == Some(0) }
    }

    /// The file, whoever's it is by now.
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// How many names it has; `None` where its descriptor is that of no file, or of another one.
    fn names(&self) -> Option<u64> {
        let (id, names) = place(self.file.as_ref()?)?;
        (Some(id) == self.id && (names == 0 || !self.is_nameless)).then_some(names)
    }

    /// Whether its descriptor still is that of this file.
    pub(crate) fn is_ours(&self) -> bool {
        self.names().is_some()
    }

    /// Whether it is ours and has no name any more.
    pub(crate) fn is_deleted(&self) -> bool {
        self.names() == Some(0)
    }

    /// Writes all parts behind its first `len` bytes, which are all that it has of ours; so it is after an error. Somebody else
    /// may have written there.
    ///
    /// # Errors
    ///
    /// Those of the system, and where the program has closed its descriptor: then nothing is done to any file.
    pub(crate) fn append(&mut self, parts: &mut [IoSlice<'_>], len: u64) -> io::Result<()> {
        let is_ours = self.is_ours();
        let Some(file) = self.file.as_mut().filter(|_| is_ours) else {
            return Err(io::Error::other("the program has closed the file"));
        };
        file.seek(SeekFrom::Start(len))?;
        write_all(file, parts).inspect_err(|_| {
            // A torn record would hide everything behind it.
            let _ = file.set_len(len);
        })
    }
}

impl Drop for GuardedFile {
    fn drop(&mut self) {
        if !self.is_ours()
            && let Some(file) = self.file.take()
        {
            // It would close a file of the program's, or none, for which the standard library may abort.
            std::mem::forget(file);
        }
    }
}

/// Writes all parts, by one call where the system takes them in one.
fn write_all(file: &mut File, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
    // No empty part is left in front, of which nothing would be written.
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        match file.write_vectored(parts) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut parts, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::fd::AsRawFd;

    use super::*;

    fn append(file: &mut GuardedFile, bytes: &[u8], len: u64) -> io::Result<()> {
        file.append(&mut [IoSlice::new(bytes)], len)
    }

    #[test]
    fn a_file_without_a_name_is_told_from_one_that_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ours");
        let mut file = GuardedFile::new(File::create_new(&path).unwrap());
        append(&mut file, b"more", 0).unwrap();
        assert!(file.is_ours() && !file.is_deleted());
        fs::remove_file(&path).unwrap();
        assert!(file.is_ours() && file.is_deleted());
        let id = file.id;
        file.id = id.map(|(device, number, made)| (device, number + 1, made));
        assert!(!file.is_ours() && !file.is_deleted());
        // Another one that has its number now.
        file.id = id.map(|(device, number, _)| (device, number, Some(SystemTime::UNIX_EPOCH)));
        assert!(!file.is_ours() && !file.is_deleted());
    }

    #[test]
    fn a_file_with_a_name_is_none_that_never_had_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("theirs");
        let file = File::create_new(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let ours = GuardedFile::new(file);
        assert!(ours.is_ours() && ours.is_deleted());
        // As where the program had closed it, and a file of its own has got its descriptor and its place, on a file system that does
        // not say when it was made.
        let theirs = File::create_new(&path).unwrap();
        let id = place(&theirs).map(|(id, _)| id);
        let number = theirs.as_raw_fd();
        let taken = GuardedFile { file: Some(theirs), id, is_nameless: ours.is_nameless };
        assert!(!taken.is_ours() && !taken.is_deleted());
        drop(taken);
        assert_eq!(fs::read_link(format!("/proc/self/fd/{number}")).unwrap(), path);
    }

    #[test]
    fn what_is_whole_stays_so_where_somebody_else_writes_by_the_same_descriptor() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ours");
        let file = File::create_new(&path).unwrap();
        let mut theirs = file.try_clone().unwrap();
        let mut ours = GuardedFile::new(file);
        append(&mut ours, b"whole ", 0).unwrap();
        theirs.write_all(b"theirs").unwrap();
        append(&mut ours, b"and more", 6).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole and more");
    }

    #[test]
    fn what_has_the_descriptor_of_a_file_that_was_closed_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (ours, theirs) = (directory.path().join("ours"), directory.path().join("theirs"));
        let file = File::create_new(&ours).unwrap();
        let theirs_file = File::create_new(&theirs).unwrap();
        let number = theirs_file.as_raw_fd();
        // As where the program had closed the descriptor, and its next file has got it.
        let id = place(&file).map(|(id, _)| id);
        let mut file = GuardedFile { file: Some(theirs_file), id, is_nameless: false };
        assert!(append(&mut file, b"more", 0).is_err());
        drop(file);
        assert_eq!(fs::read(&theirs).unwrap(), b"");
        // It is open still.
        assert_eq!(fs::read_link(format!("/proc/self/fd/{number}")).unwrap(), theirs);
    }
}

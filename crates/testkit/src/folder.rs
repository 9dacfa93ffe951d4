//! Temporary folders that vanish with their guard.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io, process};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder of its own, removed with everything in it when dropped; kept where `STEPSCOPE_KEEP_TEMP` is set.
#[derive(Debug)]
pub struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    /// A fresh, empty folder; `label` is part of its name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(label: &str) -> io::Result<Self> {
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("stepscope-{label}-{}-{number}", process::id());
            let path = env::temp_dir().join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                // Left over from an earlier process of the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if env::var_os("STEPSCOPE_KEEP_TEMP").is_none() {
            // Nothing useful can be done about a folder that stays.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Every file below `folder`, sorted by path.
///
/// # Errors
/// When a folder cannot be read.
pub fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let target = if entry.file_type()?.is_dir() { &mut folders } else { &mut files };
            target.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_vanishes_with_its_guard() {
        let folder = TempFolder::new("folder").unwrap();
        let other = TempFolder::new("folder").unwrap();
        assert_ne!(folder.path(), other.path());
        fs::create_dir(folder.join("b")).unwrap();
        fs::write(folder.join("b/c"), "").unwrap();
        fs::write(folder.join("a"), "").unwrap();
        assert_eq!(files_below(folder.path()).unwrap(), [folder.join("a"), folder.join("b/c")]);
        let path = folder.path().to_path_buf();
        drop(folder);
        assert!(!path.exists());
    }
}

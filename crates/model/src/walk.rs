//! The files of a directory, at any depth, sorted by path. Links are not followed: what they lead to is in
//! the directory already, or does not belong to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories nested deeper than this are not entered.
const MAX_DEPTH: usize = 64;

/// A file found, or a directory that could not be read.
#[derive(Debug)]
pub(crate) enum Found {
    /// A regular file and its size.
    File(PathBuf, u64),
    /// Why a directory, or one entry of it, could not be read.
    Failed(PathBuf, io::Error),
}

/// Everything below `root`.
pub(crate) fn files(root: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    walk(root, 0, &mut found);
    found
}

fn walk(directory: &Path, depth: usize, found: &mut Vec<Found>) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return found.push(Found::Failed(directory.to_path_buf(), error)),
    };
    let mut sorted = Vec::new();
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok(entry) => sorted.push(entry),
            Err(error) => found.push(Found::Failed(directory.to_path_buf(), error)),
        }
    }
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in sorted {
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, found);
        } else if kind.is_file() {
            let size = fs::metadata(&path).map_or(0, |meta| meta.len());
            found.push(Found::File(path, size));
        }
    }
}

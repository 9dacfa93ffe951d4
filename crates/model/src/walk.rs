//! The files of a directory, at any depth, sorted by path, and parts of such a list. Links are not followed: what
//! they lead to is in the directory already, or does not belong to it.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::ReadError;

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

impl Found {
    fn bytes(&self) -> u64 {
        if let Self::File(_, bytes) = self { *bytes } else { 0 }
    }
}

/// The files of a directory, or some of them; for [`Reader::read_listing`](crate::Reader::read_listing).
#[derive(Debug, Default)]
pub struct Listing {
    pub(crate) found: VecDeque<Found>,
    /// Bytes of all files of the directory.
    pub(crate) total_bytes: u64,
}

impl Listing {
    /// Every file below `directory`.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(directory: &Path) -> Result<Self, ReadError> {
        let mut found = VecDeque::new();
        walk(directory, 0, &mut found);
        if !found.iter().any(|found| matches!(found, Found::File(..))) {
            let failed = found.into_iter().find_map(|found| match found {
                Found::Failed(path, error) => Some(ReadError::io(&path, error)),
                Found::File(..) => None,
            });
            return Err(failed.unwrap_or_else(|| ReadError::no_files(directory)));
        }
        let total_bytes = found.iter().map(Found::bytes).sum();
        Ok(Self { found, total_bytes })
    }

    /// Cuts it into at most `parts` lists of files that follow each other, of about as many bytes, and of `least_bytes`
    /// in the mean; one list where it is too small for more, or nearly all of it is in one part.
    #[must_use]
    pub fn split(self, parts: usize, least_bytes: u64) -> Vec<Self> {
        let total_bytes = self.total_bytes;
        let fitting = usize::try_from(total_bytes / least_bytes.max(1)).unwrap_or(usize::MAX);
        let parts = parts.min(fitting).max(1) as u128;
        let mut lists: Vec<(u128, Self)> = Vec::new();
        let mut before = 0u64;
        for found in self.found {
            // The middle of a file says which part it belongs to.
            let middle = u128::from(before) + u128::from(found.bytes()) / 2;
            let part = (middle * parts / u128::from(total_bytes.max(1))).min(parts - 1);
            before += found.bytes();
            match lists.last_mut() {
                Some((last, list)) if *last == part => list.found.push_back(found),
                _ => lists.push((part, Self { found: [found].into(), total_bytes })),
            }
        }
        let mut lists: Vec<Self> = lists.into_iter().map(|(_, list)| list).collect();
        let largest = lists.iter().map(Self::bytes).max().unwrap_or(0);
        if largest > total_bytes / 4 * 3 {
            let found = lists.into_iter().flat_map(|list| list.found).collect();
            lists = vec![Self { found, total_bytes }];
        }
        lists
    }

    /// Number of files, those included that cannot be read.
    #[must_use]
    pub fn files(&self) -> usize {
        self.found.len()
    }

    /// Takes its first file out of it, as a list of its own.
    #[must_use]
    pub fn take_first(&mut self) -> Option<Self> {
        let first = self.found.pop_front()?;
        Some(Self { found: [first].into(), total_bytes: self.total_bytes })
    }

    /// Takes the files out of it that make up the latter half of its bytes, at least `least_bytes` of them, and leaves
    /// at least one.
    #[must_use]
    pub fn take_half(&mut self, least_bytes: u64) -> Option<Self> {
        let bytes = self.bytes();
        let mut before = 0;
        let middle = self.found.iter().position(|found| {
            before += found.bytes();
            before >= bytes.div_ceil(2)
        })?;
        let half: u64 = self.found.range(middle + 1..).map(Found::bytes).sum();
        (half > 0 && half >= least_bytes)
            .then(|| Self { found: self.found.split_off(middle + 1), total_bytes: self.total_bytes })
    }

    /// Puts the files of another list behind its own.
    pub fn append(&mut self, mut other: Self) {
        self.found.append(&mut other.found);
    }

    /// Bytes of its own files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.found.iter().map(Found::bytes).sum()
    }
}

fn walk(directory: &Path, depth: usize, found: &mut VecDeque<Found>) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return found.push_back(Found::Failed(directory.to_path_buf(), error)),
    };
    let mut sorted = Vec::new();
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok(entry) => sorted.push(entry),
            Err(error) => found.push_back(Found::Failed(directory.to_path_buf(), error)),
        }
    }
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in sorted {
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, found);
        } else if kind.is_file() {
            let size = fs::metadata(&path).map_or(0, |meta| meta.len());
            found.push_back(Found::File(path, size));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(sizes: &[u64]) -> Listing {
        let found = sizes.iter().enumerate().map(|(at, &size)| Found::File(format!("{at:03}").into(), size));
        Listing { found: found.collect(), total_bytes: sizes.iter().sum() }
    }

    fn split(sizes: &[u64], parts: usize, least_bytes: u64) -> Vec<Vec<u64>> {
        let lists = listing(sizes).split(parts, least_bytes);
        lists.iter().map(|list| list.found.iter().map(Found::bytes).collect()).collect()
    }

    #[test]
    fn parts_are_about_equal_and_in_order() {
        assert_eq!(split(&[10, 10, 10, 10], 2, 1), [vec![10, 10], vec![10, 10]]);
        assert_eq!(split(&[1, 30, 30, 30, 0], 3, 1), [vec![1, 30], vec![30], vec![30, 0]]);
        assert_eq!(split(&[40, 100], 2, 1), [vec![40], vec![100]]);
        assert_eq!(split(&[100, 40, 0], 2, 1), [vec![100], vec![40, 0]]);
    }

    fn halved(sizes: &[u64], least_bytes: u64) -> (Vec<u64>, Option<Vec<u64>>) {
        let mut list = listing(sizes);
        let bytes = |list: &Listing| list.found.iter().map(Found::bytes).collect();
        let half = list.take_half(least_bytes).as_ref().map(bytes);
        (bytes(&list), half)
    }

    #[test]
    fn the_latter_half_is_at_most_a_half() {
        assert_eq!(halved(&[10, 10, 10, 10], 1), (vec![10, 10], Some(vec![10, 10])));
        assert_eq!(halved(&[10, 10, 10], 1), (vec![10, 10], Some(vec![10])));
        assert_eq!(halved(&[100, 10, 10], 1), (vec![100], Some(vec![10, 10])));
        assert_eq!(halved(&[10, 10, 100], 1), (vec![10, 10, 100], None), "the last one is more than a half");
        assert_eq!(halved(&[10, 10, 10], 11), (vec![10, 10, 10], None));
        assert_eq!(halved(&[10], 0), (vec![10], None));
        assert_eq!(halved(&[], 0), (vec![], None));
    }

    #[test]
    fn files_are_taken_in_order_and_put_back() {
        let mut list = listing(&[1, 2, 3]);
        let mut read = list.take_first().expect("three");
        read.append(list.take_first().expect("two"));
        assert_eq!((read.bytes(), list.bytes()), (3, 3));
        read.append(list);
        assert_eq!(read.found.iter().map(Found::bytes).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn small_ones_stay_whole() {
        assert_eq!(split(&[10, 10, 10], 4, 31), [vec![10, 10, 10]]);
        assert_eq!(split(&[10, 10, 10], 4, 15), [vec![10], vec![10, 10]]);
        assert_eq!(split(&[0, 0], 4, 0), [vec![0, 0]]);
        assert_eq!(split(&[5, 100, 5], 2, 1), [vec![5, 100, 5]]);
    }
}

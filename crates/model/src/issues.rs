//! Collects [`ReadIssue`]s: one entry a file and kind, repeated ones counted, the first one placed; what cost bytes
//! has an entry of its own. The result does not depend on the order in which damage is met.

use std::collections::HashMap;
use std::ops::Range;

use crate::{IssueKind, ReadIssue};

/// Beyond this many entries new ones are counted by kind only, without their file.
const MAX_ENTRIES: usize = 1_024;

/// Number of a file name in [`Issues`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) u32);

impl FileId {
    /// Damage that belongs to no file.
    pub(crate) const NONE: Self = Self(0);
}

#[derive(Debug, Clone)]
struct Entry {
    offset: Option<u64>,
    count: u64,
    lost_bytes: u64,
    reason: String,
}

/// Issues so far, and the names of the files they belong to.
#[derive(Debug)]
pub(crate) struct Issues {
    names: Vec<String>,
    ids: HashMap<String, FileId>,
    /// By file, kind, and whether bytes were lost.
    entries: HashMap<(FileId, IssueKind, bool), Entry>,
    line: Option<Line>,
}

/// A line of a file that is being read.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) file: FileId,
    /// Its bytes.
    pub(crate) range: Range<u64>,
    /// From 1 on.
    pub(crate) number: u64,
}

impl Default for Issues {
    fn default() -> Self {
        Self {
            names: vec![String::new()],
            ids: HashMap::from([(String::new(), FileId::NONE)]),
            entries: HashMap::new(),
            line: None,
        }
    }
}

impl Issues {
    /// The number of a file name.
    pub(crate) fn file(&mut self, name: &str) -> FileId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = FileId(u32::try_from(self.names.len()).unwrap_or(0));
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// The name of a file.
    pub(crate) fn name(&self, file: FileId) -> &str {
        self.names.get(file.0 as usize).map_or("", String::as_str)
    }

    /// The file of the two whose name comes first.
    pub(crate) fn first_of(&self, a: FileId, b: FileId) -> FileId {
        if self.name(b) < self.name(a) { b } else { a }
    }

    /// From now on names the line beside what is wrong in it.
    pub(crate) fn at_line(&mut self, line: Option<Line>) {
        self.line = line;
    }

    /// Adds `count` of a kind, which cost no bytes; `reason` describes the first of them.
    pub(crate) fn add(
        &mut self,
        file: FileId,
        kind: IssueKind,
        offset: Option<u64>,
        count: u64,
        reason: impl FnOnce() -> String,
    ) {
        self.add_lost(file, kind, offset, (count, 0), reason);
    }

    /// Adds a number of a kind, and the bytes that they cost together; `reason` describes the first of them.
    pub(crate) fn add_lost(
        &mut self,
        file: FileId,
        kind: IssueKind,
        offset: Option<u64>,
        (count, lost_bytes): (u64, u64),
        reason: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        let is_in = |line: &&Line| line.file == file && offset.is_some_and(|at| line.range.contains(&at));
        let line = self.line.as_ref().filter(is_in).map(|line| line.number);
        let reason = || match line {
            Some(number) => format!("line {number}: {}", reason()),
            None => reason(),
        };
        let is_loss = lost_bytes > 0;
        let full = self.entries.len() >= MAX_ENTRIES && !self.entries.contains_key(&(file, kind, is_loss));
        let (file, offset) = if full { (FileId::NONE, None) } else { (file, offset) };
        match self.entries.entry((file, kind, is_loss)) {
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(Entry { offset, count, lost_bytes, reason: reason() });
            }
            std::collections::hash_map::Entry::Occupied(mut slot) => {
                let entry = slot.get_mut();
                entry.count = entry.count.saturating_add(count);
                entry.lost_bytes = entry.lost_bytes.saturating_add(lost_bytes);
                // Earlier offsets win; of damage without a place or in the same place, the smaller text.
                let later = match (offset, entry.offset) {
                    (Some(new), Some(old)) if new != old => new > old,
                    (None, Some(_)) => true,
                    (Some(_), None) => false,
                    _ => {
                        let text = reason();
                        if text < entry.reason {
                            entry.reason = text;
                        }
                        return;
                    }
                };
                if !later {
                    entry.offset = offset;
                    entry.reason = reason();
                }
            }
        }
    }

    /// Whether something is wrong with a file.
    pub(crate) fn has_any(&self, file: FileId) -> bool {
        self.entries.keys().any(|(of, ..)| *of == file)
    }

    /// Adds what another reader collected.
    pub(crate) fn absorb(&mut self, issues: Vec<ReadIssue>) {
        for issue in issues {
            let file = self.file(&issue.file);
            let count = (issue.count, issue.lost_bytes.unwrap_or(0));
            self.add_lost(file, issue.kind, issue.offset, count, || issue.reason);
        }
    }

    /// All of them, sorted by file and kind.
    pub(crate) fn to_vec(&self) -> Vec<ReadIssue> {
        let mut issues: Vec<ReadIssue> = self
            .entries
            .iter()
            .map(|(&(file, kind, is_loss), entry)| ReadIssue {
                file: self.name(file).to_owned(),
                kind,
                offset: entry.offset,
                count: entry.count,
                lost_bytes: is_loss.then_some(entry.lost_bytes),
                reason: entry.reason.clone(),
            })
            .collect();
        issues.sort_unstable();
        issues
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_offset_wins_in_any_order() {
        let make = |order: &[u64]| {
            let mut issues = Issues::default();
            let file = issues.file("f");
            for &offset in order {
                issues.add(file, IssueKind::Corrupt, Some(offset), 1, || format!("at {offset}"));
            }
            issues.to_vec()
        };
        let expected = [ReadIssue {
            file: "f".into(),
            kind: IssueKind::Corrupt,
            offset: Some(3),
            count: 3,
            lost_bytes: None,
            reason: "at 3".into(),
        }];
        assert_eq!(make(&[9, 3, 5]), expected);
        assert_eq!(make(&[3, 5, 9]), expected);
    }

    #[test]
    fn what_cost_bytes_is_not_hidden_by_what_cost_none() {
        let mut issues = Issues::default();
        let file = issues.file("f");
        issues.add(file, IssueKind::Corrupt, Some(3), 1, || "harmless".into());
        for (offset, bytes) in [(90, 10), (70, 5)] {
            issues.add_lost(file, IssueKind::Corrupt, Some(offset), (1, bytes), || format!("at {offset}"));
        }
        let told: Vec<_> = issues
            .to_vec()
            .into_iter()
            .map(|issue| (issue.offset, issue.count, issue.lost_bytes, issue.reason))
            .collect();
        let expected = [(Some(3), 1, None, "harmless"), (Some(70), 2, Some(15), "at 70")];
        assert_eq!(
            told,
            expected.map(|(offset, count, lost, reason)| (offset, count, lost, reason.to_owned()))
        );
    }

    #[test]
    fn the_number_of_entries_is_bounded_and_nothing_is_uncounted() {
        let mut issues = Issues::default();
        for i in 0..5_000 {
            let file = issues.file(&format!("file{i}"));
            issues.add(file, IssueKind::Empty, None, 1, || "empty".into());
        }
        let all = issues.to_vec();
        assert!(all.len() <= MAX_ENTRIES + 1);
        assert_eq!(all.iter().map(|issue| issue.count).sum::<u64>(), 5_000);
    }
}

//! The processes of a file that holds several: which of them are hosts, which host each device works for, and which rank of
//! a job each is, where the file says so. Steps are found elsewhere.

use std::collections::{HashMap, HashSet};

use super::event::{Event, is_of_device, is_on_host};

/// Processes that are kept.
const MAX_PROCESSES: usize = 1 << 16;

/// Processes in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    hosts: HashSet<String>,
    /// The host whose slice came last.
    last: String,
    /// The host whose slices stand around a device's first one: files of several ranks are written one after the other.
    by_device: HashMap<String, String>,
}

impl Hosts {
    /// Notes where a slice ran.
    pub(super) fn note(&mut self, event: &Event<'_>) {
        if is_on_host(&event.category) {
            if self.last != event.pid {
                self.last = event.pid.to_string();
                if self.hosts.len() < MAX_PROCESSES && !self.hosts.contains(&self.last) {
                    self.hosts.insert(self.last.clone());
                }
            }
        } else if is_of_device(&event.category)
            && !self.by_device.contains_key(&*event.pid)
            && self.by_device.len() < MAX_PROCESSES
        {
            self.by_device.insert(event.pid.to_string(), self.last.clone());
        }
    }

    /// Whether a process is a host, as its slices say.
    pub(super) fn is_host(&self, process: &str) -> bool {
        self.hosts.contains(process)
    }

    /// The host of a device: of `candidates` the one of the same rank, where names say it, else the one beside whose
    /// slices its own stand.
    pub(super) fn of_device<'a>(&'a self, process: &str, candidates: &'a [String]) -> Option<&'a str> {
        let prefix = rank_prefix(process);
        let is_same = |host: &&String| rank_prefix(host) == prefix;
        let named = prefix.and_then(|_| candidates.iter().find(is_same));
        let beside = || candidates.iter().find(|host| self.by_device.get(process) == Some(*host));
        named.or_else(beside).map(String::as_str)
    }
}

/// The rank that the name of a process says, as those who join the files of ranks write it: `rank 3`, `Rank_3`,
/// `rank_3_4711`, `[TP03] 4711`.
pub(super) fn rank(name: &str) -> Option<i64> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let number = |text: &str| text.get(..digits(text)).and_then(|digits| digits.parse().ok());
    let lower = name.to_ascii_lowercase();
    if let Some((before, after)) = lower.split_once("rank") {
        let is_word = !before.ends_with(|letter: char| letter.is_alphanumeric());
        let after = after.trim_start_matches([' ', '_', '-', ':', '#', '=']);
        return number(after).filter(|_| is_word);
    }
    let inside = lower.strip_prefix('[')?.split_once(']')?.0;
    let after = inside.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    number(after).filter(|_| digits(after) == after.len())
}

/// What processes of one rank have in common in their names.
fn rank_prefix(name: &str) -> Option<&str> {
    if name.starts_with('[') {
        return name.split_once(']').map(|(prefix, _)| prefix);
    }
    let from = name.to_ascii_lowercase().find("rank")?;
    let rest = name.get(from..)?;
    let first = rest.find(|letter: char| letter.is_ascii_digit())?;
    let len = rest.get(first..)?.bytes().take_while(u8::is_ascii_digit).count();
    name.get(..from + first + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_ranks_as_joined_files_write_them() {
        for (name, expected) in [
            ("rank 3", Some(3)),
            ("Rank_12", Some(12)),
            ("rank_3_4711", Some(3)),
            ("python (rank 1)", Some(1)),
            ("Rank: 07", Some(7)),
            ("[TP03] 4711", Some(3)),
            ("[3] 4711", Some(3)),
            ("[TP0-PP1] 4711", None),
            ("frank 3", None),
            ("ranking", None),
            ("4711", None),
            ("python", None),
        ] {
            assert_eq!(rank(name), expected, "{name}");
        }
    }

    #[test]
    fn devices_are_of_the_host_of_the_same_rank() {
        let hosts = Hosts::default();
        let candidates = ["[TP0-PP1] 71".to_owned(), "rank_1_70".into(), "rank_11_70".into()];
        assert_eq!(hosts.of_device("[TP0-PP1] 0", &candidates), Some("[TP0-PP1] 71"));
        assert_eq!(hosts.of_device("rank_1_0", &candidates), Some("rank_1_70"));
        assert_eq!(hosts.of_device("rank_11_0", &candidates), Some("rank_11_70"));
        assert_eq!(hosts.of_device("rank_2_0", &candidates), None);
    }
}

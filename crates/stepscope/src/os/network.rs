//! Bytes that came and left through the network interfaces that the process sees: those of its network namespace, so of
//! its container, or of the machine. The system counts them for no process and no thread.

use stepscope_core::identity::hash_parts;

use crate::os::proc_file::ProcFile;

/// A table longer than this, of some sixty interfaces, is not read: a step should not take that long to begin.
const MAX_TABLE_BYTES: usize = 8_192;

/// Interfaces remembered at most.
const MAX_KNOWN: usize = 256;

/// What was counted so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// A hash of the interfaces' names: counts of different ones are not compared.
    interfaces: u64,
    received_bytes: u64,
    sent_bytes: u64,
}

impl Traffic {
    /// Bytes received, and bytes sent, between two looks at the same interfaces.
    pub(crate) fn since(&self, start: &Self) -> Option<[u64; 2]> {
        if self.interfaces != start.interfaces {
            return None;
        }
        Some([
            self.received_bytes.checked_sub(start.received_bytes)?,
            self.sent_bytes.checked_sub(start.sent_bytes)?,
        ])
    }
}

/// Reads the table of the calling thread's namespace.
#[derive(Debug, Default)]
pub(crate) struct Network {
    table: ProcFile,
    /// Names of interfaces, and whether each stands on another one.
    known: Vec<(String, bool)>,
}

impl Network {
    /// All bytes that were read for it.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.table.read_bytes()
    }

    pub(crate) fn read(&mut self) -> Option<Traffic> {
        let mut buffer = [0; MAX_TABLE_BYTES];
        let table = self.table.read_whole("/proc/thread-self/net/dev", &mut buffer)?;
        traffic(table, |name| self.is_stacked(name))
    }

    /// Whether an interface passes on to another one what goes through it: a bond, a bridge, a VLAN. `None` where that
    /// cannot be known.
    fn is_stacked(&mut self, name: &str) -> Option<bool> {
        if let Some((_, is_stacked)) = self.known.iter().find(|(known, _)| known == name) {
            return Some(*is_stacked);
        }
        let mut entries = std::fs::read_dir(std::path::Path::new("/sys/class/net").join(name)).ok()?;
        let is_stacked = entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"lower_"))
        });
        if self.known.len() == MAX_KNOWN {
            self.known.clear();
        }
        self.known.push((name.to_owned(), is_stacked));
        Some(is_stacked)
    }
}

/// Sums up `/proc/net/dev` over the interfaces that lead out and stand on no other one.
fn traffic(table: &str, mut is_stacked: impl FnMut(&str) -> Option<bool>) -> Option<Traffic> {
    let mut sum = Traffic::default();
    for line in table.lines().skip(2) {
        let (name, counts) = line.split_once(':')?;
        let name = name.trim();
        if name == "lo" || is_stacked(name)? {
            continue;
        }
        let mut counts = counts.split_ascii_whitespace().map(|count| count.parse::<u64>().ok());
        sum.received_bytes = sum.received_bytes.wrapping_add(counts.next()??);
        // Behind the eight counts of what was received.
        sum.sent_bytes = sum.sent_bytes.wrapping_add(counts.nth(7)??);
        sum.interfaces = hash_parts(&[&sum.interfaces.to_le_bytes(), name.as_bytes()]);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 9999999      10    0    0    0     0          0         0 9999999      10    0    0    0     0       0          0
  eth0:    1000       2    0    0    0     0          0         0      70       1    0    0    0     0       0          0
  eth1:     200       2    0    0    0     0          0         0       5       1    0    0    0     0       0          0
 bond0:    1200       4    0    0    0     0          0         0      75       2    0    0    0     0       0          0
";

    fn read(table: &str) -> Traffic {
        traffic(table, |name| Some(name.starts_with("bond"))).unwrap()
    }

    #[test]
    fn what_leads_out_counts_once() {
        let start = read(TABLE);
        assert_eq!((start.received_bytes, start.sent_bytes), (1_200, 75));
        // (The bond has it as well, and what stays in the machine is in no sum.)
        let later = TABLE.replace("    1200 ", "    1503 ").replace("     200 ", "     503 ");
        let later = later.replace("9999999", "99999999").replace("      70 ", "      81 ");
        assert_eq!(read(&later).since(&start), Some([303, 11]));
        assert_eq!(start.since(&read(&later)), None, "a count went backwards");
        let other = TABLE.replace("eth1:     200", "eth2:     900");
        assert_eq!(read(&other).since(&start), None, "another interface");
    }

    #[test]
    fn what_is_not_known_is_absent() {
        assert_eq!(traffic(TABLE, |name| (name != "bond0").then_some(false)), None);
        let cut = TABLE.split("      75").next().unwrap();
        assert_eq!(traffic(cut, |_| Some(false)), None);
        assert_eq!(traffic("", |_| Some(false)), Some(Traffic::default()), "a namespace without any");
    }
}

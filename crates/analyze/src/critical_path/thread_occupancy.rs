//! Which sections held which threads, so that others had to wait for them. When the path goes through them is decided by
//! the walk.

use crate::critical_path::{Member, NO_PARENT};

/// Where a section is, among others that can only come one after the other: the process and the thread; where that is not
/// known, the parent.
type Lane = (u32, Option<i64>);

fn lane(member: &Member) -> Lane {
    (if member.thread.is_some() { member.process } else { member.parent }, member.thread)
}

/// A stay on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stay {
    lane: Lane,
    end_ns: u64,
    start_ns: u64,
    id: u64,
    member: u32,
}

/// The sections that held their threads, by thread and end; read from the members when first asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadOccupancy {
    stays: Vec<Stay>,
    is_read: bool,
}

impl ThreadOccupancy {
    /// Forgets the members.
    pub(crate) fn clear(&mut self) {
        self.is_read = false;
    }

    /// The section that had the thread of `member` last, ending not after it began.
    pub(crate) fn before(&mut self, members: &[Member], member: &Member) -> Option<u32> {
        if !self.is_read {
            self.read(members);
        }
        let lane = lane(member);
        let after = self.stays.partition_point(|stay| {
            stay.lane < lane || (stay.lane == lane && stay.end_ns <= member.start_ns)
        });
        let last = self.stays.get(after.checked_sub(1)?)?;
        (last.lane == lane).then_some(last.member)
    }

    /// A section holds its thread from outside of it: its parent is on another. What was suspended meanwhile held none.
    fn read(&mut self, members: &[Member]) {
        self.is_read = true;
        self.stays.clear();
        for (member, index) in members.iter().zip(0u32..) {
            if member.is_suspended {
                continue;
            }
            let parent = Some(member.parent).filter(|&parent| parent != NO_PARENT);
            let parent = parent.and_then(|parent| members.get(parent as usize));
            let is_first = parent.is_none_or(|parent| lane(parent) != lane(member));
            if is_first && member.start_ns < member.end_ns {
                let &Member { start_ns, end_ns, id, .. } = member;
                self.stays.push(Stay { lane: lane(member), start_ns, end_ns, id, member: index });
            }
        }
        self.stays.sort_unstable();
    }
}

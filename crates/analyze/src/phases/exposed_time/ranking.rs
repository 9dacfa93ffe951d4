//! The best of what is directly inside each member, as that changes: a tournament for each member, so that a change costs
//! as many comparisons as the number of those inside has binary digits, and allocates nothing.

use crate::phases::exposed_time::Member;

/// Nobody, as a place.
const NOBODY: u32 = u32::MAX;

/// Who is inside whom. Of those inside a member each has a leaf in that one's tournament, which has its nodes in a row:
/// none, the winner, and so on down to the leaves, two below each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    /// Of each member, and behind them for those inside none: its first node and its number of leaves.
    tournaments: Vec<(u32, u32)>,
    /// Of each member: which leaf it has.
    leaves: Vec<u32>,
}

impl Shape {
    /// Takes the parents of these; memory is reused.
    pub(crate) fn take(&mut self, members: &[Member]) {
        self.tournaments.clear();
        self.tournaments.resize(members.len() + 1, (0, 0));
        self.leaves.clear();
        for member in members {
            let at = self.index(member.parent);
            let leaf = self.tournaments.get_mut(at).map_or(0, |(_, leaves)| {
                *leaves += 1;
                *leaves - 1
            });
            self.leaves.push(leaf);
        }
        let mut next = 0;
        for (first, leaves) in &mut self.tournaments {
            *first = next;
            next += 2 * *leaves;
        }
    }

    /// Who is no member counts as none: so does [`crate::phases::exposed_time::NO_PARENT`].
    fn index(&self, outer: u32) -> usize {
        (outer as usize).min(self.tournaments.len() - 1)
    }

    fn tournament(&self, outer: u32) -> (usize, usize) {
        let (first, leaves) = self.tournaments.get(self.index(outer)).copied().unwrap_or_default();
        (first as usize, leaves as usize)
    }
}

/// The best inside each member, of those that compete in something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranking {
    nodes: Vec<u32>,
    /// How many compete.
    len: usize,
}

impl Ranking {
    /// Nobody competes.
    pub(crate) fn clear(&mut self, members: &[Member]) {
        self.nodes.clear();
        self.nodes.resize(2 * members.len(), NOBODY);
        self.len = 0;
    }

    /// Whether nobody competes.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The best inside a member, or of all for [`crate::phases::exposed_time::NO_PARENT`].
    pub(crate) fn best_inside(&self, shape: &Shape, outer: u32) -> Option<u32> {
        let (first, leaves) = shape.tournament(outer);
        let winner = self.nodes.get(first + 1).filter(|_| leaves > 0);
        winner.copied().filter(|&best| best != NOBODY)
    }

    /// Has `best` compete for a member, or nobody; whether that is somebody else than before.
    pub(crate) fn replace(&mut self, shape: &Shape, members: &[Member], at: u32, best: Option<u32>) -> bool {
        let Some((member, &leaf)) = members.get(at as usize).zip(shape.leaves.get(at as usize)) else {
            return false;
        };
        let (first, leaves) = shape.tournament(member.parent);
        let best = best.unwrap_or(NOBODY);
        let mut place = leaves + leaf as usize;
        let Some(slot) = self.nodes.get_mut(first + place) else { return false };
        let before = std::mem::replace(slot, best);
        if before == best {
            return false;
        }
        self.len = self.len + usize::from(before == NOBODY) - usize::from(best == NOBODY);
        while place > 1 {
            place /= 2;
            let pair = self.nodes.get(first + 2 * place).zip(self.nodes.get(first + 2 * place + 1));
            let winner = pair.map_or(NOBODY, |(&one, &other)| better(members, one, other));
            let Some(slot) = self.nodes.get_mut(first + place) else { break };
            if *slot == winner {
                break;
            }
            *slot = winner;
        }
        true
    }
}

/// The first of two by rank, id and place; anybody is before nobody.
fn better(members: &[Member], one: u32, other: u32) -> u32 {
    let key = |at: u32| members.get(at as usize).map_or((u64::MAX, u64::MAX, at), |it| (it.rank, it.id, at));
    if key(one) <= key(other) { one } else { other }
}

//! Trace and span identities: how they are derived, so that the same step has the same sampling bits on
//! every rank and no two traces of one run collide. Where run, attempt and rank come from is the layer's job.
//!
//! Layout of a trace id (16 bytes): bytes 0–4 name the process instance, bytes 5–8 are its running trace
//! number (big-endian), bytes 9–15 (the 56 bits that consistent samplers use) are a hash of (run, attempt,
//! step) for steps, and of the trace number for others. A trace that continues another has that one's.

/// A trace id.
pub type TraceId = [u8; 16];

/// A span id.
pub type SpanId = [u8; 8];

/// 64-bit hash of a sequence of byte strings: FNV-1a over length-prefixed parts, finished by SplitMix64's
/// mixer. Stable for ever: it is part of the wire contract.
#[must_use]
pub fn hash_parts(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for &byte in (part.len() as u64).to_le_bytes().iter().chain(part.iter()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    mix(hash)
}

/// SplitMix64's finaliser: a bijection that spreads every bit.
#[must_use]
pub const fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Derives the trace ids of one process instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceIds {
    run: u64,
    instance: u64,
}

impl TraceIds {
    /// For a process instance: `instance` must differ between the processes of a run (rank, host, pid,
    /// start time), while `run` and `attempt` are equal on all of them.
    #[must_use]
    pub fn new(run: &str, attempt: u64, instance: &[&[u8]]) -> Self {
        Self {
            run: hash_parts(&[run.as_bytes(), &attempt.to_le_bytes()]),
            // Never 0, so that no trace id can be all zeros.
            instance: (hash_parts(instance) >> 24) | 1,
        }
    }

    /// The id of trace number `sequence` of this instance: of step `step`, or of anything else.
    #[must_use]
    pub fn trace_id(&self, sequence: u32, step: Option<u64>) -> TraceId {
        let tail = match step {
            Some(step) => mix(self.run ^ mix(step)),
            None => mix(self.instance ^ mix(u64::from(sequence) | 1 << 40)),
        };
        let mut id = [0; 16];
        let (head, rest) = id.split_at_mut(5);
        head.copy_from_slice(&self.instance.to_be_bytes()[3..]);
        let (number, hash) = rest.split_at_mut(4);
        number.copy_from_slice(&sequence.to_be_bytes());
        hash.copy_from_slice(&tail.to_be_bytes()[1..]);
        id
    }
}

/// The id of trace number `sequence` of the same instance, which continues the trace `id`: a sampler keeps both or none.
#[must_use]
pub fn continuing(id: &TraceId, sequence: u32) -> TraceId {
    let mut next = *id;
    next[5..9].copy_from_slice(&sequence.to_be_bytes());
    next
}

/// The process instance and the trace number of an id that [`TraceIds`] made.
#[must_use]
pub fn instance_and_sequence(id: &TraceId) -> (u64, u32) {
    let instance = id[..5].iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    let sequence = id[5..9].iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte));
    (instance, sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_the_sampling_bits_of_a_step_and_nothing_else() {
        let rank0 = TraceIds::new("run", 0, &[b"host", b"0"]);
        let rank1 = TraceIds::new("run", 0, &[b"host", b"1"]);
        let (a, b) = (rank0.trace_id(7, Some(42)), rank1.trace_id(9, Some(42)));
        assert_eq!(a[9..], b[9..]);
        assert_ne!(a[..5], b[..5]);
        assert_ne!(rank0.trace_id(8, Some(43))[9..], a[9..]);
        assert_ne!(TraceIds::new("run", 1, &[b"host", b"0"]).trace_id(7, Some(42))[9..], a[9..]);
    }

    #[test]
    fn a_repeated_step_is_another_trace() {
        let ids = TraceIds::new("run", 0, &[b"x"]);
        assert_ne!(ids.trace_id(1, Some(5)), ids.trace_id(2, Some(5)));
    }

    #[test]
    fn a_continuing_trace_differs_in_its_number_alone() {
        let ids = TraceIds::new("run", 0, &[b"x"]);
        assert_eq!(continuing(&ids.trace_id(1, Some(5)), 8), ids.trace_id(8, Some(5)));
        let (first, next) = (ids.trace_id(1, None), continuing(&ids.trace_id(1, None), 8));
        assert_eq!((instance_and_sequence(&next), &next[9..]), ((ids.instance, 8), &first[9..]));
    }

    #[test]
    fn the_parts_can_be_read_back() {
        let ids = TraceIds::new("run", 3, &[b"host", b"pid"]);
        let (instance, sequence) = instance_and_sequence(&ids.trace_id(0xdead_beef, None));
        assert_eq!((instance, sequence), (ids.instance, 0xdead_beef));
        assert!(instance < 1 << 40);
    }

    #[test]
    fn the_hash_is_part_of_the_contract() {
        // FNV-1a of eight zero bytes (the length of an empty part), then the mixer; computed separately.
        assert_eq!(hash_parts(&[b""]), EXPECTED_EMPTY);
        assert_ne!(hash_parts(&[b"ab", b"c"]), hash_parts(&[b"a", b"bc"]));
    }

    const EXPECTED_EMPTY: u64 = 0x813f0174a2367c13;
}

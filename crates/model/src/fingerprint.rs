//! A fingerprint of a stream's bytes, so that the same input given twice can be recognised. Not
//! cryptographic; stable across builds, because it travels in partials.

/// Bytes that are taken at once.
const BLOCK: usize = 64;

/// Each lane takes 16 bytes of a block and knows nothing of the others, so that a processor works on all of them at
/// the same time.
const LANES: usize = BLOCK / 16;

/// Odd, so that no step loses what a lane has taken before.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the halves of a word are changed by before they are multiplied.
const KEYS: [u64; 2] = [0x4528_21e6_38d0_1377, 0xa409_3822_299f_31d1];

/// Running state. Bytes may come in any pieces.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    lanes: [u64; LANES],
    pending: [u8; BLOCK],
    pending_len: usize,
    total: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self {
            lanes: [
                0x243f_6a88_85a3_08d3,
                0x1319_8a2e_0370_7344,
                0xa409_3822_299f_31d0,
                0x082e_fa98_ec4e_6c89,
            ],
            pending: [0; BLOCK],
            pending_len: 0,
            total: 0,
        }
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Fingerprint {
    #[inline]
    fn block(&mut self, block: &[u8; BLOCK]) {
        let words = block.as_chunks::<16>().0;
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            let word = u128::from_le_bytes(*word);
            let (low, high) = (word as u64, (word >> 64) as u64);
            // The halves by themselves, too: a product that is 0 would hide a change of one of them.
            let taken = lane.wrapping_add(low).wrapping_sub(high);
            *lane = taken.wrapping_mul(STEP).wrapping_add(fold(low ^ KEYS[0], high ^ KEYS[1]));
        }
    }

    /// Adds bytes.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.total = self.total.wrapping_add(bytes.len() as u64);
        if self.pending_len > 0 {
            let take = bytes.len().min(BLOCK - self.pending_len);
            let (head, rest) = bytes.split_at(take);
            if let Some(slot) = self.pending.get_mut(self.pending_len..self.pending_len + take) {
                slot.copy_from_slice(head);
            }
            self.pending_len += take;
            bytes = rest;
            if self.pending_len < BLOCK {
                return;
            }
            let block = self.pending;
            self.block(&block);
            self.pending_len = 0;
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            self.block(block);
        }
        if let Some(slot) = self.pending.get_mut(..rest.len()) {
            slot.copy_from_slice(rest);
        }
        self.pending_len = rest.len();
    }

    /// The fingerprint of everything added.
    pub(crate) fn finish(mut self) -> u128 {
        self.pending.iter_mut().skip(self.pending_len).for_each(|byte| *byte = 0);
        let block = self.pending;
        self.block(&block);
        let mix = stepscope_core::identity::mix;
        let join = |start: u64, lanes: [u64; LANES]| lanes.iter().fold(start, |all, &lane| mix(all ^ lane));
        let [a, b, c, d] = self.lanes;
        let (left, right) = (join(self.total, [a, b, c, d]), join(!self.total, [d, c, b, a]));
        u128::from(mix(left ^ right.rotate_left(32))) << 64 | u128::from(mix(right ^ left.rotate_left(17)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> u128 {
        let mut fingerprint = Fingerprint::default();
        pieces.iter().for_each(|piece| fingerprint.update(piece));
        fingerprint.finish()
    }

    #[test]
    fn pieces_do_not_matter_and_every_byte_does() {
        let bytes: Vec<u8> = (0..200u8).collect();
        let whole = of(&[&bytes]);
        for cut in 0..=bytes.len() {
            assert_eq!(of(&[&bytes[..cut], &bytes[cut..]]), whole, "{cut}");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(of(&[&other]), whole, "{at}");
        }
        assert_ne!(of(&[&[0; 16]]), of(&[&[0; 17]]));
        assert_ne!(of(&[]), of(&[&[0]]));
    }
}

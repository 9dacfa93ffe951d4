//! A fingerprint of a stream's bytes, so that the same input given twice can be recognised. Not
//! cryptographic; stable across builds, because it travels in partials.

/// Running state. Bytes may come in any pieces.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    left: u64,
    right: u64,
    pending: [u8; 16],
    pending_len: usize,
    total: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self {
            left: 0x243f_6a88_85a3_08d3,
            right: 0x1319_8a2e_0370_7344,
            pending: [0; 16],
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
    fn block(&mut self, block: &[u8; 16]) {
        let word = u128::from_le_bytes(*block);
        let (low, high) = (word as u64, (word >> 64) as u64);
        self.left = fold(self.left ^ low, 0xa409_3822_299f_31d1 ^ high).wrapping_add(low);
        self.right = fold(self.right ^ high, 0x082e_fa98_ec4e_6c89 ^ low).wrapping_add(high.rotate_left(23));
    }

    /// Adds bytes.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.total = self.total.wrapping_add(bytes.len() as u64);
        if self.pending_len > 0 {
            let take = bytes.len().min(16 - self.pending_len);
            let (head, rest) = bytes.split_at(take);
            if let Some(slot) = self.pending.get_mut(self.pending_len..self.pending_len + take) {
                slot.copy_from_slice(head);
            }
            self.pending_len += take;
            bytes = rest;
            if self.pending_len < 16 {
                return;
            }
            let block = self.pending;
            self.block(&block);
            self.pending_len = 0;
        }
        let (blocks, rest) = bytes.as_chunks::<16>();
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
        let total = self.total;
        self.pending.iter_mut().skip(self.pending_len).for_each(|byte| *byte = 0);
        let block = self.pending;
        self.block(&block);
        let mut last = [0; 16];
        last[..8].copy_from_slice(&total.to_le_bytes());
        self.block(&last);
        let mix = stepscope_core::identity::mix;
        u128::from(mix(self.left ^ self.right.rotate_left(32))) << 64 | u128::from(mix(self.right ^ total))
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
        let bytes: Vec<u8> = (0..100u8).collect();
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

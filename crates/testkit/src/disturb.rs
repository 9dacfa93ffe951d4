//! What happens to a run's messages on their way: they change order, come twice, or are cut off.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use crate::message::Format;
use crate::random::Random;

/// The messages in a random order.
pub fn shuffle(messages: &mut [Vec<u8>], seed: u64) {
    Random::new(seed).shuffle(messages);
}

/// Repeats each message with a probability of `per_mille` thousandths, at a random later place.
pub fn duplicate(messages: &mut Vec<Vec<u8>>, per_mille: u32, seed: u64) {
    let mut random = Random::new(seed);
    let last = messages.len().saturating_sub(1) as u64;
    let mut placed = Vec::new();
    for (index, message) in messages.drain(..).enumerate() {
        if random.chance(per_mille) {
            // Behind the original at its own place or a later one.
            placed.push((random.within(index as u64, last) * 2 + 1, message.clone()));
        }
        placed.push((index as u64 * 2, message));
    }
    placed.sort_by_key(|(place, _)| *place);
    messages.extend(placed.into_iter().map(|(_, message)| message));
}

/// The messages as one file holds them.
#[must_use]
pub fn file(messages: &[Vec<u8>], format: Format) -> Vec<u8> {
    let mut file = Vec::new();
    messages.iter().for_each(|message| format.frame(message, &mut file));
    file
}

/// Cuts a file off after `bytes` bytes.
///
/// # Errors
/// When the file cannot be changed.
pub fn cut(path: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let length = file.metadata()?.len();
    file.set_len(bytes.min(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<Vec<u8>> {
        (0..50u8).map(|number| vec![number; 3]).collect()
    }

    #[test]
    fn repeated_messages_come_later_than_the_first() {
        let mut twice = messages();
        duplicate(&mut twice, 1_000, 3);
        assert_eq!(twice.len(), 100);
        for original in messages() {
            assert_eq!(twice.iter().filter(|message| **message == original).count(), 2);
        }
        let firsts: Vec<_> = messages().iter().map(|first| twice.iter().position(|m| m == first)).collect();
        assert!(firsts.is_sorted());
        let mut same = messages();
        duplicate(&mut same, 0, 3);
        assert_eq!(same, messages());
    }

    #[test]
    fn framing_is_what_files_hold() {
        let messages = [b"ab".to_vec(), b"c".to_vec()];
        assert_eq!(file(&messages, Format::Json), b"ab\nc\n");
        assert_eq!(file(&messages, Format::Proto), b"\0\0\0\x02ab\0\0\0\x01c");
    }
}

//! Finds the bytes that matter in JSON text, eight at a time: the end of a string, the end of a value that is
//! skipped, the last schema URL. Knows quotes, backslashes and brackets, and nothing of what they mean to OTLP.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const QUOTES: u64 = LOW * b'"' as u64;
const BACKSLASHES: u64 = LOW * b'\\' as u64;

/// The high bit of each byte of `word` that is zero. Bytes above the first such may be marked wrongly.
#[inline]
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Position of the first quote or backslash at or behind `from`.
#[inline]
pub(super) fn string_mark(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let marks = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let tail = bytes.get(at..)?;
    tail.iter().position(|&byte| byte == b'"' || byte == b'\\').map(|i| at + i)
}

/// Position behind the string whose content begins at `from`.
#[inline]
fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let mark = string_mark(bytes, at)?;
        if bytes.get(mark) == Some(&b'"') {
            return Some(mark + 1);
        }
        at = mark + 2;
    }
}

/// Position behind the object or array that begins at `from`; `None` if the bytes end first. Does not
/// tell braces from brackets: what is skipped is not checked.
pub(super) fn container_end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut depth) = (from, 0_u64);
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Position behind the last `"schemaUrl"` or `"schema_url"` in `bytes`, 0 if there is none. Found backwards,
/// because a header that follows its items follows the last of them closely.
pub(super) fn last_schema_url(bytes: &[u8]) -> usize {
    // `l"` ends both spellings; the comparison runs over all lanes of a chunk at once.
    const STEP: usize = 64;
    let mut end = bytes.len();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        // One byte more, so that a pair that straddles two chunks is seen.
        let chunk = &bytes[start..(end + 1).min(bytes.len())];
        let hit = chunk
            .windows(2)
            .fold(0_u8, |hit, pair| hit | (u8::from(pair[0] == b'l') & u8::from(pair[1] == b'"')));
        if hit != 0 {
            for i in (0..chunk.len().saturating_sub(1)).rev() {
                let behind = start + i + 2;
                let before = &bytes[..behind];
                if before.ends_with(br#""schemaUrl""#) || before.ends_with(br#""schema_url""#) {
                    return behind;
                }
            }
        }
        end = start;
    }
    0
}

#[cfg(test)]
mod tests;

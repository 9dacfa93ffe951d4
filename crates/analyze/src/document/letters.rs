//! Letters as people see them: characters that are drawn as one stay together wherever text is cut. Those that programs
//! name things with, marks, emoji and flags; no full segmentation of Unicode.

/// Joins emoji into one.
pub(crate) const JOINER: char = '\u{200d}';

/// The parts of a text that are seen as one letter each.
pub(crate) fn letters(text: &str) -> Vec<&str> {
    let mut starts = Vec::new();
    let mut before = None;
    // Letters of a flag that the last part has.
    let mut flags = 0;
    for (at, letter) in text.char_indices() {
        let is_flag = matches!(letter as u32, 0x1f1e6..=0x1f1ff);
        let belongs =
            is_mark(letter) || letter == JOINER || before == Some(JOINER) || (is_flag && flags == 1);
        if !belongs || before.is_none() {
            starts.push(at);
            flags = 0;
        }
        flags += u32::from(is_flag);
        before = Some(letter);
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).filter_map(|(&start, end)| text.get(start..end)).collect()
}

/// Drawn upon the letter before it: accents, variants, colours of skin. `front/units.js` has the same.
fn is_mark(letter: char) -> bool {
    matches!(letter as u32,
        0x0300..=0x036f | 0x0483..=0x0489 | 0x0591..=0x05bd | 0x064b..=0x065f | 0x093a..=0x094d | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0x1f3fb..=0x1f3ff
        | 0xe0100..=0xe01ef)
}

/// Whether a joiner between two characters makes one emoji of them.
pub(crate) fn joins(before: char, after: char) -> bool {
    let is_emoji = |letter: char| matches!(letter as u32, 0x2190..=0x2bff | 0xfe0f | 0x1f000..=0x1faff);
    is_emoji(before) && is_emoji(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_as_one_is_one() {
        assert_eq!(letters("aé"), ["a", "é"]);
        assert_eq!(letters("e\u{301}x"), ["e\u{301}", "x"]);
        assert_eq!(letters("👩🏽\u{200d}💻a"), ["👩🏽\u{200d}💻", "a"]);
        assert_eq!(letters("🇩🇪🇫🇷🇮"), ["🇩🇪", "🇫🇷", "🇮"]);
        assert_eq!(letters("❤\u{fe0f}\u{200d}🔥"), ["❤\u{fe0f}\u{200d}🔥"]);
        assert_eq!((letters(""), letters("\u{301}a")), (vec![], vec!["\u{301}", "a"]));
        assert_eq!(letters("数据\u{200d}").concat(), "数据\u{200d}");
    }
}

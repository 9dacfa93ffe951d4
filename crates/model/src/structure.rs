//! Where a JSON value ends, without decoding it: by braces and brackets alone ([`JsonScan`]), or with everything checked
//! that damage can change ([`Strict`]).

/// State of the walk; bytes may come in any pieces.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JsonScan {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl JsonScan {
    /// Walks on; gives the position after the end of the first document, if it ends within `bytes`.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whether the walk is inside of a string.
    pub(crate) fn is_in_string(&self) -> bool {
        self.in_string
    }

    /// Whether the walk is between tokens inside of a document, where a writer may break the line.
    pub(crate) fn is_between_tokens(&self) -> bool {
        self.depth > 0 && !self.in_string
    }
}

/// What a strict walk over a value finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// The value is whole; the position behind it.
    End(usize),
    /// The bytes end inside of it.
    Short,
    /// No JSON goes on so: the position of the first byte that cannot stand there.
    Damage(usize),
}

/// What may come next in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Next {
    #[default]
    Value,
    /// A key, or the end of the object: writers leave a comma there.
    Key,
    Colon,
    /// A value, or the end of the list.
    Item,
    /// A comma, or the end of what is open.
    Comma,
}

/// A strict walk over one value. It goes on where it stopped when more bytes are there. Words without quotes may be any,
/// as writers spell numbers that are none in many ways; a zero byte is none of JSON, not even in a string.
#[derive(Debug, Default)]
pub(crate) struct Strict {
    at: usize,
    next: Next,
    /// What is open: whether it is an object.
    open: Vec<bool>,
}

impl Strict {
    /// Begins again, with another value.
    pub(crate) fn reset(&mut self) {
        (self.at, self.next) = (0, Next::Value);
        self.open.clear();
    }

    /// Walks on in `bytes`, which begin with the value, as far as they go.
    pub(crate) fn walk(&mut self, bytes: &[u8]) -> Scanned {
        let (mut at, mut next) = (self.at, self.next);
        while let Some(&byte) = bytes.get(at) {
            let begin = at;
            at += 1;
            match (byte, next) {
                (b'"', Next::Value | Next::Item | Next::Key) => match string_end(bytes, at) {
                    Scanned::End(end) => {
                        at = end;
                        next = if next == Next::Key { Next::Colon } else { Next::Comma };
                    }
                    Scanned::Damage(at) => return Scanned::Damage(at),
                    Scanned::Short => {
                        at = begin;
                        break;
                    }
                },
                (b':', Next::Colon) => next = Next::Value,
                (b',', Next::Comma) => next = self.after_comma(),
                (b' ' | b'\n' | b'\r' | b'\t' | 0x0c, _) => {}
                (b'{', Next::Value | Next::Item) => {
                    self.open.push(true);
                    next = Next::Key;
                }
                (b'[', Next::Value | Next::Item) => {
                    self.open.push(false);
                    next = Next::Item;
                }
                (b'}', Next::Comma | Next::Key) | (b']', Next::Comma | Next::Item) => {
                    if self.open.pop() != Some(byte == b'}') {
                        return Scanned::Damage(begin);
                    }
                    next = Next::Comma;
                }
                (b'-' | b'+' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z', Next::Value | Next::Item) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._#()".contains(byte);
                    match rest.iter().position(|byte| !is_word(byte)) {
                        Some(len) => at += len,
                        // It may go on.
                        None => {
                            at = begin;
                            break;
                        }
                    }
                    next = Next::Comma;
                }
                _ => return Scanned::Damage(begin),
            }
            if next == Next::Comma && self.open.is_empty() {
                return Scanned::End(at);
            }
        }
        (self.at, self.next) = (at, next);
        Scanned::Short
    }

    fn after_comma(&self) -> Next {
        if self.open.last() == Some(&true) { Next::Key } else { Next::Item }
    }
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is zero, up to the first such.
#[inline]
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// The end of the string whose content begins at `from`.
#[inline]
fn string_end(bytes: &[u8], from: usize) -> Scanned {
    const QUOTES: u64 = LOW * b'"' as u64;
    const BACKSLASHES: u64 = LOW * b'\\' as u64;
    let mut at = from;
    loop {
        while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*word);
            let marks = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES) | zeros(word);
            if marks != 0 {
                at += marks.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match bytes.get(at) {
            None => return Scanned::Short,
            Some(b'"') => return Scanned::End(at + 1),
            Some(b'\\') => at += 2,
            Some(0) => return Scanned::Damage(at),
            Some(_) => at += 1,
        }
    }
}

/// Leading blanks and a byte order mark.
pub(crate) fn blank_prefix(bytes: &[u8]) -> usize {
    let mark = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    let blanks = bytes.iter().skip(mark).take_while(|byte| byte.is_ascii_whitespace()).count();
    mark + blanks
}

/// Without blanks at both ends and without a byte order mark.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    bytes.get(blank_prefix(bytes)..).unwrap_or_default().trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_end_at_their_last_brace() {
        let text = br#" {"a":"}\"{","b":[{}]} {"c":1}"#;
        let end = text.iter().rposition(|&byte| byte == b'{').unwrap() - 1;
        for cut in 0..=end {
            let mut scan = JsonScan::default();
            let first = scan.feed(&text[..cut]);
            let found = first.or_else(|| scan.feed(&text[cut..]).map(|at| at + cut));
            assert_eq!(found, Some(end), "{cut}");
        }
        assert_eq!(JsonScan::default().feed(br#"{"a":[1,2"#), None);
    }

    /// The walk, of the bytes in two pieces.
    fn strict(text: &[u8], cut: usize) -> Scanned {
        let mut walk = Strict::default();
        match walk.walk(&text[..cut]) {
            Scanned::Short => walk.walk(text),
            found => found,
        }
    }

    #[test]
    fn what_is_no_json_is_found_where_it_stands() {
        let sound = br#"{"a":"}\"{","b":[{},-1.5e3,NaN,[]], "c" :{"d":null,},"e":"\\"}"#;
        for cut in 0..=sound.len() {
            assert_eq!(strict(&[&sound[..], b",x"].concat(), cut), Scanned::End(sound.len()), "{cut}");
            assert_eq!(
                strict(&sound[..cut], 0),
                if cut < sound.len() { Scanned::Short } else { Scanned::End(cut) }
            );
        }
        for (text, at) in [
            (&br#"{"a":1,tid":2}"#[..], 7),
            (br#"{"a":"x,"tid":2}"#, 9),
            (br#"{"a":1}}"#, usize::MAX),
            (br#"{"a":[1}"#, 7),
            (br#"{"a" 1}"#, 5),
            (br#"{"a":}"#, 5),
            (br#"{"a":1 "b":2}"#, 7),
            (b"{\"a\":\"x\0y\"}", 7),
            (b"{\"a\":1,\0}", 7),
            (br#"{"a":{"b":1},{"a":2}}"#, 13),
            (br#"{"a":1"b":2}"#, 6),
        ] {
            let expected = if at == usize::MAX { Scanned::End(text.len() - 1) } else { Scanned::Damage(at) };
            assert_eq!(strict(text, 0), expected, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn blanks_and_marks_are_trimmed() {
        assert_eq!(trim(b"\xef\xbb\xbf \r\n{}\r "), b"{}");
        assert_eq!(trim(b" \t"), b"");
    }
}

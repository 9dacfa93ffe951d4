//! A walk over JSON text that tells where values begin and end, without decoding them and without a tree.
//! What is stepped over is not checked; what is read is decoded elsewhere.

use std::ops::Range;

/// A place in JSON text. Every method gives `None` where the text ends too early or is damaged there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: crate::structure::blank_prefix(bytes) }
    }

    /// Goes to `pos`.
    pub(crate) fn at(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Whether the text ends here.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The next byte that is not blank.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.pos..)?;
        self.pos += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.bytes.get(self.pos).copied()
    }

    /// Steps over `byte`.
    pub(crate) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.pos += 1)
    }

    /// The content of the string here, escapes as written.
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.pos;
        let rest = self.bytes.get(start..)?;
        let mut escaped = false;
        let len = rest.iter().position(|&byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(len) = len else {
            self.pos = self.bytes.len();
            return None;
        };
        self.pos = start + len + 1;
        rest.get(..len)
    }

    /// Steps over a value; gives where it stands. A number at the end of the text may go on.
    pub(crate) fn value(&mut self) -> Option<Range<usize>> {
        let first = self.peek()?;
        let start = self.pos;
        let rest = self.bytes.get(start..)?;
        match first {
            b'"' => drop(self.string()?),
            b'{' | b'[' => match crate::structure::JsonScan::default().feed(rest) {
                Some(len) => self.pos += len,
                None => {
                    self.pos = self.bytes.len();
                    return None;
                }
            },
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let len = rest.iter().position(ends).unwrap_or(rest.len());
                self.pos += len;
                if len == 0 || self.pos >= self.bytes.len() {
                    return None;
                }
            }
        }
        Some(start..self.pos)
    }

    /// Calls `member` for each member of the object here, at its value, which it must step over.
    pub(crate) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            return self.expect(b'}');
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            self.peek()?;
            member(self, key)?;
            match self.peek()? {
                b',' => self.pos += 1,
                _ => return self.expect(b'}'),
            }
        }
    }

    /// Calls `element` for each element of the array here, which it must step over.
    pub(crate) fn elements(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            return self.expect(b']');
        }
        loop {
            self.peek()?;
            element(self)?;
            match self.peek()? {
                b',' => self.pos += 1,
                _ => return self.expect(b']'),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = br#" {"a" : [1, "x]\"", {"b":[]}] ,"c\"":null,"d":{}, "e":-1.5e3 }"#;

    fn walk(bytes: &[u8]) -> (Vec<(String, String)>, bool) {
        let mut found = Vec::new();
        let whole = Cursor::new(bytes).members(|cursor, key| {
            let range = cursor.value()?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.push((text(key), text(&bytes[range])));
            Some(())
        });
        (found, whole.is_some())
    }

    #[test]
    fn members_are_found_with_their_values() {
        let (found, whole) = walk(TEXT);
        let found: Vec<(&str, &str)> = found.iter().map(|(key, value)| (&**key, &**value)).collect();
        let expected = [("a", r#"[1, "x]\"", {"b":[]}]"#), ("c\\\"", "null"), ("d", "{}"), ("e", "-1.5e3")];
        assert_eq!(found, expected);
        assert!(whole);
    }

    #[test]
    fn text_cut_anywhere_gives_what_is_whole() {
        let (all, _) = walk(TEXT);
        for cut in 0..TEXT.len() {
            let (found, whole) = walk(&TEXT[..cut]);
            assert!(!whole && all.starts_with(&found), "{cut}");
        }
    }

    #[test]
    fn elements_are_found() {
        let text = b"[ {}, [1] ,2]x";
        let mut found = Vec::new();
        let mut cursor = Cursor::new(text);
        assert_eq!(cursor.elements(|cursor| cursor.value().map(|range| found.push(range))), Some(()));
        assert_eq!(found, [2..4, 6..9, 11..12]);
        assert_eq!(cursor.pos(), 13);
        assert_eq!(Cursor::new(b"[]").elements(|_| None), Some(()));
        assert_eq!(Cursor::new(b"[1 2]").elements(|cursor| cursor.value().map(drop)), None);
    }
}

//! Where a JSON document ends, without decoding it: braces and brackets counted outside of strings.

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

    /// Whether the walk is between tokens inside of a document, where a writer may break the line.
    pub(crate) fn is_between_tokens(&self) -> bool {
        self.depth > 0 && !self.in_string
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

    #[test]
    fn blanks_and_marks_are_trimmed() {
        assert_eq!(trim(b"\xef\xbb\xbf \r\n{}\r "), b"{}");
        assert_eq!(trim(b" \t"), b"");
    }
}

//! The keys of a TOML document, each with its line, and what they hold, as far as settings need it. The grammar is that of
//! the crate `toml_parser`. What a key means is not known here.

use toml_parser::decoder::{IntegerRadix, ScalarKind};
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};
use toml_parser::{ParseError, Source};

/// How deep arrays and tables may lie in each other.
const MAX_DEPTH: u32 = 64;

/// What a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Number(u64),
    Switch(bool),
    List(Vec<Value>),
    /// What no setting takes: a float, a time, a number that is negative or too large, a table inside of a list.
    Other,
}

/// A key with its value, or a table that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Names from the outermost table inwards.
    pub path: Vec<String>,
    pub line: usize,
    /// Absent where this is the head of a table.
    pub value: Option<Value>,
    /// The value as it is written.
    pub raw: String,
}

/// Where and why a text is no TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub line: usize,
    pub what: String,
}

/// All keys and heads of tables, in their order.
pub(crate) fn entries(text: &str) -> Result<Vec<Entry>, Fault> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let (mut events, mut errors) = (Vec::<Event>::new(), Vec::<ParseError>::new());
    parse_document(&tokens, &mut RecursionGuard::new(&mut events, MAX_DEPTH), &mut errors);
    let is_space = |kind| matches!(kind, EventKind::Whitespace | EventKind::Newline);
    let lines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
    let mut walk = Walk { text, lines, source, events: events.iter(), errors, entries: Vec::new() };
    for event in events.iter().filter(|event| !is_space(event.kind())) {
        walk.check_comment(event);
    }
    walk.document();
    match walk.errors.first() {
        Some(error) => {
            let at = error.unexpected().or_else(|| error.context()).map_or(0, |span| span.start());
            Err(Fault { line: walk.line(at), what: error.description().to_owned() })
        }
        None => Ok(walk.entries),
    }
}

struct Walk<'t, 'e> {
    text: &'t str,
    /// Where lines end.
    lines: Vec<usize>,
    source: Source<'t>,
    events: std::slice::Iter<'e, Event>,
    errors: Vec<ParseError>,
    entries: Vec<Entry>,
}

impl<'e> Walk<'_, 'e> {
    fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|&end| end < at) + 1
    }

    fn check_comment(&mut self, event: &Event) {
        if let Some(comment) = self.source.get(event).filter(|_| event.kind() == EventKind::Comment) {
            comment.decode_comment(&mut self.errors);
        }
    }

    fn next(&mut self) -> Option<&'e Event> {
        let is_nothing =
            |kind| matches!(kind, EventKind::Whitespace | EventKind::Newline | EventKind::Comment);
        self.events.find(|event| !is_nothing(event.kind()))
    }

    fn document(&mut self) {
        let mut table = Vec::new();
        while let Some(event) = self.next() {
            match event.kind() {
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    let is_array = event.kind() == EventKind::ArrayTableOpen;
                    table = self.key(Vec::new(), None);
                    let value = is_array.then_some(Value::Other);
                    let (line, raw) = (self.line(event.span().start()), "[[…]]".to_owned());
                    self.entries.push(Entry { path: table.clone(), line, value, raw });
                }
                EventKind::SimpleKey => self.pair(&table, event),
                _ => {}
            }
        }
    }

    /// A key from its first part on, up to the `=` or the end of a table's head.
    fn key(&mut self, mut path: Vec<String>, first: Option<&Event>) -> Vec<String> {
        let mut next = first;
        loop {
            let Some(event) = next.take().or_else(|| self.next()) else { return path };
            match event.kind() {
                EventKind::SimpleKey => {
                    let mut name = String::new();
                    if let Some(raw) = self.source.get(event) {
                        raw.decode_key(&mut name, &mut self.errors);
                    }
                    path.push(name);
                }
                EventKind::KeySep => {}
                _ => return path,
            }
        }
    }

    fn pair(&mut self, table: &[String], first: &Event) {
        let path = self.key(table.to_vec(), Some(first));
        let Some(start) = self.next() else { return };
        if start.kind() == EventKind::InlineTableOpen {
            let line = self.line(first.span().start());
            self.entries.push(Entry { path: path.clone(), line, value: None, raw: "{…}".to_owned() });
            self.inline_table(&path);
            return;
        }
        let (value, end) = self.value(start);
        let raw = self.text.get(start.span().start()..end).unwrap_or_default().to_owned();
        let line = self.line(first.span().start());
        self.entries.push(Entry { path, line, value: Some(value), raw });
    }

    fn inline_table(&mut self, path: &[String]) {
        while let Some(event) = self.next() {
            match event.kind() {
                EventKind::InlineTableClose => return,
                EventKind::SimpleKey => self.pair(path, event),
                _ => {}
            }
        }
    }

    /// A value from its first event on, and where it ends in the text.
    fn value(&mut self, start: &Event) -> (Value, usize) {
        match start.kind() {
            EventKind::Scalar => (self.scalar(start), start.span().end()),
            EventKind::ArrayOpen => {
                let mut items = Vec::new();
                while let Some(event) = self.next() {
                    match event.kind() {
                        EventKind::ArrayClose => return (Value::List(items), event.span().end()),
                        EventKind::ValueSep => {}
                        _ => items.push(self.value(event).0),
                    }
                }
                (Value::List(items), self.text.len())
            }
            // Of a list: what is inside of it is nobody's setting.
            EventKind::InlineTableOpen => {
                let before = self.entries.len();
                self.inline_table(&[]);
                self.entries.truncate(before);
                (Value::Other, start.span().end())
            }
            _ => (Value::Other, start.span().end()),
        }
    }

    fn scalar(&mut self, event: &Event) -> Value {
        let mut text = String::new();
        let Some(raw) = self.source.get(event) else { return Value::Other };
        match raw.decode_scalar(&mut text, &mut self.errors) {
            ScalarKind::String => Value::Text(text),
            ScalarKind::Boolean(yes) => Value::Switch(yes),
            ScalarKind::Integer(radix) => number(&text, radix).map_or(Value::Other, Value::Number),
            ScalarKind::DateTime | ScalarKind::Float => Value::Other,
        }
    }
}

fn number(text: &str, radix: IntegerRadix) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix('+').unwrap_or(text), radix.value()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each entry its path, its line and what it holds.
    fn read(text: &str) -> Vec<(String, usize, Option<Value>)> {
        entries(text)
            .unwrap()
            .into_iter()
            .map(|entry| (entry.path.join("/"), entry.line, entry.value))
            .collect()
    }

    #[test]
    fn every_way_to_write_a_key_is_read() {
        let text = "# a comment [not] = 'a table'\n\
                    a.b = 1 # one\n\
                    [rules.x]\n\
                    text = \"\"\"\n[recording]\nlevel = 'off'\"\"\"\n\
                    [recording]\n\
                    'level' = \"ba\\u0073ic\"\n\
                    list = [\n 'a', # first\n \"b\",\n]\n\
                    inline = { yes = true, deep.er = 0x1F }\n\
                    [[many]]\n\
                    odd = [{ level = 'off' }, 1.5]\n";
        let words = |text: &str| Some(Value::Text(text.into()));
        let expected = [
            ("a/b", 2, Some(Value::Number(1))),
            ("rules/x", 3, None),
            ("rules/x/text", 4, words("[recording]\nlevel = 'off'")),
            ("recording", 7, None),
            ("recording/level", 8, words("basic")),
            ("recording/list", 9, Some(Value::List(vec![Value::Text("a".into()), Value::Text("b".into())]))),
            ("recording/inline", 13, None),
            ("recording/inline/yes", 13, Some(Value::Switch(true))),
            ("recording/inline/deep/er", 13, Some(Value::Number(31))),
            ("many", 14, Some(Value::Other)),
            ("many/odd", 15, Some(Value::List(vec![Value::Other, Value::Other]))),
        ];
        let expected: Vec<_> =
            expected.into_iter().map(|(path, line, value)| (path.to_owned(), line, value)).collect();
        assert_eq!(read(text), expected);
    }

    #[test]
    fn numbers_are_whole_and_not_negative() {
        for (text, expected) in [
            ("1_000", Value::Number(1_000)),
            ("+7", Value::Number(7)),
            ("0o17", Value::Number(15)),
            ("-1", Value::Other),
            ("1e3", Value::Other),
            ("1979-05-27", Value::Other),
            ("99999999999999999999", Value::Other),
        ] {
            assert_eq!(read(&format!("x = {text}"))[0].2, Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        let deep = format!("x = 1\ny = {}{}", "[".repeat(5_000), "]".repeat(5_000));
        for (text, line) in [
            ("a = 1\nb = \"open\nc = 1\n", 2),
            ("a = 1\nlevel basic\n", 2),
            ("[recording\nlevel = 'a'\n", 1),
            ("a = yes\n", 1),
            ("a = 'x' b = 'y'\n", 1),
            ("a = \"\\q\"\n", 1),
            ("a = [1\n", 1),
            ("# \u{7}\n", 1),
            (deep.as_str(), 2),
        ] {
            let fault = entries(text).unwrap_err();
            assert!(fault.line >= line && !fault.what.is_empty(), "{:.40}: {fault:?}", text);
        }
    }
}

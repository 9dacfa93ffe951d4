//! What is whole behind damage in a message of traces: its spans, with the resource and the scope that they are of. How
//! a message is read up to the damage is in `decode`.

use std::ops::Range;

use super::validate::{is_head, is_item};
use super::wire::Reader;
use super::write;
use crate::Signal;

/// Tag of a resource in a request, and of the head of a resource or a scope.
const HEAD: u8 = 0x0a;
/// Tag of a scope in a resource, and of a span in a scope.
const ITEM: u8 = 0x12;
/// How the content of a span begins: a trace id, and behind it a span id.
const TRACE_ID: [u8; 2] = [HEAD, 16];
const SPAN_ID: [u8; 2] = [ITEM, 8];
/// Tag of the schema's address, of a resource and of a scope.
const SCHEMA_URL: u8 = 0x1a;
/// Where something seems to begin may be looked at for this many bytes, and [`EFFORT_PER_BYTE`] for each byte passed.
const EFFORT: usize = 16 << 20;
const EFFORT_PER_BYTE: usize = 16;

/// What is whole behind damage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Behind {
    /// The whole spans, as a message of their own.
    pub message: Vec<u8>,
    /// Byte of the damaged message at which what could not be read begins.
    pub begin: usize,
    /// Bytes from there on that are in no whole span.
    pub lost_bytes: u64,
}

/// A resource or a scope that is open at a place.
#[derive(Debug, Clone, Default)]
struct Level {
    /// Where it ends; 0 where none is open.
    end: usize,
    /// Its head as it is written.
    head: Vec<u8>,
    /// What was found in it, as it is written.
    items: Vec<u8>,
}

impl Level {
    fn is_open(&self, at: usize) -> bool {
        at < self.end
    }

    /// Closes it: what was found in it is one item of the level above.
    fn close(&mut self, tag: u8, above: &mut Vec<u8>) {
        if !self.items.is_empty() {
            write::bytes(above, tag, &[self.head.as_slice(), &self.items].concat());
        }
        *self = Self::default();
    }
}

/// Where in a level the damage is.
enum Place {
    /// In an item of this content.
    Item(Range<usize>),
    /// In its head, which ends here: its items were read nevertheless.
    Head(usize),
    /// Between items, from here on.
    Between(usize),
}

/// A field with a length: its tag, and where its content stands, which may end behind `bytes`.
fn field(bytes: &[u8], at: usize) -> Option<(u8, Range<usize>)> {
    let mut r = Reader::new(bytes.get(at..)?);
    let tag = u8::try_from(r.tag().ok()?).ok()?;
    let len = usize::try_from(r.varint().ok()?).ok()?;
    let begin = at + r.pos();
    matches!(tag, HEAD | ITEM | SCHEMA_URL).then_some((tag, begin..begin.checked_add(len)?))
}

/// Walks a level up to the damage at `at`: the request, a resource in it, or a scope in that.
fn walk(bytes: &[u8], content: &Range<usize>, at: usize, depth: usize) -> (Level, Place) {
    let item = if depth == 0 { HEAD } else { ITEM };
    let mut level = Level { end: content.end, ..Level::default() };
    let (mut pos, mut is_known) = (content.start, false);
    while pos < at {
        match field(bytes, pos) {
            Some((tag, content)) if tag == item => {
                if content.end > at {
                    let end = content.end.min(level.end);
                    return (level, Place::Item(content.start..end));
                }
                pos = content.end;
            }
            Some((HEAD, content)) if content.end <= at && !is_sound(bytes, &content, depth) => {
                return (Level::default(), Place::Between(at));
            }
            Some((_, content)) if content.end <= at => {
                level.head.extend_from_slice(bytes.get(pos..content.end).unwrap_or_default());
                pos = content.end;
            }
            Some((HEAD, content)) if content.end <= level.end => return (level, Place::Head(content.end)),
            _ => break,
        }
        is_known = true;
    }
    if !is_known {
        level.end = 0;
    }
    (level, Place::Between(pos.min(at)))
}

/// Whether a head is whole: of a resource at depth 1, else of a scope.
fn is_sound(bytes: &[u8], content: &Range<usize>, depth: usize) -> bool {
    bytes.get(content.clone()).is_some_and(|head| is_head(Reader::new(head), depth == 1))
}

/// Where the search begins, and what is open there.
struct Start {
    resource: Level,
    scope: Level,
    /// What could not be read begins here.
    begin: usize,
    /// The search begins here.
    pos: usize,
    lost_bytes: u64,
}

fn start(bytes: &[u8], at: usize) -> Start {
    let (resource, scope) = (Level::default(), Level::default());
    let mut start = Start { resource, scope, begin: at, pos: at, lost_bytes: 0 };
    let mut content = 0..bytes.len();
    for depth in 0..3 {
        let (level, place) = walk(bytes, &content, at, depth);
        let is_known = level.end > 0;
        if let Place::Head(end) = place {
            start.pos = level.end.max(at);
            start.lost_bytes = end.saturating_sub(at) as u64;
            break;
        }
        match depth {
            1 => start.resource = level,
            2 => start.scope = level,
            _ => {}
        }
        start.begin = match &place {
            Place::Item(inner) => inner.start.min(at),
            Place::Head(at) | Place::Between(at) => *at,
        };
        start.pos = start.begin;
        match place {
            Place::Item(inner) if is_known => content = inner,
            _ => break,
        }
    }
    start
}

/// Finds what is whole behind the byte `at`, at which a message of traces was found to be damaged; nothing where no span is.
/// Spans are taken where it is known whose they are: within the length of a scope, behind its head and that of its resource.
pub fn behind(bytes: &[u8], at: usize) -> Option<Behind> {
    let Start { mut resource, mut scope, begin, mut pos, lost_bytes: mut lost } =
        start(bytes, at.min(bytes.len()));
    let mut search = Search { bytes, effort: 0 };
    let mut message = Vec::new();
    while pos < bytes.len() {
        if !scope.is_open(pos) {
            scope.close(ITEM, &mut resource.items);
        }
        if !resource.is_open(pos) {
            resource.close(HEAD, &mut message);
        }
        let next = if let Some(end) = scope.is_open(pos).then(|| search.span(pos, scope.end)).flatten() {
            scope.items.extend_from_slice(bytes.get(pos..end).unwrap_or_default());
            Some(end)
        } else if let Some((level, first)) =
            resource.is_open(pos).then(|| search.open(pos, resource.end, ITEM)).flatten()
        {
            scope.close(ITEM, &mut resource.items);
            scope = level;
            Some(first)
        } else if let Some((level, first)) = search.open(pos, bytes.len(), HEAD) {
            scope.close(ITEM, &mut resource.items);
            resource.close(HEAD, &mut message);
            resource = level;
            Some(first)
        } else {
            None
        };
        if search.effort > EFFORT.saturating_add((pos - begin).saturating_mul(EFFORT_PER_BYTE)) {
            // Bytes made to be slow.
            lost += (bytes.len() - pos) as u64;
            break;
        }
        lost += u64::from(next.is_none());
        pos = next.unwrap_or(pos + 1);
    }
    scope.close(ITEM, &mut resource.items);
    resource.close(HEAD, &mut message);
    (!message.is_empty()).then_some(Behind { message, begin, lost_bytes: lost })
}

/// Looks at places behind damage.
struct Search<'a> {
    bytes: &'a [u8],
    /// Bytes looked at so far.
    effort: usize,
}

impl Search<'_> {
    /// The end of the whole span at a place, which is not behind `end`.
    fn span(&mut self, at: usize, end: usize) -> Option<usize> {
        let (_, content) =
            field(self.bytes, at).filter(|(tag, content)| *tag == ITEM && content.end <= end)?;
        let inner = self.bytes.get(content.clone())?;
        if !inner.starts_with(&TRACE_ID) || !inner.get(18..)?.starts_with(&SPAN_ID) {
            return None;
        }
        self.effort = self.effort.saturating_add(inner.len());
        is_item(Reader::new(inner), Signal::Traces).then_some(content.end)
    }

    /// A resource or a scope that begins at a place and does not end behind `end`, and where its first item begins. That it is
    /// one is known by the whole span that comes first in it.
    fn open(&mut self, at: usize, end: usize, tag: u8) -> Option<(Level, usize)> {
        let (_, content) =
            field(self.bytes, at).filter(|(found, content)| *found == tag && content.end <= end)?;
        let first = match field(self.bytes, content.start)? {
            (HEAD, head) if head.end <= content.end => {
                self.effort = self.effort.saturating_add(head.len());
                is_sound(self.bytes, &head, if tag == HEAD { 1 } else { 2 }).then_some(head.end)?
            }
            (ITEM, _) => content.start,
            _ => return None,
        };
        match tag {
            HEAD => drop(self.open(first, content.end, ITEM)?),
            _ => drop(self.span(first, content.end)?),
        }
        let head = self.bytes.get(content.start..first)?.to_vec();
        Some((Level { end: content.end, head, items: Vec::new() }, first))
    }
}

//! The registry of formats: one file a format and one line here. A format says whether an input is its own,
//! by content and never by name, and reads it. Compression around a whole file is undone before.

pub(crate) mod chrome;
pub(crate) mod jaeger;
mod json_array;
pub(crate) mod json_document;
pub(crate) mod json_lines;
pub(crate) mod length_prefixed;
pub(crate) mod length_prefixed_zstd;
pub(crate) mod proto_message;

pub use chrome::CHROME;

use crate::input::Input;
use crate::reading::Reading;
use crate::structure::{JsonScan, blank_prefix};

/// A format that is read.
pub struct Format {
    /// Name, as it appears in reports.
    pub name: &'static str,
    /// Who writes it, one sentence.
    pub doc: &'static str,
    pub(crate) sniff: fn(&mut Input<'_>, &mut Reading<'_>) -> bool,
    pub(crate) read: fn(&mut Input<'_>, &mut Reading<'_>),
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All formats, in the order in which they are tried.
pub const FORMATS: &[&Format] = &[
    &json_lines::FORMAT,
    &json_document::FORMAT,
    &json_array::FORMAT,
    &jaeger::FORMAT,
    &chrome::FORMAT,
    &length_prefixed::FORMAT,
    &length_prefixed_zstd::FORMAT,
    &proto_message::FORMAT,
];

/// Bytes that a format looks at to recognise its own.
pub(crate) const LOOK: usize = 64 << 10;

/// Bytes that are looked at where a document begins with members that tell nothing: PyTorch's profiler writes the ranks of
/// all process groups before the events.
const LONG_LOOK: usize = 16 << 20;

/// Whether a document begins here that is no message of OTLP, but one of the other kinds of JSON.
pub(crate) fn begins_other(input: &mut Input<'_>) -> bool {
    input.fill(LOOK);
    is_other(input.data().get(blank_prefix(input.data())..).unwrap_or_default())
}

fn is_other(begin: &[u8]) -> bool {
    matches!(begin.first(), Some(b'{' | b'[')) && (chrome::is_here(begin) || jaeger::is_here(begin))
}

/// Whether events of a Chrome trace, or a document of such, begin here.
pub(crate) fn begins_events(begin: &[u8]) -> bool {
    chrome::is_here(begin)
}

/// Whether a list, and the input with it, ends right where it begins.
fn is_empty_list(begin: &[u8]) -> bool {
    let end = begin.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    end.and_then(|end| end.strip_prefix(b"]")).is_some_and(|rest| rest.trim_ascii().is_empty())
}

/// Whether an input is of a kind, as `judge` says of its beginning without blanks: of as much of it as is needed, as long as
/// that is one object that goes on.
fn begins_as(input: &mut Input<'_>, judge: impl Fn(&[u8]) -> Option<bool>) -> bool {
    let (mut look, mut scan, mut seen) = (LOOK, JsonScan::default(), 0);
    loop {
        let is_all = input.fill(look) < look;
        let begin = input.data().get(blank_prefix(input.data())..).unwrap_or_default();
        if let Some(is_it) = judge(begin) {
            return is_it;
        }
        let fresh = begin.get(seen..).unwrap_or_default();
        if is_all || look >= LONG_LOOK || begin.first() != Some(&b'{') || scan.feed(fresh).is_some() {
            return false;
        }
        seen = begin.len();
        look *= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_directory_is_registered() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/formats");
        let files: BTreeSet<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
            .filter(|stem| stem != "mod")
            .collect();
        let source = include_str!("mod.rs");
        let registered: BTreeSet<String> = source
            .lines()
            .filter_map(|line| line.trim().strip_prefix('&')?.strip_suffix("::FORMAT,"))
            .map(str::to_owned)
            .collect();
        assert_eq!(files, registered);
        assert_eq!(registered.len(), FORMATS.len());
    }

    #[test]
    fn names_differ_and_everything_is_documented() {
        let names: BTreeSet<&str> = FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(names.len(), FORMATS.len());
        assert!(FORMATS.iter().all(|format| format.doc.ends_with('.')));
    }
}

//! One file with DWARF or a symbol table: its build id, and functions and lines of addresses. Of a file of gigabytes only the
//! parts with lines are read.

use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, Error, Reader as _, RunTimeEndian, SectionId, UnitRef};
use object::{Object, ObjectSection, ReadCache, ReadRef};
use stepscope_analyze::summary::SourceLine;

type Bytes = EndianArcSlice<RunTimeEndian>;

/// Folders from which cargo and the standard library are compiled: what lies below them keeps its whole name.
const FETCHED: &[&str] = &["/registry/src/", "/git/checkouts/", "/rustc/", "/rustlib/src/"];

/// What came of opening a file.
pub(super) enum Opened {
    Absent,
    Unreadable,
    /// It has another build id, or none.
    Other,
    Same(Debug),
}

/// What a file says of addresses.
pub(super) struct Debug {
    context: Option<Context<Bytes>>,
    /// By address: where a function ends, and its name.
    symbols: Vec<(u64, String)>,
}

impl Debug {
    /// Opens the file, if it has that build id.
    pub(super) fn open(path: &Path, build_id: &str) -> Opened {
        // A pipe or a device has no end.
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            _ => return Opened::Absent,
        }
        let Ok(file) = File::open(path) else { return Opened::Unreadable };
        let cache = ReadCache::new(file);
        let Ok(object) = object::File::parse(&cache) else { return Opened::Unreadable };
        let mut text = String::new();
        if let Ok(Some(bytes)) = object.build_id() {
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
        }
        if text != build_id {
            return Opened::Other;
        }
        let symbols = object.symbol_map();
        let symbols = symbols.symbols().iter().map(|symbol| (symbol.address(), symbol.name().to_owned()));
        Opened::Same(Self { context: context(&object), symbols: symbols.collect() })
    }

    pub(super) const fn has_lines(&self) -> bool {
        self.context.is_some()
    }

    pub(super) const fn has_functions(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// How much it says.
    pub(super) const fn rank(&self) -> u8 {
        self.has_lines() as u8 * 2 + self.has_functions() as u8
    }

    /// Functions and lines of the calls before these return addresses, the innermost of what was inlined first.
    pub(super) fn lines(&self, offsets: &[u64]) -> Vec<Vec<SourceLine>> {
        offsets.iter().map(|&offset| self.at(offset.saturating_sub(1))).collect()
    }

    fn at(&self, address: u64) -> Vec<SourceLine> {
        let mut lines =
            self.context.as_ref().and_then(|context| of(context, address).ok()).unwrap_or_default();
        // The outermost function is no inlined one: where its name is left out, symbols have it.
        let outermost = match lines.last_mut() {
            Some(outermost) => outermost,
            None => {
                lines.push(SourceLine::default());
                let Some(outermost) = lines.last_mut() else { return lines };
                outermost
            }
        };
        // And where it is the last part only, they have the whole.
        let is_whole = |name: &String| name.contains("::");
        if !outermost.function.as_ref().is_some_and(is_whole) {
            outermost.function = self.symbol(address).or_else(|| outermost.function.take());
        }
        lines.retain(|line| *line != SourceLine::default());
        lines
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let at = self.symbols.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        let (_, name) = self.symbols.get(at)?;
        Some(addr2line::demangle_auto(name.as_str().into(), None).into_owned())
    }
}

/// The lines of a file; absent where it has none.
fn context<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Option<Context<Bytes>> {
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |id: SectionId| {
        let section = object.section_by_name(id.name());
        let data = section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default();
        Ok::<_, Error>(Bytes::new(Arc::from(data.as_ref()), endian))
    };
    let dwarf = Dwarf::load(section).ok()?;
    // A symbol table alone makes a context without units, which knows nothing.
    object.section_by_name(SectionId::DebugLine.name())?;
    Context::from_dwarf(dwarf).ok()
}

fn of(context: &Context<Bytes>, address: u64) -> Result<Vec<SourceLine>, Error> {
    let unit = context.find_dwarf_and_unit(address).skip_all_loads();
    let compiled_in = unit.and_then(folder);
    let mut frames = context.find_frames(address).skip_all_loads()?;
    let mut lines = Vec::new();
    while let Some(frame) = frames.next()? {
        let function = frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
        let location = frame.location.as_ref();
        let file = location.and_then(|at| at.file).map(|file| shortened(file, compiled_in.as_deref()));
        // 0 is what the compiler made by itself.
        let line = location.and_then(|at| at.line).filter(|&line| line > 0);
        lines.push(SourceLine { function, file, line });
    }
    Ok(lines)
}

/// Where a unit was compiled.
fn folder(unit: UnitRef<'_, Bytes>) -> Option<String> {
    Some(unit.comp_dir.as_ref()?.to_string_lossy().ok()?.into_owned())
}

/// A file from where it was compiled on; the program's own is there, and what cargo fetched keeps its whole name.
fn shortened(file: &str, compiled_in: Option<&str>) -> String {
    let folder = compiled_in.filter(|folder| !FETCHED.iter().any(|part| format!("{folder}/").contains(part)));
    let below = folder.and_then(|folder| file.strip_prefix(folder)?.strip_prefix('/'));
    below.unwrap_or(file).to_owned()
}

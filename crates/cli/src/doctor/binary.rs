//! The program's file: whether it has what tells lines of live memory, frame pointers and line tables, and a build id by which
//! its symbols are found later. Files of other systems than Linux, and programs without stepscope's layer (`cargo`, a shell), are
//! not judged.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use stepscope_core::{attr, metric};

use super::{Finding, fine, note};

const CHECK: &str = "lines";

/// Larger files are not read.
const MOST_BYTES: u64 = 4 << 30;

/// Functions of a program with frame pointers begin like this on x86-64: `push %rbp; mov %rsp,%rbp`.
const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xE5];
const X86_64: u16 = 62;

/// What a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Binary {
    /// `None` where that cannot be seen.
    frame_pointers: Option<bool>,
    line_tables: bool,
    /// Has no symbols.
    is_stripped: bool,
    build_id: bool,
}

/// Looks at the file that this command runs; nothing where it is no program of this system.
pub(crate) fn check(command: &[OsString]) -> Option<Finding> {
    let path = find(command.first()?)?;
    let size = std::fs::metadata(&path).ok()?.len();
    let bytes = std::fs::read(&path).ok().filter(|_| size <= MOST_BYTES)?;
    let binary = look(&bytes)?;
    holds(&bytes, metric::live::MEMORY_LIVE_SAMPLED).then(|| judge(&path, binary))
}

/// Whether the file that this command runs has stepscope's layer in it.
pub(crate) fn has_layer(command: &[OsString]) -> bool {
    let path = command.first().and_then(|command| find(command));
    let path = path.filter(|path| std::fs::metadata(path).is_ok_and(|file| file.len() <= MOST_BYTES));
    path.and_then(|path| std::fs::read(path).ok()).is_some_and(|bytes| holds(&bytes, attr::SCHEMA_VERSION))
}

fn holds(bytes: &[u8], name: &str) -> bool {
    bytes.windows(name.len()).any(|window| window == name.as_bytes())
}

/// The file of a command, as the shell would find it.
fn find(command: &OsStr) -> Option<PathBuf> {
    if command.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(command));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(command)).find(|path| path.is_file())
}

fn judge(path: &Path, binary: Binary) -> Finding {
    let mut lacks = Vec::new();
    let mut fixes = Vec::new();
    if binary.frame_pointers == Some(false) {
        lacks.push("frame pointers");
        fixes.push("build with RUSTFLAGS=\"-C force-frame-pointers=yes\"");
    }
    if !binary.line_tables {
        lacks.push("line tables");
        fixes.push(if binary.is_stripped {
            "set strip = false and debug = \"line-tables-only\" in the profile of Cargo.toml, as it is stripped, or keep its \
             debug file for `stepscope analyze --symbols`"
        } else {
            "set debug = \"line-tables-only\" in the profile of Cargo.toml"
        });
    }
    if !binary.build_id {
        lacks.push("a build id");
        fixes.push("link with -Wl,--build-id");
    }
    let name = path.display();
    if lacks.is_empty() {
        let frames = if binary.frame_pointers.is_none() { "" } else { "frame pointers, " };
        return fine(
            CHECK,
            format!("{name} has {frames}line tables and a build id: memory is known by line."),
        );
    }
    let lacks = lacks.join(" and ");
    note(
        CHECK,
        format!("{name} has no {lacks}: live memory is known by section, not by line."),
        format!("For lines, {}.", fixes.join("; ")),
    )
}

/// What is in an ELF file of 64 bits, little-endian; `None` for any other file.
fn look(bytes: &[u8]) -> Option<Binary> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let sections = sections(bytes)?;
    let is_there = |name: &str| sections.contains_key(name);
    let contents =
        |name: &str| sections.get(name).and_then(|&(start, size)| bytes.get(start..start.checked_add(size)?));
    let frame_pointers = || {
        // Functions as their unwind tables count them.
        let functions = u32::from_le_bytes(contents(".eh_frame_hdr")?.get(8..12)?.try_into().ok()?);
        let begin = contents(".text")?.windows(PROLOGUE.len()).filter(|window| *window == PROLOGUE).count();
        // With the flag 95 of 100 begin like this. Without it about 450 do, of the standard library, in a program of thousands.
        Some(begin as u64 * 4 >= u64::from(functions) * 3)
    };
    let is_x86 = bytes.get(18..20)? == X86_64.to_le_bytes();
    Some(Binary {
        frame_pointers: if is_x86 { frame_pointers() } else { None },
        line_tables: is_there(".debug_line") || is_there(".gnu_debuglink"),
        is_stripped: !is_there(".symtab"),
        build_id: is_there(".note.gnu.build-id"),
    })
}

/// Where sections lie in the file, by name.
fn sections(bytes: &[u8]) -> Option<BTreeMap<String, (usize, usize)>> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?));
    let number = |at: usize| usize::try_from(word(at)?).ok();
    let (table, each) = (number(0x28)?, usize::from(half(0x3A)?));
    let (count, names) = (usize::from(half(0x3C)?), usize::from(half(0x3E)?));
    let header = |index: usize| index.checked_mul(each).and_then(|offset| table.checked_add(offset));
    let place = |at: usize| Some((number(at.checked_add(0x18)?)?, number(at.checked_add(0x20)?)?));
    let (names, _) = place(header(names)?)?;
    let mut sections = BTreeMap::new();
    for at in (0..count).filter_map(header) {
        let name = u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?);
        let text = bytes.get(names.checked_add(usize::try_from(name).ok()?)?..)?;
        let end = text.iter().position(|&byte| byte == 0)?;
        sections.insert(String::from_utf8_lossy(text.get(..end)?).into_owned(), place(at)?);
    }
    Some(sections)
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    /// A file with these sections and their contents.
    fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[18..20].copy_from_slice(&X86_64.to_le_bytes());
        let mut headers = Vec::new();
        let mut names = Vec::new();
        let all = sections.iter().copied().chain([(".shstrtab", &b""[..])]);
        for (name, contents) in all {
            let mut header = [0_u8; 64];
            header[..4].copy_from_slice(&(names.len() as u32).to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(contents.len() as u64).to_le_bytes());
            bytes.extend(contents);
            names.extend(name.bytes().chain([0]));
            headers.push(header);
        }
        let last = headers.len() - 1;
        headers[last][0x18..0x20].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        bytes.extend(&names);
        let table = bytes.len() as u64;
        bytes.extend(headers.concat());
        bytes[0x28..0x30].copy_from_slice(&table.to_le_bytes());
        bytes[0x3A..0x3C].copy_from_slice(&64_u16.to_le_bytes());
        bytes[0x3C..0x3E].copy_from_slice(&(headers.len() as u16).to_le_bytes());
        bytes[0x3E..0x40].copy_from_slice(&(last as u16).to_le_bytes());
        bytes
    }

    /// A header that counts so many functions.
    fn functions(count: u32) -> Vec<u8> {
        [&[0; 8][..], &count.to_le_bytes()].concat()
    }

    #[test]
    fn what_lines_need_is_seen_in_the_file() {
        let (text, header) = ([PROLOGUE, [0x90; 4], PROLOGUE].concat(), functions(2));
        let all: [(&str, &[u8]); 5] = [
            (".text", &text),
            (".eh_frame_hdr", &header),
            (".debug_line", b"x"),
            (".note.gnu.build-id", b"x"),
            (".symtab", b"x"),
        ];
        let has = |sections: &[(&str, &[u8])]| look(&elf(sections)).unwrap();
        let whole =
            Binary { frame_pointers: Some(true), line_tables: true, is_stripped: false, build_id: true };
        assert_eq!(has(&all), whole);
        let many = functions(3);
        assert_eq!(has(&[all[0], (".eh_frame_hdr", &many)]).frame_pointers, Some(false));
        assert_eq!(
            has(&all[..2]),
            Binary { line_tables: false, is_stripped: true, build_id: false, ..whole }
        );
        assert!(has(&[(".gnu_debuglink", b"x")]).line_tables);
        assert_eq!(look(b"#!/bin/sh\n"), None);
        // Cut anywhere, it is no harm.
        let bytes = elf(&all);
        (0..bytes.len()).for_each(|end| assert!(look(&bytes[..end]).is_none_or(|binary| binary.build_id)));
    }

    #[test]
    fn what_is_missing_is_named_with_its_fix() {
        let whole =
            Binary { frame_pointers: Some(true), line_tables: true, is_stripped: false, build_id: true };
        assert_eq!(judge(Path::new("train"), whole).state, State::Fine);
        let finding =
            judge(Path::new("train"), Binary { frame_pointers: Some(false), line_tables: false, ..whole });
        assert_eq!(finding.state, State::Note);
        assert_eq!(
            finding.text,
            "train has no frame pointers and line tables: live memory is known by section, not by line."
        );
        let fix = finding.fix.unwrap();
        assert!(
            fix.contains("force-frame-pointers")
                && fix.contains("line-tables-only")
                && !fix.contains("build-id")
                && !fix.contains("strip")
        );
        let stripped = Binary { line_tables: false, is_stripped: true, ..whole };
        assert!(judge(Path::new("train"), stripped).fix.unwrap().contains("strip = false"));
    }
}

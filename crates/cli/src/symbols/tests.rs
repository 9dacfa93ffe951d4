//! Lines of a program that is compiled here, against its source.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use stepscope_analyze::summary::SourceLine;

use super::*;

const SOURCE: &str = "use std::hint::black_box;

#[inline(always)]
fn keep(size: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(size))
}

#[inline(never)]
#[unsafe(no_mangle)]
fn outer(size: usize) -> usize {
    let kept = keep(size);
    kept.capacity() + 1
}

fn main() {
    println!(\"{}\", outer(black_box(3)));
}
";

/// Compiles a program in a folder of its own.
fn compile(folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let (file, out) = (folder.join("kept.rs"), folder.join("kept"));
    std::fs::write(&file, source).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.current_dir(folder).args(["--edition", "2024", "-O", "-Clink-arg=-Wl,--build-id", "kept.rs"]);
    assert!(command.args(flags).arg("-o").arg(&out).status().unwrap().success());
    out
}

/// The module of a file, and the return addresses of each place in one of its functions.
fn module(path: &Path, function: &str) -> (LiveModule, Vec<u64>) {
    let bytes = std::fs::read(path).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let symbol = object.symbols().find(|symbol| symbol.name() == Ok(function));
    let addresses = symbol.map(|symbol| (symbol.address() + 1..=symbol.address() + symbol.size()).collect());
    let build_id = object.build_id().unwrap().unwrap();
    let module = LiveModule {
        name: "kept".into(),
        path: path.to_str().unwrap().into(),
        build_id: Some(build_id.iter().map(|byte| format!("{byte:02x}")).collect()),
        symbols: SymbolState::default(),
    };
    (module, addresses.unwrap_or_default())
}

const LINES: &[&str] = &["-Cdebuginfo=line-tables-only", "-Cforce-frame-pointers=yes"];

#[test]
fn lines_and_what_was_inlined_are_those_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), SOURCE, LINES);
    let (module, addresses) = module(&path, "outer");
    let resolved = of_module(&module, &addresses, &[]).0;
    assert_eq!(resolved.state, SymbolState::Lines);
    let line = |function: &str, line| SourceLine {
        function: Some(function.into()),
        file: Some("kept.rs".into()),
        line: Some(line),
    };
    // `keep` is at line 11 of `outer`, and allocates at its line 5.
    let nested = [line("keep", 5), line("outer", 11)];
    assert!(resolved.lines.iter().any(|lines| lines.ends_with(&nested)), "{:#?}", resolved.lines);
    assert!(resolved.lines.iter().all(|lines| lines.last().unwrap().function.as_deref() == Some("outer")));
}

#[test]
fn a_file_of_another_build_is_never_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), SOURCE, LINES);
    let (module, addresses) = module(&path, "outer");
    compile(folder.path(), &SOURCE.replace("+ 1", "+ 2"), LINES);
    let none = |state| Resolved { state, lines: Vec::new() };
    assert_eq!(of_module(&module, &addresses, &[]).0, none(SymbolState::Differs));
    std::fs::write(&path, "no program").unwrap();
    assert_eq!(of_module(&module, &addresses, &[]).0, none(SymbolState::Unreadable));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(of_module(&module, &addresses, &[]).0, none(SymbolState::Missing));
    let nameless = LiveModule { build_id: None, ..module };
    assert_eq!(of_module(&nameless, &addresses, &[]).0, none(SymbolState::NoBuildId));
}

#[test]
fn a_program_that_moved_and_one_with_its_debug_file_apart_are_found_by_build_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), SOURCE, LINES);
    let (module, addresses) = module(&path, "outer");
    let whole = of_module(&module, &addresses, &[]).0;
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("kept");
    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(of_module(&module, &addresses, &[elsewhere.path().into()]).0, whole);
    // The folder of a distribution, by build id.
    let id = module.build_id.as_deref().unwrap();
    let debug = elsewhere.path().join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..]));
    std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
    std::fs::rename(&moved, &debug).unwrap();
    compile(folder.path(), SOURCE, &["-Cstrip=symbols", "-Cforce-frame-pointers=yes"]);
    assert_eq!(of_module(&module, &addresses, &[elsewhere.path().into()]).0, whole);
}

#[test]
fn a_stripped_program_has_neither_functions_nor_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), SOURCE, &["-Cstrip=symbols"]);
    let (module, _) = module(&path, "outer");
    let resolved = of_module(&module, &[0x1000], &[]).0;
    assert_eq!(resolved, Resolved { state: SymbolState::Stripped, lines: vec![vec![]] });
}

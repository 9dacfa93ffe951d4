//! Whose code a line is, and the names of functions in short.

use crate::summary::{LiveModule, SourceLine, SymbolState};

/// Whose code it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The program's own.
    Own,
    /// Of a crate that it uses.
    Library,
    /// Of the standard library or of what records memory.
    Runtime,
}

/// Crates that allocate for whoever calls them, by the beginning of their functions' names.
const STANDARD: &[&str] = &["alloc::", "core::", "std::", "hashbrown::"];
/// What records memory, and what the compiler makes of a global allocator, which has the line of the program's `static`.
const RECORDER: &[&str] = &["stepscope_mem::", "stepscope::", "__rust", "__rg_", "__rdl_"];
/// Parts of the names of files that are the standard library's, and of those that cargo fetched.
const STANDARD_FILES: &[&str] =
    &["/rustc/", "/rustlib/src/", "/rust/deps/", "/library/alloc/", "/library/std/"];
const LIBRARY_FILES: &[&str] = &["/registry/src/", "/git/checkouts/", "/vendor/"];

/// Whose code a line of a module is.
pub(super) fn origin(line: &SourceLine, module: Option<&LiveModule>) -> Origin {
    let function = line.function.as_deref().unwrap_or_default().trim_start_matches(['<', '&']);
    let begins = |names: &[&str]| names.iter().any(|name| function.starts_with(name));
    if begins(RECORDER) {
        return Origin::Runtime;
    }
    if let Some(file) = &line.file {
        let file = format!("/{file}");
        let has = |parts: &[&str]| parts.iter().any(|part| file.contains(part));
        return match () {
            () if has(STANDARD_FILES) => Origin::Runtime,
            () if module.is_some_and(is_of_system) => Origin::Runtime,
            // What is written in another language is somebody's library.
            () if has(LIBRARY_FILES) || !file.ends_with(".rs") => Origin::Library,
            () => Origin::Own,
        };
    }
    // Without files, by the names of crates: a program is mostly called as its own.
    let own = module.map(|module| format!("{}::", module.name.replace('-', "_")));
    match own {
        Some(own) if function.starts_with(&own) => Origin::Own,
        _ if begins(STANDARD) || function.is_empty() => Origin::Runtime,
        _ => Origin::Library,
    }
}

/// Whether a module came with the system, as the C library does, which starts programs and threads.
fn is_of_system(module: &LiveModule) -> bool {
    ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"].iter().any(|place| module.path.starts_with(place))
}

/// Whether nobody can say what a module's functions are, so that they may be the program's own.
pub(super) const fn is_unknown(module: &LiveModule) -> bool {
    match module.symbols {
        SymbolState::Lines | SymbolState::NoLines | SymbolState::Stripped => false,
        SymbolState::NotLookedUp
        | SymbolState::Missing
        | SymbolState::Differs
        | SymbolState::NoBuildId
        | SymbolState::Unreadable => true,
    }
}

/// Whether a call is the allocator's own. Other names begin with `__rust`, too: `__rust_begin_short_backtrace` is around all.
pub(super) fn is_allocator(line: &SourceLine) -> bool {
    let function = line.function.as_deref().unwrap_or_default().trim_start_matches(['<', '&']);
    let function = function.strip_prefix("__rustc::").unwrap_or(function);
    ["stepscope_mem::", "__rust_alloc", "__rust_realloc", "__rust_dealloc", "__rg_", "__rdl_"]
        .iter()
        .any(|name| function.starts_with(name))
}

/// A function as a path: without generic parameters, and its type in place of `<Type as Trait>`.
#[must_use]
pub(super) fn plain_function(name: &str) -> String {
    let plain = match name.strip_prefix('<').and_then(|rest| Some((rest, closing(rest)?))) {
        // `<Type as Trait>::function`, `<Type>::function`
        Some((rest, at)) => {
            let inner = rest.get(..at).unwrap_or_default();
            let inner = inner.split(" as ").next().unwrap_or(inner).trim_start_matches(['&', '<']);
            format!("{inner}{}", rest.get(at + 1..).unwrap_or_default())
        }
        None => name.to_owned(),
    };
    let mut depth = 0_usize;
    let mut bare = String::new();
    for letter in plain.replace("->", "").chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    // Generic parameters of functions stand behind two colons.
    let parts: Vec<&str> = bare.split("::").filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { name.to_owned() } else { parts.join("::") }
}

/// A function in few letters: its type or module and itself, without closures.
#[must_use]
pub(crate) fn short_function(name: &str) -> String {
    let plain = plain_function(name);
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.starts_with('{')).collect();
    match parts.as_slice() {
        [] => plain,
        [.., one, two] => format!("{one}::{two}"),
        [one] => (*one).to_owned(),
    }
}

/// Where the bracket that was open before the text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '<' => depth += 1,
            '>' if depth == 0 => return Some(at),
            '>' => depth -= 1,
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_by_their_type_and_name() {
        let cases = [
            ("trainer::cache::CacheMap::insert", "CacheMap::insert"),
            ("<trainer::cache::CacheMap<K, V>>::insert", "CacheMap::insert"),
            ("<alloc::vec::Vec<u8> as trainer::Keep>::keep::{{closure}}", "Vec::keep"),
            ("trainer::Store<alloc::vec::Vec<(u8, f32)>>::push::{closure#0}", "Store::push"),
            ("main", "main"),
        ];
        for (name, short) in cases {
            assert_eq!(short_function(name), short, "{name}");
        }
    }

    #[test]
    fn code_is_told_from_what_allocates_for_it() {
        let module = LiveModule {
            name: "my-trainer".into(),
            path: String::new(),
            build_id: None,
            symbols: SymbolState::Lines,
        };
        let of = |function: &str, file: Option<&str>| {
            let line =
                SourceLine { function: Some(function.into()), file: file.map(str::to_owned), line: None };
            origin(&line, Some(&module))
        };
        let registry = Some("/build/.cargo/registry/src/index-1/candle-core-0.9/src/tensor.rs");
        assert_eq!(of("my_trainer::keep", Some("src/main.rs")), Origin::Own);
        assert_eq!(of("<alloc::vec::Vec<T> as my_trainer::Keep>::keep", Some("src/main.rs")), Origin::Own);
        assert_eq!(of("candle_core::Tensor::zeros", registry), Origin::Library);
        assert_eq!(
            of("alloc::vec::Vec<T>::push", Some("/rustc/1a2b/library/alloc/src/vec/mod.rs")),
            Origin::Runtime
        );
        // The compiler gives it the line of the program's static.
        assert_eq!(of("__rustc::__rust_alloc", Some("src/main.rs")), Origin::Runtime);
        assert_eq!(
            of("stepscope_mem::alloc::Alloc::alloc", Some("crates/mem/src/alloc.rs")),
            Origin::Runtime
        );
        assert_eq!(of("my_trainer::keep", None), Origin::Own);
        assert_eq!(of("candle_core::Tensor::zeros", None), Origin::Library);
        assert_eq!(of("core::ops::FnOnce::call_once", None), Origin::Runtime);
        let is_allocator = |function: &str| {
            is_allocator(&SourceLine { function: Some(function.into()), file: None, line: None })
        };
        assert!(
            is_allocator("__rustc::__rust_realloc") && is_allocator("<stepscope_mem::alloc::Alloc>::alloc")
        );
        assert!(!is_allocator("std::sys::backtrace::__rust_begin_short_backtrace"));
        assert!(!is_allocator("__rust_begin_short_backtrace"));
    }
}

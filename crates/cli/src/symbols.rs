//! Lines of addresses: finds the file that ran, or its debug file, by build id, and asks its DWARF and its symbol table. A file
//! of another build id is never asked. What the lines are for is the analysis' business.

mod dwarf;

use std::path::{Path, PathBuf};

use stepscope_analyze::Summary;
use stepscope_analyze::live_memory::Resolved;
use stepscope_analyze::summary::{LiveModule, SymbolState};

use crate::error::CliError;
use dwarf::{Debug, Opened};

/// Where distributions put debug files.
const SYSTEM: &str = "/usr/lib/debug";
/// Files of the run that a message names.
const NAMED: usize = 3;
/// Files of a folder that are looked into.
const FILES: usize = 256;
/// What Linux adds to the name of a program whose file was replaced.
const DELETED: &str = " (deleted)";

/// Looks up the lines of all that a summary names; `places` are files and folders to look into first.
///
/// # Errors
/// Where a place is none, or nothing in these places is of the program. Lines that are found elsewhere are there nevertheless.
pub(crate) fn resolve(summary: &mut Summary, places: &[PathBuf]) -> Result<(), CliError> {
    let Some(memory) = &mut summary.live_memory else { return Ok(()) };
    let mut is_used = places.is_empty();
    memory.resolve(|module, offsets| {
        let (resolved, from) = of_module(module, offsets, places);
        is_used |= from.is_some_and(|from| places.iter().any(|place| from.starts_with(place)));
        resolved
    });
    if let Some(place) = places.iter().find(|place| !place.exists()) {
        return Err(CliError::Input(format!(
            "there is nothing at {}, which --symbols names",
            place.display()
        )));
    }
    if !is_used {
        let ids = memory.modules.iter().filter_map(|module| Some((module, module.build_id.as_ref()?)));
        let ids: Vec<String> =
            ids.take(NAMED).map(|(module, id)| format!("{} ({id})", module.name)).collect();
        return Err(CliError::Input(format!(
            "nothing that --symbols names has a build id of the run's files: {}",
            ids.join(", ")
        )));
    }
    Ok(())
}

/// What is known of a module's addresses, and from which file.
fn of_module(module: &LiveModule, offsets: &[u64], places: &[PathBuf]) -> (Resolved, Option<PathBuf>) {
    let (state, found) = find(module, places);
    let Some((debug, from)) = found else { return (Resolved { state, lines: Vec::new() }, None) };
    let lines = debug.lines(offsets);
    (Resolved { state, lines }, Some(from))
}

/// The best file of the module's build id, and what it holds.
fn find(module: &LiveModule, places: &[PathBuf]) -> (SymbolState, Option<(Debug, PathBuf)>) {
    let Some(build_id) = module.build_id.as_deref() else { return (SymbolState::NoBuildId, None) };
    let path = Path::new(module.path.strip_suffix(DELETED).unwrap_or(&module.path));
    let mut at_its_place = SymbolState::Missing;
    let mut found: Option<(Debug, PathBuf)> = None;
    for candidate in candidates(path, build_id, places) {
        let state = match Debug::open(&candidate, build_id) {
            Opened::Absent => SymbolState::Missing,
            Opened::Unreadable => SymbolState::Unreadable,
            Opened::Other => SymbolState::Differs,
            Opened::Same(debug) => {
                let is_better = found.as_ref().is_none_or(|(best, _)| debug.rank() > best.rank());
                let is_best = debug.has_lines();
                if is_better {
                    found = Some((debug, candidate));
                }
                if is_best {
                    break;
                }
                continue;
            }
        };
        if candidate == path {
            at_its_place = state;
        }
    }
    let state = match &found {
        Some((debug, _)) if debug.has_lines() => SymbolState::Lines,
        Some((debug, _)) if debug.has_functions() => SymbolState::NoLines,
        Some(_) => SymbolState::Stripped,
        None => at_its_place,
    };
    (state, found)
}

/// Where a module or its debug file may be.
fn candidates(path: &Path, build_id: &str, places: &[PathBuf]) -> Vec<PathBuf> {
    let by_id = build_id.split_at_checked(2).map(|(first, rest)| format!(".build-id/{first}/{rest}.debug"));
    let name = path.file_name().map(Path::new);
    let debug = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".debug");
        PathBuf::from(name)
    };
    let mut all = Vec::new();
    for place in places {
        if !place.is_dir() {
            all.push(place.clone());
            continue;
        }
        all.extend(name.map(|name| place.join(name)));
        all.extend(name.map(|name| debug(&place.join(name))));
        all.extend(by_id.as_ref().map(|by_id| place.join(by_id)));
        // It may be called otherwise there.
        let mut files: Vec<PathBuf> = std::fs::read_dir(place)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|file| file.is_file())
            .collect();
        files.sort();
        all.extend(files.into_iter().take(FILES));
    }
    if !path.as_os_str().is_empty() {
        all.push(path.to_owned());
        all.push(debug(path));
        all.extend(path.strip_prefix("/").map(|below| debug(&Path::new(SYSTEM).join(below))));
    }
    all.extend(by_id.map(|by_id| Path::new(SYSTEM).join(by_id)));
    let caches = [std::env::var_os("DEBUGINFOD_CACHE_PATH").map(PathBuf::from), cache()];
    all.extend(caches.into_iter().flatten().map(|cache| cache.join(build_id).join("debuginfo")));
    all
}

/// Where debuginfod keeps what it fetched.
fn cache() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("debuginfod_client"))
}

#[cfg(test)]
mod tests;

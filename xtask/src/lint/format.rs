//! Whether everything is formatted, in each workspace of the repository: the one of the crates, and those of the
//! benches, examples, integrations and fuzz targets, which stages build that come long after this check.

use super::component;
use crate::Outcome;
use crate::process::{cargo, root, run};
use std::fs;
use std::path::{Path, PathBuf};

/// How deep a workspace may lie: `benches/spans` is two folders down.
const DEPTH: usize = 2;

pub(super) fn check() -> Outcome {
    component("rustfmt", "fmt")?;
    let main = root();
    for workspace in workspaces(&main, DEPTH)? {
        // `--all` follows paths out of a workspace: in one of a single package it would look at the crates again.
        let packages: &[&str] = if workspace == main { &["--all"] } else { &[] };
        let mut format = cargo(&[&["fmt", "--check"], packages].concat());
        format.current_dir(&workspace);
        run(format)
            .map_err(|problem| format!("{problem}; run `cargo fmt --all` in {}", workspace.display()))?;
    }
    Ok(())
}

/// The folders from `folder` on down that have a lock file, which the root of a workspace has.
fn workspaces(folder: &Path, depth: usize) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.join("Cargo.lock").is_file() {
        found.push(folder.to_path_buf());
    }
    if depth == 0 {
        return Ok(found);
    }
    let read = |error| format!("failed to read {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            found.extend(workspaces(&path, depth - 1)?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workspace_is_found() {
        let found = workspaces(&root(), DEPTH).expect("the repository can be read");
        for folder in ["", "benches/spans", "examples/common", "integrations/burn", "fuzz"] {
            assert!(found.contains(&root().join(folder)), "`{folder}` is not among {found:?}");
        }
    }
}

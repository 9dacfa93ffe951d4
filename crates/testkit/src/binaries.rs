//! Where cargo puts the workspace's programs, for tests that run programs of other packages.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_path_buf()
}

/// The folder that the running test's own profile (debug, release) was built into.
#[must_use]
pub fn profile_folder() -> PathBuf {
    let built = env::current_exe().ok().and_then(|path| {
        // Tests lie in `<target>/<profile>/deps`, programs in `<target>/<profile>`.
        let folder = path.parent()?;
        let in_deps = folder.file_name().is_some_and(|name| name == "deps" || name == "examples");
        if in_deps { folder.parent().map(Path::to_path_buf) } else { Some(folder.to_path_buf()) }
    });
    built.unwrap_or_else(|| {
        let target = env::var_os("CARGO_TARGET_DIR");
        target.map_or_else(|| repository().join("target"), PathBuf::from).join("debug")
    })
}

/// The built program `name`.
///
/// # Errors
/// When it is not there: says how to build it.
pub fn find(name: &str) -> Result<PathBuf, String> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let profile = profile_folder();
    [profile.join(&file), profile.join("examples").join(&file)]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!("{file} is not in {}: build it first (cargo xtask test does)", profile.display())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_holds_the_workspace() {
        assert!(repository().join("crates/testkit/Cargo.toml").is_file());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = find("no-such-program").unwrap_err();
        assert!(error.contains("no-such-program") && error.contains("build it first"), "{error}");
    }
}

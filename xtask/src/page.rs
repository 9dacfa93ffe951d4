//! The stage that opens the report page in a real browser. What it asserts is in `tests/page`; here is only what it
//! needs: browser, driver, accessibility checker, a generated large run.

use crate::Outcome;
use crate::process::{command, root, run, succeeds};
use std::path::{Path, PathBuf};

/// The accessibility checker as the registry of npm names it.
const CHECKER: &str = "axe-core@4.14.1";

/// Where it is set, the stage fails without a browser; so it does without the checker where that is needed.
const BROWSER_NEEDED: &str = "STEPSCOPE_BROWSER_NEEDED";

/// Runs the tests of these modules, all where none is named, against the program. Skipped, and said so, where there is no
/// browser and none can be installed.
pub(crate) fn test(program: &Path, generator: &Path, target: &Path, modules: &[&str]) -> Outcome {
    if !browser()? {
        return Ok(());
    }
    let mut tests = command("python3", &["-B", "run.py"]);
    tests.args(modules).current_dir(root().join("tests/page"));
    tests.env("STEPSCOPE_BIN", program).env("STEPSCOPE_GENERATE_RUN", generator);
    match checker(&target.join("page")) {
        Some(path) => drop(tests.env("STEPSCOPE_AXE", path)),
        // The tests say so, and fail with STEPSCOPE_AXE_NEEDED.
        None => eprintln!("\n`npm pack {CHECKER}` gave nothing"),
    }
    run(tests)
}

fn without_browser(is_needed: bool) -> Outcome<bool> {
    let advice = "install one and its driver (Debian: `apt-get install chromium chromium-driver`)";
    if is_needed {
        return Err(format!("no browser, and {BROWSER_NEEDED} is set: {advice}"));
    }
    eprintln!("\nSKIPPED: no browser, so pages are not tested: {advice}");
    Ok(false)
}

/// Whether there is a browser, now; that there is none is said, or is an error where one is needed.
pub(crate) fn browser() -> Outcome<bool> {
    if installed() { Ok(true) } else { without_browser(std::env::var_os(BROWSER_NEEDED).is_some()) }
}

fn installed() -> bool {
    let is_there = || {
        let browsers = ["chromium", "chromium-browser", "google-chrome"];
        browsers.iter().any(|name| succeeds(name, &["--version"])) && succeeds("chromedriver", &["--version"])
    };
    if is_there() {
        return true;
    }
    eprintln!("a browser or its driver is missing: installing both");
    let install =
        ["install", "-y", "--no-install-recommends", "chromium", "chromium-driver", "fonts-dejavu-core"];
    succeeds("apt-get", &["--version"])
        && run(command("apt-get", &["update"])).is_ok()
        && run(command("apt-get", &install)).is_ok()
        && is_there()
}

/// The checker's one file, from the registry where the cache lacks it.
fn checker(folder: &Path) -> Option<PathBuf> {
    let script = folder.join("package/axe.min.js");
    if script.is_file() {
        return Some(script);
    }
    std::fs::create_dir_all(folder).ok()?;
    let mut pack = command("npm", &["pack", "--silent", CHECKER]);
    pack.current_dir(folder);
    run(pack).ok()?;
    let archive = format!("{}.tgz", CHECKER.replace('@', "-"));
    let mut unpack = command("tar", &["-xzf", &archive, "package/axe.min.js"]);
    unpack.current_dir(folder);
    run(unpack).ok()?;
    script.is_file().then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_is_needed_is_not_skipped() {
        assert_eq!(without_browser(false), Ok(false));
        assert!(without_browser(true).unwrap_err().contains(BROWSER_NEEDED));
    }
}

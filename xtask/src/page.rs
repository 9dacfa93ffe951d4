//! The stage that opens the report page in a real browser. What it asserts is in `tests/page`; here is only what it
//! needs: browser, driver, accessibility checker, a generated large run.

use crate::Outcome;
use crate::process::{command, root, run, shown, succeeds};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The accessibility checker as the registry of npm names it.
const CHECKER: &str = "axe-core@4.14.1";

/// Where it is set, the stage fails without a browser; so it does without the checker where that is needed.
const BROWSER_NEEDED: &str = "STEPSCOPE_BROWSER_NEEDED";

/// Runs the tests against the program. Skipped, and said so, where there is no browser and none can be installed.
pub(crate) fn test(program: &Path, generator: &Path, target: &Path) -> Outcome {
    if !browser() {
        return without_browser(std::env::var_os(BROWSER_NEEDED).is_some());
    }
    let own = target.join("page");
    let checker = checker(&own);
    if checker.is_none() {
        // The tests say so, and fail with STEPSCOPE_AXE_NEEDED.
        eprintln!("\n`npm pack {CHECKER}` gave nothing");
    }
    let tests = |modules: &[String]| {
        let mut tests = command("python3", &["-B", "-m", "unittest", "-v"]);
        tests.args(modules).current_dir(root().join("tests/page"));
        tests.env("STEPSCOPE_BIN", program).env("STEPSCOPE_GENERATE_RUN", generator);
        tests.envs(checker.iter().map(|path| ("STEPSCOPE_AXE", path)));
        tests
    };
    // A test and its browser wait for each other for much of the time: one module, and all others beside it.
    let (one, others): (Vec<_>, Vec<_>) = modules()?.into_iter().partition(|module| module == LARGEST);
    beside(tests(&one), tests(&others), &own.join("others.log"))
}

/// The module whose tests take about as long as those of all others.
const LARGEST: &str = "test_page";

/// The modules of tests, by name.
fn modules() -> Outcome<Vec<String>> {
    let folder = root().join("tests/page");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_module =
        |name: String| name.strip_suffix(".py").filter(|name| name.starts_with("test_")).map(String::from);
    let mut modules: Vec<String> = names.filter_map(is_module).collect();
    modules.sort();
    Ok(modules)
}

/// Runs two programs at the same time. What the other one says goes through `log`, and is shown behind what the first says.
fn beside(one: Command, mut other: Command, log: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    std::fs::create_dir_all(log.parent().unwrap_or(log)).map_err(failed)?;
    let said = std::fs::File::create(log).map_err(failed)?;
    other.stdout(said.try_clone().map_err(failed)?).stderr(said);
    let line = shown(&other);
    eprintln!("$ {line}, at the same time");
    let mut running = other.spawn().map_err(|error| format!("failed to start `{line}`: {error}"))?;
    let first = run(one);
    let second = running.wait().map_err(failed)?;
    eprint!("$ {line}\n{}", std::fs::read_to_string(log).map_err(failed)?);
    first.and(if second.success() { Ok(()) } else { Err(format!("`{line}` failed ({second})")) })
}

fn without_browser(is_needed: bool) -> Outcome {
    let advice = "install one and its driver (Debian: `apt-get install chromium chromium-driver`)";
    if is_needed {
        return Err(format!("no browser, and {BROWSER_NEEDED} is set: {advice}"));
    }
    eprintln!("\nSKIPPED: no browser, so the report page is not tested: {advice}");
    Ok(())
}

fn browser() -> bool {
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
    fn no_module_is_left_out() {
        let modules = modules().unwrap();
        assert!(modules.iter().any(|module| module == LARGEST), "{modules:?}");
        assert!(modules.iter().any(|module| module == "test_everywhere"), "{modules:?}");
    }

    #[test]
    fn both_are_run_and_both_may_fail() {
        let folder = std::env::temp_dir().join(format!("stepscope-beside-{}", std::process::id()));
        let log = folder.join("log");
        let [yes, no] = ["true", "false"].map(|name| move || command(name, &[]));
        assert_eq!(beside(yes(), yes(), &log), Ok(()));
        assert!(beside(yes(), no(), &log).is_err());
        assert!(beside(no(), yes(), &log).is_err());
        assert_eq!(beside(yes(), command("echo", &["said"]), &log), Ok(()));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "said\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_browser_that_is_needed_is_not_skipped() {
        assert_eq!(without_browser(false), Ok(()));
        assert!(without_browser(true).unwrap_err().contains(BROWSER_NEEDED));
    }
}

//! Boards as Grafana's libraries draw them in a browser, from what a real Prometheus answers after `scripts/stack demo`. What
//! is drawn and what is asserted of it is in `tests/grafana`; here are the programs that it needs.

use crate::Outcome;
use crate::page::browser;
use crate::process::{command, root, run};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

/// What the demo says once there is something to look at.
const READY: &str = "Ready after";

/// Asks and draws; `report` is the board of a report. Skipped, and said so, without a browser.
pub(super) fn draw(folder: &Path, report: &Path, program: &Path) -> Outcome {
    if !browser()? {
        return Ok(());
    }
    bundle(folder)?;
    answers(folder, program)?;
    let mut draw = command("python3", &["-B", "tests/grafana/pictures.py"]);
    draw.arg(folder).arg(report);
    run(draw)
}

/// The page and all that it is made of, in one file.
fn bundle(folder: &Path) -> Outcome {
    let mut bundle =
        command(folder.join("node_modules/.bin/esbuild"), &["tests/grafana/page.js", "--bundle"]);
    bundle.args(["--log-level=warning", "--define:process.env.NODE_ENV=\"production\""]);
    for (kind, loader) in [("svg", "dataurl"), ("woff2", "dataurl"), ("woff", "empty"), ("ttf", "empty")] {
        bundle.arg(format!("--loader:.{kind}={loader}"));
    }
    bundle.env("NODE_PATH", folder.join("node_modules"));
    bundle.arg(format!("--outfile={}", folder.join("page.bundle.js").display()));
    run(bundle)?;
    fs::copy(root().join("tests/grafana/page.html"), folder.join("page.html"))
        .map(drop)
        .map_err(|error| format!("failed to copy the page to {}: {error}", folder.display()))
}

/// What Prometheus answers to every panel's queries while the demo's programs are there.
fn answers(folder: &Path, program: &Path) -> Outcome {
    let demo = Demo::start(&folder.join("demo"), program)?;
    let mut ask = command("node", &["tests/grafana/answers.js", &demo.prometheus]);
    ask.arg(folder.join("answers.json"));
    run(ask)
}

/// Collector, Jaeger, Prometheus and what was sent to them; ended when dropped.
struct Demo {
    child: Child,
    prometheus: String,
}

impl Demo {
    fn start(folder: &Path, program: &Path) -> Outcome<Self> {
        // Figures of an earlier time would be in the plots.
        drop(fs::remove_dir_all(folder));
        let mut demo = command("scripts/stack", &["demo", "--free-ports", "--dir"]);
        demo.arg(folder).env("STEPSCOPE_BIN", program).stdout(Stdio::piped());
        let child = demo.spawn().map_err(|error| format!("failed to start scripts/stack demo: {error}"))?;
        let mut demo = Self { child, prometheus: String::new() };
        let said = demo.child.stdout.take().ok_or("the demo has no output")?;
        let lines = BufReader::new(said).lines().map_while(Result::ok);
        if !lines.into_iter().any(|line| line.starts_with(READY)) {
            return Err("the demo ended before it was ready".into());
        }
        let addresses = folder.join("env");
        let text = fs::read_to_string(&addresses)
            .map_err(|error| format!("failed to read {}: {error}", addresses.display()))?;
        let address = text.lines().find_map(|line| line.strip_prefix("PROMETHEUS="));
        demo.prometheus = format!("http://{}", address.ok_or("the demo names no Prometheus")?);
        Ok(demo)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // As Ctrl-C does: it ends what it has started.
        drop(command("kill", &["-TERM", &self.child.id().to_string()]).status());
        drop(self.child.wait());
    }
}

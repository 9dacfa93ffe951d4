//! A process that starts three others, each told where it was started from: one run of four ranks.

use std::collections::BTreeSet;
use std::process::Command;

use stepscope_testkit::{TempFolder, binaries, process};

use crate::program::{LIMIT, clean, report};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[test]
fn a_process_and_those_that_it_starts_are_one_run() {
    for is_traced in [false, true] {
        let folder = TempFolder::new("family").expect("a folder");
        let program = binaries::find("programs").expect("cargo build -p stepscope --examples");
        let mut command = clean(Command::new(program));
        command.args(["family", "3"]).current_dir(folder.path()).env("STEPSCOPE_WORLD_SIZE", "4");
        if is_traced {
            command.env("TRACEPARENT", format!("00-{TRACE}-00f067aa0ba902b7-01"));
        }
        process::run(&mut command, LIMIT).expect("starts").success().expect("trains");
        let report = report(&[&folder.join("profiles")]);
        assert_eq!(report["run"]["ranks"], 4, "{}", report["run"]);
        let ranks = report["ranks"].as_array().expect("ranks");
        let ids: BTreeSet<_> = ranks.iter().filter_map(|row| row["resource"]["run_id"].as_str()).collect();
        assert_eq!((ranks.len(), ids.len(), ids.contains(TRACE)), (4, 1, is_traced), "{ids:?}");
        // Those of the process, one for each that it starts, and as many of each of these.
        let steps: Vec<_> = ranks.iter().map(|row| &row["steps"]["count"]).collect();
        assert_eq!(steps, [3; 4]);
    }
}

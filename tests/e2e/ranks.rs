//! Three real processes that do the same steps, of which one is planted in, five times: the slow rank is found and named,
//! and so is the one that the others wait for, for its work or for its data. The gain is the one which leaving the cause out
//! has brought, or a bound of it. The same processes without a fault: nothing is found in them.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use serde_json::Value;
use stepscope_testkit::{TempFolder, binaries, process};

use crate::planted::{SEEDS, findings, is_beyond, late_us};
use crate::program::{Judged, LIMIT, again, alone, clean, holds, quietest, report};

const RANKS: u64 = 3;
const STEPS: u64 = 200;
/// What a step without a fault waits for.
const STEP_US: u64 = 3_000;

/// Share of the time by which waits may end late in a quiet run.
const QUIET: f64 = 0.05;

/// Lets all ranks go on when all have come, again and again until they leave.
fn serve(meeting: &UnixListener) {
    let mut ranks: Vec<UnixStream> = (0..RANKS).map(|_| meeting.accept().expect("a rank comes").0).collect();
    while ranks.iter_mut().all(|rank| rank.read_exact(&mut [0]).is_ok()) {
        // One that has left is missed in the next turn.
        ranks.iter_mut().for_each(|rank| drop(rank.write_all(&[1])));
    }
}

/// The report on a run of all ranks, and the share by which its times are uncertain.
fn run(plant: &str) -> (Value, f64) {
    quietest(QUIET, || {
        let folder = TempFolder::new("ranks").expect("a folder");
        let program = binaries::find("programs").expect("cargo build -p stepscope --examples");
        let start = |rank: u64| {
            let mut command = clean(Command::new(&program));
            command.args(["ranks", plant, &STEPS.to_string()]).current_dir(folder.path());
            command.env("RANK", rank.to_string()).env("WORLD_SIZE", RANKS.to_string());
            command.env("STEPSCOPE_RUN_ID", "ranks");
            move || {
                process::run(&mut command, LIMIT).expect("starts").success().expect("trains").stdout_text()
            }
        };
        let meeting = UnixListener::bind(folder.join("meeting.socket")).expect("a place to meet");
        // Nobody waits for it: where a rank does not come, the others end at their limit.
        let serving = move || serve(&meeting);
        std::thread::Builder::new().name("meeting".into()).spawn(serving).expect("a thread");
        let late: u64 = std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..RANKS).map(|rank| scope.spawn(start(rank))).collect();
            // Whoever meets waits for the latest, so that what is late for one is for all.
            ranks.into_iter().map(|rank| late_us(&rank.join().expect("ends"))).sum()
        });
        (report(&[&folder.join("profiles")]), late as f64 / (STEPS * STEP_US) as f64)
    })
}

/// What a step takes, the mean: of rank 1, and of all.
fn step_ns(report: &Value) -> (f64, f64) {
    let ranks = report["ranks"].as_array().expect("ranks");
    let mean = |row: &Value| row["steps"]["mean"].as_f64().expect("a mean");
    let own = ranks.iter().find(|row| row["resource"]["rank"] == 1).expect("rank 1");
    (mean(own), ranks.iter().map(mean).sum::<f64>() / ranks.len() as f64)
}

/// What is planted, mostly in rank 1, and what is to be said of it.
struct Plant {
    name: &'static str,
    /// The same without the fault.
    without: &'static str,
    rule: &'static str,
    /// The section that is named, with the rank; where none is, none.
    section: Option<&'static str>,
    /// Whether the gain is rank 1's, and not all ranks'.
    is_own: bool,
    /// Whether the gain is told, and not only bounded.
    is_exact: bool,
}

/// By what share of the step time the means of runs of equal programs differ.
const UNSURE_SHARE: f64 = 0.02;

/// What is wrong with a report on ranks of which rank 1 is planted in.
fn judge(plant: &Plant, with: &Value, gained: f64, unsure: f64) -> Result<(), String> {
    let Plant { rule, section, .. } = *plant;
    let finding = findings(with).iter().find(|finding| finding["rule"] == rule);
    let finding = finding.ok_or_else(|| format!("not found: {:#?}", findings(with)))?;
    let rank = section.map_or(Value::Null, |_| 1.into());
    holds(finding["rank"] == rank, || format!("another rank: {finding:#}"))?;
    holds(finding["section"] == Value::from(section), || format!("another section: {finding:#}"))?;
    let gain = |name: &str| finding["predicted_gain"][name].as_f64().expect("a share");
    let (bound, direct) = (gain("share"), gain("direct_share"));
    println!(
        "{rule}: {:.1} % itself, at most {:.1} %; {:.1} % gained, +- {:.1} %",
        direct * 100.0,
        bound * 100.0,
        gained * 100.0,
        unsure * 100.0
    );
    let problem = || format!("at most {bound}, {gained} gained");
    holds(bound >= gained - UNSURE_SHARE - unsure, problem)?;
    holds(!plant.is_exact || bound <= 1.3 * gained + unsure, problem)
}

/// Findings in a line.
fn told(findings: &[Value]) -> String {
    let told = findings.iter().map(|finding| format!("{} {}", finding["id"], finding["severity"]));
    told.collect::<Vec<_>>().join(", ")
}

/// Runs the plant five times, and holds what its rule says of each against the gain that leaving it out has brought.
fn planted(plant: &Plant) {
    let _alone = alone();
    let mut judged = Judged::new(plant.rule);
    for seed in SEEDS {
        let (without, unsure_without) = run(plant.without);
        let found = findings(&without).iter().find(|finding| finding["rule"] == plant.rule);
        println!("seed {seed}, {}: {}", plant.without, told(findings(&without)));
        let is_found = |finding: &Value| is_beyond(finding, 0.0, unsure_without);
        assert!(!found.is_some_and(is_found), "seed {seed}: {found:#?}");
        again(&format!("seed {seed}"), &mut judged, |judged| {
            let (with, unsure) = run(plant.name);
            let unsure = unsure.max(unsure_without);
            let of = |report: &Value| if plant.is_own { step_ns(report).0 } else { step_ns(report).1 };
            let gained = 1.0 - of(&without) / of(&with);
            judged.gain(gained, unsure);
            (judge(plant, &with, gained, unsure), unsure)
        });
    }
}

#[test]
fn a_rank_that_works_longer_is_found_where_none_waits() {
    planted(&Plant {
        name: "slow",
        without: "apart",
        rule: "slow_rank",
        section: Some("step/forward"),
        is_own: true,
        is_exact: true,
    });
}

#[test]
fn a_rank_for_which_the_others_wait_is_found() {
    planted(&Plant {
        name: "late",
        without: "none",
        rule: "communication_waits",
        section: Some("step/all_reduce"),
        is_own: false,
        is_exact: true,
    });
}

#[test]
fn a_rank_that_waits_for_its_data_holds_up_the_others() {
    planted(&Plant {
        name: "starved",
        without: "none",
        rule: "input_bound",
        section: Some("step/data_wait"),
        is_own: false,
        is_exact: false,
    });
}

#[test]
fn ranks_whose_loaders_are_too_slow_by_turns_are_found_and_none_is_blamed() {
    planted(&Plant {
        name: "turns",
        without: "none",
        rule: "loader_bound",
        section: None,
        is_own: false,
        is_exact: false,
    });
}

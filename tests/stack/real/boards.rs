//! Boards, rules, findings and links on what `scripts/stack demo` leaves in the real Prometheus, Jaeger and collector: every
//! query answers, every finding is there once, links lead to traces. How long a newcomer waits for that is printed.

mod findings;
mod leads;
mod lines;

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_stack_tests::boards::{self, Board, Query};
use stepscope_stack_tests::demo::Demo;
use stepscope_stack_tests::prometheus::Prometheus;
use stepscope_stack_tests::stack;
use stepscope_testkit::binaries;

use crate::monitor::Running;

/// What a run of minutes without a real GPU cannot have: a beginning of a query's place, and why. Everything else has to answer.
const WITHOUT_DATA: &[(&str, &str)] = &[
    ("gpu: Activity of units", "real GPUs tell it, from Hopper on"),
    ("gpu: Memory errors", "only a broken GPU has new ones"),
    ("host: Container pressure", "only control groups of the second version have it"),
];
/// The same where no group with limits could be made.
const WITHOUT_LIMITS: &[&str] =
    &["host: Throttled", "host: Container", "memory: Machine and container", "rule StepscopeContainerMemory"];

/// Figures that are on their way arrive within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Programs of the layer that do what the demo does not: sections of communication, and one so long that an alert fires.
const OTHERS: [&[&str]; 2] = [&["gauged", "exchange"], &["gauged", "long"]];

#[test]
fn the_demo_fills_boards_and_links() {
    let is_built = |name: &&str| stack::path(name).is_ok_and(|path| path.is_file());
    if !["collector", "jaeger", "prometheus"].iter().all(is_built) {
        println!("SKIPPED: collector, Jaeger or Prometheus is not built (scripts/stack build)");
        return;
    }
    let demo = Demo::start().expect("it gets ready");
    println!("{}", demo.said);
    let training = board("training");
    let main = ["Step time A", "Step time of all ranks A", "Where the step time goes A", "Findings A"];
    let main = main.map(|panel| format!("training: {panel}"));
    assert_eq!(
        unanswered(&demo, std::slice::from_ref(&training), &|place| main.contains(&place.to_owned())),
        [""; 0]
    );
    let time = demo.began.elapsed();
    println!("from scripts/stack demo to the answers of the training board: {:.1} s", time.as_secs_f64());

    findings::assert_findings(&demo);
    leads::assert_links(&demo, &training);
    leads::assert_exemplars(&demo, &training);
    leads::assert_jaegers_queries(&demo);
    lines::assert_the_leaks_line(&demo, &board("memory"));
    lines::assert_samples_are_no_series(&demo);
    assert_rules_are_loaded(demo.prometheus());
    assert_all_answer(&demo);
    assert_eq!(demo.interrupt(), Ok(Vec::new()), "programs go on after Ctrl-C");
}

fn board(name: &str) -> Board {
    let boards = boards::all().expect("boards");
    boards.into_iter().find(|board| board.name == name).expect("there is such a board")
}

/// Queries that answer nothing, after they had time to.
fn unanswered(demo: &Demo, boards: &[Board], is_asked: &dyn Fn(&str) -> bool) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let all = counted(demo, boards).into_iter();
        let missing = all.filter(|(query, count)| *count == 0 && is_asked(&query.place));
        let missing: Vec<String> =
            missing.map(|(query, _)| format!("{}: {}", query.place, query.text)).collect();
        if missing.is_empty() || Instant::now() > deadline {
            return missing;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// All queries of these boards, with how many series each answers.
fn counted(demo: &Demo, boards: &[Board]) -> Vec<(Query, usize)> {
    let prometheus = demo.prometheus();
    let chosen =
        [("baseline", demo.run("healthy").expect("a run")), ("run", demo.run("leak").expect("a run"))];
    let chosen = chosen.each_ref().map(|(name, run)| (*name, run.as_str()));
    let mut all = Vec::new();
    for board in boards {
        let variables = board.variables(prometheus, &chosen).expect("variables have values");
        for variable in &variables {
            let place = format!("{}: ${}", board.name, variable.name);
            let query = Query { place, text: variable.query.clone(), is_range: false, has_exemplars: false };
            all.push((query, variable.values.len()));
        }
        for query in board.queries(&variables) {
            let count = answered(prometheus, &query);
            all.push((query, count));
        }
    }
    all
}

fn answered(prometheus: Prometheus<'_>, query: &Query) -> usize {
    let series = prometheus.series(&query.text, query.is_range);
    series.unwrap_or_else(|error| panic!("{}: {}: {error}", query.place, query.text)).len()
}

/// Every query of every panel, variable, mark and rule, after programs that do what the demo does not.
fn assert_all_answer(demo: &Demo) {
    let program = binaries::find("programs").expect("it is built");
    let start = |arguments: &&[&str]| -> Child {
        let mut call = demo.call(&program, arguments);
        call.env("STEPSCOPE_RUN_ID", arguments.join("-")).stdout(std::process::Stdio::null());
        call.spawn().expect("it starts")
    };
    let mut others: Vec<Running> = OTHERS.iter().map(start).map(Running).collect();
    for other in &mut others {
        assert!(other.0.wait().expect("it ends").success());
    }
    let boards = boards::all().expect("boards");
    let without_limits = WITHOUT_LIMITS.iter().map(|of| (*of, "no group with limits could be made"));
    let without_limits = without_limits.filter(|_| !demo.has_limits());
    let exceptions: Vec<_> = WITHOUT_DATA.iter().copied().chain(without_limits).collect();
    let reason = |place: &str| exceptions.iter().find(|(of, _)| place.starts_with(of)).map(|(_, why)| *why);
    // Until all are there, or long enough.
    drop(unanswered(demo, &boards, &|place| reason(place).is_none()));
    let rules = boards::rules().expect("rules").into_iter().map(|rule| {
        let count = answered(demo.prometheus(), &rule);
        (rule, count)
    });
    let all: Vec<(Query, usize)> = counted(demo, &boards).into_iter().chain(rules).collect();
    println!("series  query");
    let mut missing = Vec::new();
    for (query, count) in &all {
        let why = reason(&query.place);
        println!("{count:>6}  {}: {} {}", query.place, query.text, why.unwrap_or_default());
        missing.extend((*count == 0 && why.is_none()).then_some(query.place.as_str()));
    }
    let without = all.iter().filter(|(_, count)| *count == 0).count();
    println!("{} queries, {without} of them without data", all.len());
    assert_eq!(missing, [""; 0], "they answer nothing");
    let unknown = |of: &&str| !all.iter().any(|(query, _)| query.place.starts_with(of));
    let stale: Vec<&str> = exceptions.iter().map(|(of, _)| *of).filter(|of| unknown(of)).collect();
    assert_eq!(stale, [""; 0], "exceptions of queries that there are not");
}

/// Prometheus has taken the rules, and records quantiles.
fn assert_rules_are_loaded(prometheus: Prometheus<'_>) {
    let rules = prometheus.ask("rules", &[]).expect("rules");
    let groups = rules["groups"].as_array().expect("groups");
    let all: Vec<&Value> =
        groups.iter().flat_map(|group| group["rules"].as_array().expect("rules")).collect();
    assert_eq!(all.len(), boards::rules().expect("rules").len());
    for rule in all {
        assert_ne!(rule["health"], "err", "{rule}");
    }
}

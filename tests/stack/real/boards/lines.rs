//! The leak's line on the memory board: what the panel's query answers after `analyze --push` is a line of the demo's source.
//! What the other panels answer is asked elsewhere.

use stepscope_core::{LIVE_MEMORY_SCOPE_NAME, attr, metric};
use stepscope_stack_tests::boards::Board;
use stepscope_stack_tests::demo::Demo;
use stepscope_testkit::binaries;

/// Series that the panel may have.
const MOST: usize = 50;

/// The section that allocates what the demo keeps for ever.
const LEAKING: &str = "step/metrics_history";

pub(super) fn assert_the_leaks_line(demo: &Demo, memory: &Board) {
    let leak = demo.run("leak").expect("a run");
    let variables = memory.variables(demo.prometheus(), &[("run", leak.as_str())]).expect("variables");
    let mut queries = memory.queries(&variables).into_iter();
    let query = queries.find(|query| query.place == "memory: Lines that hold memory A").expect("it is there");
    let series = demo.prometheus().series(&query.text, query.is_range).expect("an answer");
    assert!((1..=MOST).contains(&series.len()), "{series:?}");
    let bytes =
        |at: usize| series[at]["value"][1].as_str().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let most = (0..series.len()).max_by(|&one, &other| bytes(one).total_cmp(&bytes(other))).expect("a line");
    let label =
        |name: &str| series[most]["metric"][name.replace('.', "_")].as_str().unwrap_or_default().to_owned();
    let (file, line) = (label(attr::CODE_FILE_PATH), label(attr::CODE_LINE_NUMBER));
    println!("{:.0} bytes at {file}:{line}, in {}", bytes(most), label(attr::PATH));
    assert!(label(attr::PATH) == LEAKING, "{series:?}");
    // The line that keeps it; without frame pointers that of the section.
    let text =
        std::fs::read_to_string(binaries::repository().join(&file)).expect("a file of this repository");
    let told =
        line.parse::<usize>().ok().and_then(|line| text.lines().nth(line.checked_sub(1)?)).expect("a line");
    assert!(told.contains("self.kept.push") || told.contains("metrics_history"), "{file}:{line}: {told}");
}

/// What samples say of live memory is in the collector's files, and no series of it in Prometheus.
pub(super) fn assert_samples_are_no_series(demo: &Demo) {
    let text = std::fs::read_to_string(demo.file("data/json/metrics.jsonl")).expect("a file");
    assert!(text.contains(&format!("\"name\":\"{LIVE_MEMORY_SCOPE_NAME}\"")), "no live memory has come");
    let names: Vec<String> = metric::live::TABLE.iter().map(|row| row.name.replace('.', "_")).collect();
    let query = format!("last_over_time({{__name__=~\"({}).*\"}}[30m])", names.join("|"));
    assert_eq!(demo.prometheus().series(&query, false).expect("an answer"), [serde_json::Value::Null; 0]);
}

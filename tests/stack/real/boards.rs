//! Boards, rules, findings and links on what `scripts/stack demo` leaves in the real Prometheus, Jaeger and collector: every
//! query answers, every finding is there once, links lead to traces. How long a newcomer waits for that is printed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_core::attr;
use stepscope_stack_tests::boards::{self, Board, Query};
use stepscope_stack_tests::demo::Demo;
use stepscope_stack_tests::http;
use stepscope_stack_tests::program::parse;
use stepscope_stack_tests::prometheus::Prometheus;
use stepscope_stack_tests::stack;
use stepscope_testkit::binaries;

use crate::monitor::Running;

/// What this machine, or a run of minutes, cannot have: a beginning of a query's place, and why. Everything else has to answer.
const WITHOUT_DATA: &[(&str, &str)] = &[
    ("gpu: Activity of units", "real GPUs tell it, from Hopper on"),
    ("gpu: Memory errors", "only a broken GPU has new ones"),
    ("host: Throttled", NO_CONTAINER),
    ("host: Container", NO_CONTAINER),
    ("memory: Machine and container", NO_CONTAINER),
    ("rule StepscopeContainerMemory", NO_CONTAINER),
];
const NO_CONTAINER: &str = "only in a container with limits";

/// Figures that are on their way arrive within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Programs of the layer that do what the demo does not: sections of communication and of waiting, and one so long that an
/// alert fires.
const OTHERS: [&[&str]; 3] =
    [&["planted", "communication", "800"], &["planted", "sync", "800"], &["gauged", "long"]];

#[test]
fn the_demo_fills_boards_and_links() {
    let is_built = |name: &&str| stack::path(name).is_ok_and(|path| path.is_file());
    if !["collector", "jaeger", "prometheus"].iter().all(|name| is_built(name)) {
        println!("SKIPPED: collector, Jaeger or Prometheus is not built (scripts/stack build)");
        return;
    }
    let demo = Demo::start().expect("it gets ready");
    println!("{}", demo.said);
    let training = board("training");
    let main = ["Step time A", "Step time of all ranks A", "Where the step time goes A", "Findings A"];
    let main = main.map(|panel| format!("training: {panel}"));
    assert_eq!(unanswered(&demo, std::slice::from_ref(&training), &|place| main.contains(&place.to_owned())), [""; 0]);
    let time = demo.began.elapsed();
    println!("from scripts/stack demo to the answers of the training board: {:.1} s", time.as_secs_f64());

    assert_findings(&demo);
    assert_links(&demo, &training);
    assert_jaegers_queries(&demo);
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
    let mut counts = BTreeMap::new();
    loop {
        let missing: Vec<(Query, usize)> = counted(demo, boards)
            .into_iter()
            .filter(|(query, _)| is_asked(&query.place))
            .inspect(|(query, count)| drop(counts.insert(query.place.clone(), *count)))
            .filter(|(_, count)| *count == 0)
            .collect();
        if missing.is_empty() || Instant::now() > deadline {
            return missing.into_iter().map(|(query, _)| format!("{}: {}", query.place, query.text)).collect();
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// All queries of these boards, with how many series each answers.
fn counted(demo: &Demo, boards: &[Board]) -> Vec<(Query, usize)> {
    let prometheus = demo.prometheus();
    let chosen = [("baseline", demo.run("healthy").expect("a run")), ("run", demo.run("leak").expect("a run"))];
    let chosen = chosen.each_ref().map(|(name, run)| (*name, run.as_str()));
    let mut all = Vec::new();
    for board in boards {
        let variables = board.variables(prometheus, &chosen).expect("variables have values");
        for variable in &variables {
            let place = format!("{}: ${}", board.name, variable.name);
            let query = Query { place, text: variable.query.clone(), is_range: false };
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
    let reason = |place: &str| WITHOUT_DATA.iter().find(|(of, _)| place.starts_with(of)).map(|(_, why)| *why);
    let missing = unanswered(demo, &boards, &|place| reason(place).is_none());
    let rules = boards::rules().expect("rules").into_iter().map(|rule| {
        let count = answered(demo.prometheus(), &rule);
        (rule, count)
    });
    let all: Vec<(Query, usize)> = counted(demo, &boards).into_iter().chain(rules).collect();
    println!("series  query");
    for (query, count) in &all {
        let why = reason(&query.place).map_or(String::new(), |why| format!("   # {why}"));
        println!("{count:>6}  {}: {}{why}", query.place, query.text);
    }
    let is_missing = |(query, count): &&(Query, usize)| *count == 0 && reason(&query.place).is_none();
    let missing_now: Vec<&str> = all.iter().filter(is_missing).map(|(query, _)| query.place.as_str()).collect();
    println!("{} queries, {} of them without data", all.len(), all.iter().filter(|(_, count)| *count == 0).count());
    assert!(missing.is_empty() && missing_now.is_empty(), "no data:\n{}\nand {missing_now:?}", missing.join("\n"));
    let unknown = |of: &&str| !all.iter().any(|(query, _)| query.place.starts_with(of));
    let stale: Vec<&str> = WITHOUT_DATA.iter().map(|(of, _)| *of).filter(|of| unknown(of)).collect();
    assert_eq!(stale, [""; 0], "exceptions of queries that there are not");
}

/// Prometheus has taken the rules, and records quantiles.
fn assert_rules_are_loaded(prometheus: Prometheus<'_>) {
    let rules = prometheus.ask("rules", &[]).expect("rules");
    let groups = rules["groups"].as_array().expect("groups");
    let all: Vec<&Value> = groups.iter().flat_map(|group| group["rules"].as_array().expect("rules")).collect();
    assert_eq!(all.len(), boards::rules().expect("rules").len());
    for rule in all {
        assert_ne!(rule["health"], "err", "{rule}");
    }
}

/// Severities by run and rule, as Prometheus has them over the time range; each series once.
fn severities(prometheus: Prometheus<'_>) -> BTreeMap<(String, String), usize> {
    let mut all = BTreeMap::new();
    for series in prometheus.series("last_over_time(stepscope_finding_severity[30m])", false).expect("severities") {
        let label = |name: &str| series["metric"][name].as_str().unwrap_or_default().to_owned();
        *all.entry((label("stepscope_run_id"), label("stepscope_finding_rule"))).or_default() += 1;
    }
    all
}

/// The identities of findings in the collector's file, with the times of their records and how often each is there.
fn records(demo: &Demo) -> BTreeMap<(String, String), Vec<String>> {
    let text = std::fs::read_to_string(demo.file("data/findings/findings.jsonl")).expect("a file");
    let mut all = BTreeMap::<_, Vec<String>>::new();
    for message in text.lines().map(|line| parse(line).expect("JSON")) {
        for record in message["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().expect("records") {
            let value = |key: &str| {
                let attributes = record["attributes"].as_array().expect("attributes");
                let found = attributes.iter().find(|attribute| attribute["key"] == key);
                found.and_then(|found| found["value"]["stringValue"].as_str()).unwrap_or_default().to_owned()
            };
            assert_eq!(record["eventName"], attr::FINDING_EVENT);
            let time = record["timeUnixNano"].as_str().expect("a time").to_owned();
            all.entry((value(attr::FINDING_ID), value(attr::FINDING_RULE))).or_default().push(time);
        }
    }
    all
}

/// What was planted is in Prometheus and in the collector's file; pushed again there is no series more, and each record again
/// with its identity and time.
fn assert_findings(demo: &Demo) {
    let [healthy, slow, leak] = ["healthy", "slow-loader", "leak"].map(|name| demo.run(name).expect("a run"));
    let before = severities(demo.prometheus());
    let has = |run: &str, rule: &str| before.contains_key(&(run.to_owned(), rule.to_owned()));
    assert!(has(&leak, "memory_growth") && has(&slow, "input_bound"), "{before:?}");
    assert!(!has(&healthy, "memory_growth") && !has(&healthy, "input_bound"), "{before:?}");
    let once = records(demo);
    assert!(once.values().all(|times| times.len() == 1), "{once:?}");
    for run in [&slow, &leak] {
        demo.push_again(run).expect("it is pushed");
    }
    let again = records(demo);
    assert_eq!(once.keys().collect::<BTreeSet<_>>(), again.keys().collect::<BTreeSet<_>>());
    let mut repeated = 0;
    for ((id, rule), times) in &again {
        if id.starts_with(&slow) || id.starts_with(&leak) {
            assert!(times.len() == 2 && times[0] == times[1], "{id}: {times:?}");
            repeated += 1;
        } else {
            assert_eq!(times.len(), 1, "{id} {rule}");
        }
    }
    // A scrape later.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(severities(demo.prometheus()), before);
    println!("{} series of findings, pushed twice; {repeated} records twice, with equal ids and times", before.len());
}

/// The address behind a link of the training board: of a step, and of the run. Jaeger's page has to be there, and what it
/// asks for the same words has to have the trace.
fn assert_links(demo: &Demo, training: &Board) {
    let leak = demo.run("leak").expect("a run");
    let query = training.queries(&[]).into_iter().find(|query| query.place == "training: Latest step A");
    let text = query.expect("it is there").text.replace("$run", &leak).replace("$host", ".*").replace("$rank", ".*");
    let series = demo.prometheus().series(&text, true).expect("an answer");
    let series = series.first().expect("a latest step");
    let last = |points: &Value| points.as_array().and_then(|points| points.last()).cloned().expect("a point");
    let point = last(&series["values"]);
    let step = point[1].as_str().expect("a number");
    let label = |name: &str| series["metric"][name].as_str().unwrap_or_default().to_owned();
    let (now, jaeger) = (point[0].as_u64().expect("a time"), demo.address("JAEGER_QUERY"));
    for (title, key, value) in
        [("Traces of this step", attr::STEP, step), ("The run's traces", attr::RUN_ID, leak.as_str())]
    {
        let url = training.link("Latest step", title).expect("there is a link");
        let url = url
            .replace("${jaeger}", "")
            .replace("${__field.labels.job:percentencode}", &label("job"))
            .replace("${__field.labels.stepscope_run_id:percentencode}", &label("stepscope_run_id"))
            .replace("${__value.raw}", step)
            .replace("${__from}", &format!("{}000", now - 1_800))
            .replace("${__to}", &format!("{}000", now + 60));
        assert!(!url.contains('$'), "{url}");
        http::get(jaeger, &url).expect("the page is there");
        let asked = url.replace("/search?", "/api/traces?");
        let answer = parse(&http::get(jaeger, &asked).expect("an answer")).expect("JSON");
        let traces = answer["data"].as_array().expect("traces");
        assert!(!traces.is_empty(), "{asked}: {answer}");
        for trace in traces {
            let spans = trace["spans"].as_array().expect("spans").iter();
            let processes = trace["processes"].as_object().expect("processes").values();
            let mut tags = spans.chain(processes).flat_map(|of| of["tags"].as_array().into_iter().flatten());
            let is_it = |tag: &Value| tag["key"] == key && text_of(&tag["value"]) == value;
            assert!(tags.any(is_it), "{asked}: {trace}");
        }
        println!("{title}: {} traces behind {url}", traces.len());
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What Grafana's Jaeger data source sends: services, operations, a search, a trace.
fn assert_jaegers_queries(demo: &Demo) {
    let ask = |path: &str| {
        let answer = parse(&http::get(demo.address("JAEGER_QUERY"), path).expect("an answer")).expect("JSON");
        let data = answer["data"].as_array().cloned().unwrap_or_default();
        assert!(!data.is_empty(), "{path}: {answer}");
        println!("{:>6}  jaeger: {path}", data.len());
        data
    };
    let services = ask("/api/services");
    let service = "stepscope-demo";
    assert!(services.contains(&Value::from(service)), "{services:?}");
    let operations = ask(&format!("/api/services/{service}/operations"));
    assert!(operations.contains(&Value::from("step")), "{operations:?}");
    let found = ask(&format!("/api/traces?service={service}&operation=step&limit=20&lookback=1h"));
    let trace = found[0]["traceID"].as_str().expect("an id");
    assert_eq!(ask(&format!("/api/traces/{trace}"))[0]["traceID"], trace);
}

//! What leads from boards into traces: links, exemplars, and what Grafana's Jaeger data source asks.

use serde_json::Value;
use stepscope_core::attr;
use stepscope_stack_tests::boards::Board;
use stepscope_stack_tests::demo::Demo;
use stepscope_stack_tests::http;
use stepscope_stack_tests::program::parse;

/// The address behind a link of the training board: of a step, and of the run. Jaeger's page has to be there, and what it
/// asks for the same words has to have the trace.
pub(super) fn assert_links(demo: &Demo, training: &Board) {
    let leak = demo.run("leak").expect("a run");
    let query = training.queries(&[]).into_iter().find(|query| query.place == "training: Latest step A");
    let text =
        query.expect("it is there").text.replace("$run", &leak).replace("$host", ".*").replace("$rank", ".*");
    let series = demo.prometheus().series(&text, true).expect("an answer");
    let series = series.first().expect("a latest step");
    let last = |points: &Value| points.as_array().and_then(|points| points.last()).cloned().expect("a point");
    let point = last(&series["values"]);
    let step = point[1].as_str().expect("a number");
    let label = |name: &str| series["metric"][name].as_str().unwrap_or_default().to_owned();
    let (now, jaeger) = (point[0].as_f64().expect("a time") as u64, demo.address("JAEGER_QUERY"));
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
        // One a rank.
        assert!(key == attr::RUN_ID || traces.len() == 2, "{asked}: {answer}");
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

/// The points of the panel that has exemplars lead to steps.
pub(super) fn assert_exemplars(demo: &Demo, training: &Board) {
    let variables = training.variables(demo.prometheus(), &[]).expect("variables");
    let targets = training.queries(&variables).into_iter().filter(|query| query.has_exemplars);
    let (mut steps, mut targets_seen) = (0, 0);
    for target in targets {
        targets_seen += 1;
        for exemplar in demo.prometheus().exemplars(&target.text).expect("an answer") {
            let trace = exemplar["labels"]["trace_id"].as_str().expect("a trace");
            let path = format!("/api/traces/{trace}");
            let opened =
                parse(&http::get(demo.address("JAEGER_QUERY"), &path).expect("it opens")).expect("JSON");
            let spans = opened["data"][0]["spans"].as_array().expect("spans");
            assert!(spans.iter().any(|span| span["operationName"] == "step"), "{trace}: {opened}");
            steps += 1;
        }
    }
    assert!(targets_seen > 0 && steps > 0, "{targets_seen} queries, {steps} exemplars");
    println!("{steps} exemplars lead to steps in Jaeger");
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What Grafana's Jaeger data source sends: services, operations, a search, a trace.
pub(super) fn assert_jaegers_queries(demo: &Demo) {
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

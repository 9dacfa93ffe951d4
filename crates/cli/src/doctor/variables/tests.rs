//! What is said of variables; their lists against the source of the layer.

use super::super::State;
use super::*;
use std::collections::BTreeSet;

fn found(name: &str, value: &str) -> Vec<(State, String, Option<String>)> {
    let environment = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let findings = check(&environment, &environment).into_iter().filter(|finding| finding.check == CHECK);
    findings.map(|finding| (finding.state, finding.text, finding.fix)).collect()
}

#[test]
fn slips_of_the_pen_are_named_with_what_is_meant() {
    for (wrong, meant) in [
        ("STEPSCOPE_LEVLE", "STEPSCOPE_LEVEL"),
        ("STEPSCOPE_STEPSPAN", "STEPSCOPE_STEP_SPAN"),
        ("STEPSCOP_DIR", "STEPSCOPE_DIR"),
        ("OTEL_EXPORTER_OTPL_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("OTEL_EXPORTER_OTLP_TRACE_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        ("OTEL_SERVICENAME", "OTEL_SERVICE_NAME"),
    ] {
        let found = found(wrong, "x");
        assert_eq!(found[0].0, State::Broken, "{wrong}: {found:?}");
        assert!(found[0].2.as_ref().unwrap().starts_with(&format!("{meant} ")), "{wrong}: {found:?}");
    }
}

#[test]
fn values_that_cannot_be_used_are_broken() {
    for (name, value, state) in [
        ("STEPSCOPE_LEVEL", "loud", State::Broken),
        ("STEPSCOPE_LEVEL", "off", State::Broken),
        ("STEPSCOPE_LEVEL", "basic", State::Note),
        ("STEPSCOPE_LEVEL", "Detailed", State::Fine),
        ("STEPSCOPE_RING_BYTES", "1 MiB", State::Broken),
        ("STEPSCOPE_FORMAT", "xml", State::Broken),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", State::Note),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", State::Note),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "foo", State::Broken),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", State::Fine),
        ("OTEL_SDK_DISABLED", "TRUE", State::Broken),
        ("OTEL_SDK_DISABLED", "false", State::Fine),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1000", State::Fine),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1s", State::Broken),
        ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "zstd", State::Note),
        ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "snappy", State::Broken),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", State::Fine),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "1s", State::Broken),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/v1/traces", State::Fine),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=b", State::Fine),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/absent/c.pem", State::Broken),
        (
            "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            State::Broken,
        ),
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://l", State::Note),
        ("OTEL_TRACES_SAMPLER", "always_on", State::Note),
        ("OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY", "k", State::Note),
        ("STEPSCOPE_OF_MINE", "x", State::Note),
        ("OTEL_PYTHON_LOG_LEVEL", "x", State::Fine),
        ("OTHER", "x", State::Fine),
        ("STEPSCOPE_DIR", "  ", State::Fine),
        ("OTEL_SDK_DISABLED", "yes", State::Note),
        ("STEPSCOPE_FILTER", "min=20us,depth=3", State::Fine),
        ("STEPSCOPE_REPORT", "a.html,b.md", State::Fine),
        ("STEPSCOPE_DIR_BYTES", "5000000", State::Fine),
        ("WORLD_SIZE", "4", State::Fine),
        ("BAGGAGE", "a=b", State::Fine),
    ] {
        assert_eq!(found(name, value)[0].0, state, "{name}={value}: {:?}", found(name, value));
    }
}

#[test]
fn what_the_layer_says_of_a_value_is_said_here_once() {
    for (name, value) in [
        ("STEPSCOPE_SIGUSR2", "foo"),
        ("STEPSCOPE_CAPTURE", "steps=0"),
        ("STEPSCOPE_FILTER", "min=20"),
        ("STEPSCOPE_TRACK", "gpus"),
        ("STEPSCOPE_SUMS", "maybe"),
        ("STEPSCOPE_MAX_LEVEL", "loud"),
        ("STEPSCOPE_OVERFLOW", "x"),
        ("STEPSCOPE_LOCATIONS", "x"),
        ("STEPSCOPE_HOOK_EXIT", "x"),
        ("STEPSCOPE_HOOK_PANICS", "x"),
        ("STEPSCOPE_HANDLE_SIGNALS", "x"),
        ("STEPSCOPE_REPORT", "out.pdf"),
        ("STEPSCOPE_RING_BYTES", "100"),
        ("STEPSCOPE_DIR_BYTES", "10"),
        ("STEPSCOPE_EXIT_TIMEOUT", "soon"),
        ("WORLD_SIZE", "0"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "abc"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m"),
        ("OTEL_RESOURCE_ATTRIBUTES", "foo"),
        ("TRACEPARENT", "zz"),
        ("BAGGAGE", ",,="),
    ] {
        let found = found(name, value);
        let [(state, text, _)] = found.as_slice() else { panic!("{name}={value}: {found:?}") };
        assert_eq!(*state, State::Broken, "{name}={value}");
        assert!(text.starts_with(name), "{name}={value}: {text}");
    }
}

#[test]
fn filters_are_read_as_far_as_they_are_general() {
    for (directives, through) in [
        ("info", true),
        ("my_crate=trace,info", true),
        ("warn", false),
        ("debug,hyper=off", true),
        ("my_crate=debug", false),
        ("", false),
    ] {
        assert_eq!(lets_sections_through(directives), through, "{directives}");
    }
}

#[test]
fn files_of_tls_are_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let key = file("key.pem", "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n");
    let certificate = file("c.pem", "Subject: CN=a\r\n-----BEGIN CERTIFICATE-----\r\nAA==\r\n");
    let states = |variables: &[(&str, &String)]| {
        let given = variables.iter().map(|(end, path)| (format!("{EXPORTER}{end}"), (*path).clone()));
        let given = given.collect();
        let found = check(&given, &given).into_iter().filter(|finding| finding.check == CHECK);
        found.map(|finding| finding.state).collect::<Vec<_>>()
    };
    assert_eq!(states(&[("CERTIFICATE", &certificate)]), [State::Note]);
    assert_eq!(states(&[("CERTIFICATE", &key)]), [State::Broken]);
    let whole = [("CLIENT_CERTIFICATE", &certificate), ("CLIENT_KEY", &key)];
    assert_eq!(states(&whole), [State::Note, State::Note]);
    assert_eq!(states(&whole[..1]), [State::Note, State::Broken]);
    assert_eq!(states(&whole[1..]), [State::Note, State::Broken]);
    // Each signal has a whole one.
    let own =
        [("CLIENT_CERTIFICATE", &certificate), ("TRACES_CLIENT_KEY", &key), ("METRICS_CLIENT_KEY", &key)];
    assert_eq!(states(&own), [State::Note; 3]);
}

#[test]
fn metrics_alone_go_nowhere() {
    let metrics = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT".to_owned(), "http://m/in".to_owned());
    let alone = BTreeMap::from([metrics.clone()]);
    let states = |environment: BTreeMap<String, String>| {
        check(&environment, &environment).into_iter().map(|finding| finding.state).max()
    };
    assert_eq!(states(alone.clone()), Some(State::Broken));
    for other in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] {
        let both = BTreeMap::from([metrics.clone(), (other.to_owned(), "http://t".to_owned())]);
        assert_eq!(states(both.clone()), Some(State::Fine));
        // The other one may stand in the file of settings.
        let found = check(&alone, &both);
        assert!(found.iter().all(|finding| finding.state == State::Fine), "{found:?}");
    }
}

#[test]
fn what_is_wrong_in_the_file_is_not_told_of_variables() {
    let [level, track, wrong] = ["STEPSCOPE_MAX_LEVEL", "STEPSCOPE_TRACK", "3"].map(str::to_owned);
    let environment = BTreeMap::from([(level.clone(), wrong.clone())]);
    let effective = BTreeMap::from([(level, wrong.clone()), (track, wrong)]);
    let found = check(&environment, &effective);
    let texts: Vec<&str> = found
        .iter()
        .filter(|finding| finding.state == State::Broken)
        .map(|finding| finding.text.as_str())
        .collect();
    assert!(matches!(texts[..], [text] if text.starts_with("STEPSCOPE_MAX_LEVEL=3")), "{texts:?}");
}

/// The product code of the layer, without its tests.
fn source_of_the_layer(folder: &std::path::Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source_of_the_layer(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&path).unwrap();
            *text += source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        }
    }
}

/// What stands in capitals between quotes behind any of `before`.
fn capitals<'s>(source: &'s str, before: &str) -> BTreeSet<&'s str> {
    let name = |(at, _): (usize, &str)| {
        let (name, _) = source[at + before.len()..].split_once('"')?;
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        is_name.then_some(name).filter(|name| !name.is_empty())
    };
    source.match_indices(before).filter_map(name).collect()
}

/// The layer's own code names no variable that is missing here, and none is here that it does not name.
#[test]
fn the_lists_are_those_of_the_layer() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../stepscope/src"));
    let mut source = String::new();
    source_of_the_layer(folder, &mut source);
    let named = capitals(&source, "\"").into_iter();
    let mut named: BTreeSet<&str> =
        named.filter(|name| name.starts_with("STEPSCOPE_") || name.starts_with("OTEL_")).collect();
    named.insert(stepscope_core::setting::FILE_VARIABLE);
    let known: BTreeSet<&str> = OURS.iter().chain(FOLLOWED).copied().collect();
    assert_eq!(known, named, "doctor must know what the layer reads: see OURS and FOLLOWED above");

    // The exporters' variables are put together: `of_all` and `either` look for all signals and for one.
    let source = std::fs::read_to_string(folder.join("config/otlp.rs")).unwrap();
    let source = source.split("#[cfg(test)]").next().unwrap();
    for parts in ["{what}\"", "{signal}_{what}\""] {
        assert!(source.contains(&format!("\"{EXPORTER}{parts}")), "{parts}");
    }
    let read: BTreeSet<&str> =
        ["of_all(\"", "of_it(\"", "either(\""].iter().flat_map(|call| capitals(source, call)).collect();
    assert_eq!(read, EXPORTER_FOLLOWED.iter().copied().collect());
    let others: BTreeSet<&str> =
        capitals(source, "\"").into_iter().filter(|name| !read.contains(name)).collect();
    let signals = ["TRACES", "METRICS"];
    assert_eq!(others, signals.into());
    assert_eq!(SIGNALS[1..], signals.map(|signal| format!("{signal}_")));
}

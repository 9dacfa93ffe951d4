//! The page without a browser: figures against the JSON report, names that try to be markup, the policy, the data read
//! back. What scripts make of it is tested in a browser (`tests/page`).

use std::collections::{BTreeMap, BTreeSet};

use flate2::{Decompress, FlushDecompress};
use serde_json::Value;
use stepscope_analyze::Summary;
use stepscope_analyze::summary::Example;

use super::{HOSTILE, full, hostile, json_of, report_of, text_in};
use crate::fixture::{MS, Run, healthy};

fn page(summary: &Summary) -> String {
    text_in("html", &report_of(summary))
}

/// What stands between two marks, from `from` on.
fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let start = text.find(open).unwrap_or_else(|| panic!("no {open}")) + open.len();
    &text[start..start + text[start..].find(close).unwrap()]
}

/// Elements that have no end.
const VOID: [&str; 2] = ["meta", "wbr"];

/// Place and exact value of every figure: its own place, or that of its column, is below those of the elements around it.
fn figures(page: &str) -> Vec<(String, &str)> {
    let (page, _) = page.split_once("<script").unwrap_or((page, ""));
    let mut around: Vec<(&str, Option<&str>)> = Vec::new();
    let (mut columns, mut column) = (Vec::new(), 0);
    let mut figures = Vec::new();
    for rest in page.split('<').skip(1) {
        let tag = rest.split_once('>').unwrap().0;
        let name = tag.split(' ').next().unwrap();
        if let Some(name) = name.strip_prefix('/') {
            around.truncate(around.iter().rposition(|(opened, _)| *opened == name).unwrap_or(0));
            continue;
        }
        if tag.ends_with('/') || VOID.contains(&name) {
            continue;
        }
        let attribute = |name: &str| Some(tag.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0);
        let mut place = attribute("data-at");
        match name {
            "thead" => columns.clear(),
            // The head of a column is around none of its figures.
            "th" if attribute("scope") == Some("col") => columns.push(place.take()),
            "tr" => column = 0,
            "th" | "td" => column += 1,
            "data" if place.is_none() => place = Some(columns[column - 1].unwrap()),
            _ => {}
        }
        around.push((name, place));
        if name == "data" {
            let places: Vec<&str> = around.iter().filter_map(|(_, place)| *place).collect();
            figures.push((places.join("/"), attribute("value").unwrap()));
        }
    }
    figures
}

#[test]
fn every_figure_is_that_of_the_json_report() {
    for summary in [full(), healthy().build(), Run::of(3, MS).build()] {
        let (page, json) = (page(&summary), json_of(&report_of(&summary)));
        let figures = figures(&page);
        for (place, value) in &figures {
            let expected = json.pointer(&format!("/{place}")).unwrap_or_else(|| panic!("no {place}"));
            assert_eq!(value.parse::<f64>().ok(), expected.as_f64(), "{place}");
        }
        let places: BTreeSet<&str> = figures.iter().map(|(place, _)| place.as_str()).collect();
        for (at, _) in json["detailed_metrics"]["periodic"].as_array().unwrap().iter().enumerate() {
            for name in ["every", "first_step", "steps", "median_ns", "cause/periodic_ns"] {
                assert!(
                    places.contains(format!("detailed_metrics/periodic/{at}/periods/0/{name}").as_str()),
                    "{name}"
                );
            }
        }
        for (at, section) in json["sections"].as_array().unwrap().iter().enumerate() {
            for name in ["count", "total", "self_ns", "p50", "p95", "max", "errors"] {
                let place = format!("sections/{at}/{name}");
                assert_eq!(places.contains(place.as_str()), !section[name].is_null(), "{place}");
            }
        }
    }
}

/// Names of tags in the page, those of its own scripts and style aside.
fn tags(page: &str) -> BTreeSet<String> {
    let (before, rest) = page.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (body, _) = rest.split_once("<script type=\"application/json\"").unwrap();
    let named = |part: &str| part.chars().take_while(|letter| letter.is_alphanumeric()).collect::<String>();
    [before, body].iter().flat_map(|text| text.split('<').skip(1).map(named)).collect()
}

#[test]
fn names_are_text() {
    let expected = tags(&page(&full()));
    for name in HOSTILE {
        let page = page(&hostile(name));
        // A run without a name has less to tell, and never other tags.
        assert!(tags(&page).is_subset(&expected), "{name:?}: {:?}", tags(&page).difference(&expected));
        assert_eq!(page.matches("<script").count(), 2, "{name:?}");
        assert_eq!(page.matches("</script").count(), 2, "{name:?}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{0}'));
        let header: Value = serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
        let breaks = |letter: char| letter.is_control() || letter == '\u{202e}';
        let values = header["plots"].as_array().unwrap().last().unwrap();
        assert_eq!(values["name"], name.replace(breaks, "\u{fffd}"));
    }
}

#[test]
fn nothing_foreign_is_allowed() {
    let page = page(&full());
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    for foreign in
        [" src=", "@import", "url(", " style=\"", "onclick=", "fetch(", "XMLHttpRequest", "innerHTML"]
    {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.len() < 400_000, "{} bytes", page.len());
}

type ByName<T> = BTreeMap<String, Vec<T>>;

/// Columns of whole numbers of a page, and of floats.
fn columns(page: &str) -> (ByName<Option<u64>>, ByName<f32>) {
    let header: Value = serde_json::from_str(between(page, "id=\"data\">", "</script>")).unwrap();
    let bytes = inflate(&decoded(header["stream"].as_str().unwrap()), header["bytes"].as_u64().unwrap());
    let (mut whole, mut floats) = <(ByName<_>, ByName<_>)>::default();
    let mut at = 0;
    for column in header["columns"].as_array().unwrap() {
        let (name, rows) = (column["name"].as_str().unwrap(), column["rows"].as_u64().unwrap() as usize);
        if column["kind"] == "floats" {
            let byte = |plane: usize, row: usize| bytes[at + plane * rows + row];
            let value = |row| f32::from_le_bytes([0, 1, 2, 3].map(|plane| byte(plane, row)));
            floats.insert(name.to_owned(), (0..rows).map(value).collect());
            at += 4 * rows;
            continue;
        }
        let mut before = 0_i64;
        let values: Vec<Option<u64>> = (0..rows)
            .map(|_| {
                let (mut number, mut shift) = (0_u64, 0);
                loop {
                    let byte = bytes[at];
                    at += 1;
                    number |= u64::from(byte & 0x7f) << shift;
                    shift += 7;
                    if byte < 0x80 {
                        break;
                    }
                }
                let coded = number.checked_sub(1)?;
                before += (coded >> 1) as i64 ^ -((coded & 1) as i64);
                Some(before as u64)
            })
            .collect();
        whole.insert(name.to_owned(), values);
    }
    assert_eq!(at, bytes.len());
    (whole, floats)
}

#[test]
fn the_data_are_the_series() {
    let summary = full();
    let page = page(&summary);
    let header: Value = serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
    let points = &summary.series[0].points;
    let (whole, floats) = columns(&page);
    assert!(!floats.is_empty() && floats.values().all(|values| *values == [0.5]), "{floats:?}");
    assert_eq!(whole.len() + floats.len(), header["columns"].as_array().unwrap().len());
    for (name, values) in &whole {
        let expected: Vec<Option<u64>> = match name.as_str() {
            "step" => points.iter().map(|point| Some(point.step)).collect(),
            "count" => points.iter().map(|point| Some(point.count)).collect(),
            "duration_min" => points.iter().map(|point| Some(point.duration_min_ns)).collect(),
            "duration_max_over" => {
                points.iter().map(|point| Some(point.duration_max_ns - point.duration_min_ns)).collect()
            }
            // Points of two steps: the sum is that of the extremes, and what the fixture puts on top.
            "duration_sum_over" => points
                .iter()
                .map(|point| Some(point.duration_sum_ns - point.duration_min_ns - point.duration_max_ns))
                .collect(),
            "wait" => points.iter().map(|point| Some(point.wait_ns)).collect(),
            "live_min" => points.iter().map(|point| point.live_bytes.map(|gauge| gauge.min)).collect(),
            "live_max_over" => {
                points.iter().map(|point| point.live_bytes.map(|gauge| gauge.max - gauge.min)).collect()
            }
            // Means lie 4 above the smallest of extremes that are 9 apart: the middle, rounded down.
            "live_mean_off" => points.iter().map(|point| point.live_bytes.map(|_| 0)).collect(),
            "rss_min" => points.iter().map(|point| point.rss_bytes.map(|gauge| gauge.min)).collect(),
            "rss_max_over" => {
                points.iter().map(|point| point.rss_bytes.map(|gauge| gauge.max - gauge.min)).collect()
            }
            "rss_mean_off" => points.iter().map(|point| point.rss_bytes.map(|_| 0)).collect(),
            "held_step" => vec![Some(0), Some(2)],
            // From below: all, all others, the smaller section first. Less than nothing wraps around.
            "held_0" => vec![Some(980_300), Some(8_930_038)],
            "held_1" => vec![Some(300), Some(40)],
            "held_2" => [-20_000_i64, -70_003].map(|bytes| Some(bytes as u64)).to_vec(),
            "held_3" => vec![Some(1_000_000), Some(9_000_001)],
            "value-0_step" => vec![Some(0)],
            "phases_step" => summary.phase_series[0].points.iter().map(|point| Some(point.step)).collect(),
            "phases_steps" => vec![Some(1), Some(1)],
            "phases_total" => vec![Some(1_000_000), Some(1_000_001)],
            "phases_none" => vec![Some(199_984), Some(199_985)],
            other => match (other.strip_prefix("phases_"), other.split_once('_')) {
                (Some(at), _) => {
                    let name = header["plots"].as_array().unwrap().iter().find(|plot| plot["id"] == "phases");
                    let name = &name.unwrap()["names"][at.parse::<usize>().unwrap()];
                    let time = [("data_wait", 300_007), ("my own", 500_009)];
                    let time = time.iter().find(|(phase, _)| name == phase).map_or(0, |(_, time)| *time);
                    vec![Some(time); 2]
                }
                (None, Some((place, figure))) => {
                    let at: usize = place.strip_prefix("example-").unwrap().parse().unwrap();
                    example_column(&summary.exemplars[at], figure, &header["texts"])
                }
                (None, None) => panic!("{other} is not expected"),
            },
        };
        assert_eq!(*values, expected, "{name}");
    }
}

/// A column of a step of the fixture: a step, the wait for its batch, `forward`, and a span of another thread that
/// began 20 ns before the step.
fn example_column(example: &Example, figure: &str, texts: &Value) -> Vec<Option<u64>> {
    let place = |text: &str| {
        let at = texts.as_array().unwrap().iter().position(|known| known == text).unwrap();
        Some(at as u64)
    };
    match figure {
        "name" => example.spans.iter().map(|span| place(&span.name)).collect(),
        "phase" => vec![None, place("data_wait"), None, None],
        "batch" => vec![None, place(&"ab".repeat(16)), None, None],
        "lane" => vec![Some(0), Some(0), Some(0), Some(1)],
        "row" => vec![Some(0), Some(1), Some(1), Some(0)],
        // Twice what is not negative; twice the size of what is, less one.
        "offset" => vec![Some(0), Some(0), Some(9_000_000), Some(39)],
        "duration" => vec![Some(10_000_000), Some(4_000_000), Some(5_000_000), Some(7_000_000)],
        "critical" => vec![Some(1_000_000), Some(4_000_000), Some(5_000_000), Some(0)],
        "error" => vec![Some(0), Some(0), Some(0), Some(1)],
        "produce" => vec![None, Some(3_000_001), None, None],
        "queue" => vec![None, Some(500_003), None, None],
        "run_span" => vec![Some(2), Some(2)],
        "run_offset" => vec![Some(9_000_000), Some(14_000_000)],
        "run_duration" => vec![Some(1_000_000), Some(2_500_000)],
        "piece_span" => vec![Some(1), Some(0), Some(2), Some(0)],
        "piece_offset" => vec![Some(0), Some(4_000_000), Some(4_500_000), Some(9_500_000)],
        "piece_duration" => vec![Some(4_000_000), Some(500_000), Some(5_000_000), Some(500_000)],
        other => panic!("{other} is not expected"),
    }
}

fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|&letter| letter != b'=').map(value).collect();
    let bits = |chunk: &[u8]| chunk.iter().fold(0_u32, |bits, &six| bits << 6 | u32::from(six));
    letters
        .chunks(4)
        .flat_map(|chunk| {
            let all = (bits(chunk) << (6 * (4 - chunk.len()))).to_be_bytes();
            all[1..chunk.len()].to_vec()
        })
        .collect()
}

fn inflate(packed: &[u8], length: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length as usize + 64);
    Decompress::new(true).decompress_vec(packed, &mut bytes, FlushDecompress::Finish).unwrap();
    assert_eq!(bytes.len() as u64, length);
    bytes
}

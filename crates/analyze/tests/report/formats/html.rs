//! The page without a browser: figures against the JSON report, names that try to be markup, the policy, the data read
//! back. What scripts make of it is tested in a browser (`tests/page`).

use std::collections::{BTreeMap, BTreeSet};

use flate2::{Decompress, FlushDecompress};
use serde_json::Value;
use stepscope_analyze::Summary;
use stepscope_analyze::summary::{ValuePoint, ValueSeries};

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

#[test]
fn steps_are_counted_by_their_own_times() {
    // The slowest 2 of 100 take a thousand times as long, so the 99th percentile is far beyond the median.
    let mut durations = vec![10 * MS; 60];
    durations.extend([30 * MS; 38]);
    durations.extend([10_000 * MS; 2]);
    let page = page(&Run::with_durations(durations).build());
    let part = between(&page, "<section id=\"distribution\"", "</section>");
    let figures = figures(part);
    let counts = figures.iter().filter(|(place, _)| place.ends_with("/count")).map(|(_, value)| *value);
    assert_eq!(counts.collect::<Vec<_>>(), ["60", "38", "2"]);
    // Where the script finds its marks.
    for quantile in ["p50", "p95", "p99"] {
        assert_eq!(part.matches(&format!("data-at=\"summary/step_time/{quantile}\"")).count(), 1);
    }
}

#[test]
fn every_finding_links_to_a_part_of_the_page() {
    let summary = full();
    let page = page(&summary);
    let links: Vec<&str> =
        page.split("class=\"see\" href=\"#").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    assert_eq!(links.len(), report_of(&summary).findings.len());
    for link in links {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
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
        assert_eq!(values["more"], name.replace(breaks, "\u{fffd}"));
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

/// The bytes of the columns of a page by name, and its steps with their spans.
fn data(page: &str) -> (BTreeMap<String, Vec<u8>>, Value) {
    let header: Value = serde_json::from_str(between(page, "id=\"data\">", "</script>")).unwrap();
    let bytes = inflate(&decoded(header["stream"].as_str().unwrap()));
    let (columns, steps) = bytes.split_at(header["bytes"].as_u64().unwrap() as usize);
    let mut rest = columns;
    let mut by_name = BTreeMap::new();
    for column in header["columns"].as_array().unwrap() {
        let rows = column["rows"].as_u64().unwrap() as usize;
        let length = match column["kind"].as_str().unwrap() {
            "floats" => 4 * rows,
            // The last byte of each number is below 128.
            _ => rest.iter().enumerate().filter(|(_, byte)| **byte < 128).nth(rows - 1).unwrap().0 + 1,
        };
        let (its, others) = rest.split_at(length);
        by_name.insert(column["name"].as_str().unwrap().to_owned(), its.to_vec());
        rest = others;
    }
    assert!(rest.is_empty());
    (by_name, serde_json::from_slice(steps).unwrap())
}

/// Whole numbers of a column: differences in zigzag, one more than they are.
fn whole(bytes: &[u8]) -> Vec<Option<i64>> {
    let mut before = 0_i64;
    let number = |number: &[u8]| {
        let coded =
            number.iter().rev().fold(0_u64, |all, byte| all << 7 | u64::from(byte & 0x7f)).checked_sub(1)?;
        before += (coded >> 1) as i64 ^ -((coded & 1) as i64);
        Some(before)
    };
    bytes.split_inclusive(|byte| *byte < 128).map(number).collect()
}

#[test]
fn the_data_are_those_of_the_json_report() {
    let mut summary = full();
    // A script holds twice a difference, and one more, below 2^53. A step number is a place, and stays the last one there is.
    summary.series[0].points[0].wait_ns = 1 << 52;
    let last = summary.series[0].points.len() - 1;
    summary.series[0].points[last].step = u64::MAX;
    let page = page(&summary);
    let json = json_of(&report_of(&summary));
    let (columns, behind) = data(&page);
    let steps = &behind["examples"];
    assert_eq!(whole(&columns["sampled_step"]), [Some(49), Some(99)]);
    assert_eq!(whole(&columns["sampled_0"]), [Some(1_000_000), Some(3_000_000)]);
    let calls = ["outside of sections", "trainer+0x20", "step/lookup", "CacheMap::insert (src/cache.rs:88)"];
    let names = behind["live"]["names"].as_array().unwrap();
    let told: Vec<Vec<&str>> = behind["live"]["stacks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stack| {
            stack.as_array().unwrap()[1..]
                .iter()
                .map(|at| names[at.as_u64().unwrap() as usize].as_str().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(told, [&calls[2..], &calls[..2]]);
    let points = json["detailed_metrics"]["series"][0]["points"].as_array().unwrap();
    let places = [
        ("steps_count", "/count"),
        ("steps_sum", "/duration_sum_ns"),
        ("steps_min", "/duration_min_ns"),
        ("steps_max", "/duration_max_ns"),
        ("steps_wait", "/wait_ns"),
        ("live_mean", "/live_bytes/mean"),
        ("live_max", "/live_bytes/max"),
        ("rss_min", "/rss_bytes/min"),
    ];
    for (name, place) in places {
        let value =
            |point: &Value| point.pointer(place).and_then(Value::as_i64).filter(|value| *value < 1 << 51);
        assert_eq!(whole(&columns[name]), points.iter().map(value).collect::<Vec<_>>(), "{name}");
    }
    assert_eq!(whole(&columns["steps_step"])[last], Some((1 << 51) - 1));
    // From below: all, all others, the smaller section first.
    assert_eq!(whole(&columns["held_0"]), [Some(980_300), Some(8_930_038)]);
    assert_eq!(whole(&columns["held_2"]), [Some(-20_000), Some(-70_003)]);
    assert_eq!(whole(&columns["phases_none"]), [Some(199_984), Some(199_985)]);
    assert_eq!(columns["value-0_mean"], [0, 0, 0, 63]);
    let examples = json["exemplars"].as_array().unwrap();
    assert_eq!(steps.as_array().unwrap().len(), examples.len());
    for (at, example) in examples.iter().enumerate() {
        assert_eq!(steps[at]["critical_path"], example["critical_path"]);
        for (n, span) in example["spans"].as_array().unwrap().iter().enumerate() {
            for name in
                ["name", "phase", "lane", "offset_ns", "duration_ns", "critical_ns", "batch", "running"]
            {
                assert_eq!(steps[at]["spans"][n][name], span[name], "{name} of {n}");
            }
        }
        let rows = [0, 1, 1, 0].map(Value::from);
        assert_eq!([0, 1, 2, 3].map(|n| steps[at]["spans"][n]["row"].clone()), rows);
    }
}

#[test]
fn a_step_is_told_without_scripts() {
    let page = page(&full());
    let rows = between(&page, "<details id=\"waterfall-rows\">", "</details>");
    assert_eq!(rows.matches("<tr data-at=\"exemplars/1/spans/").count(), 4);
    let figures = figures(rows);
    let has = |place: &str, value: &str| figures.iter().any(|figure| *figure == (place.to_owned(), value));
    // The median one is the second.
    assert!(has("exemplars/1/spans/3/offset_ns", "-20"), "{figures:?}");
    assert!(has("exemplars/1/spans/1/batch/produce_ns", "3000001"), "{figures:?}");
    let kept = between(&page, "<caption>Steps that were kept", "</table>");
    assert!(kept.contains("000000000000000000000000000004d2") && kept.contains("train, median"), "{kept}");
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

fn inflate(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 << 20);
    Decompress::new(true).decompress_vec(packed, &mut bytes, FlushDecompress::Finish).unwrap();
    bytes
}

#[test]
fn sections_beyond_the_document_are_in_the_data() {
    let mut summary = full();
    let template = summary.sections[0].clone();
    summary.sections = (0..600)
        .map(|at| {
            let mut row = template.clone();
            row.path = format!("step/section number {at:03}");
            // Longest first, with ties.
            row.stats.total = 1_000_000 - at / 2;
            row.self_ns = (at % 3 > 0).then_some(at);
            row
        })
        .collect();
    let page = page(&summary);
    let json = json_of(&report_of(&summary));
    let header: Value = serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
    let rest = header["sections"].as_array().unwrap();
    assert_eq!((page.matches(" data-kind=\"").count(), rest.len()), (120, 480));
    for (at, row) in (120..).zip(rest) {
        let section = &json["sections"][at];
        let own = if section["self_ns"].is_null() { "self_busy_ns" } else { "self_ns" };
        assert_eq!((&row[0], &row[1], &row[4]), (&Value::from(at), &section["path"], &Value::from(own)));
        for (name, value) in [("count", 0), ("total", 1), (own, 2), ("p50", 3), ("cv", 6), ("errors", 9)] {
            assert_eq!(section[name], row[5][value], "{name} of {at}");
        }
    }
    let data = between(&page, "id=\"data\">", "</script>").len();
    assert!(page.len() - data < 400_000, "{} bytes", page.len() - data);
}

/// Numbers that nothing compresses.
struct Noise(u64);

impl Noise {
    fn below(&mut self, size: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % size
    }
}

/// A run of 131,072 steps, two in a point, whose times and memory scatter.
pub(super) fn long() -> Summary {
    let mut summary = full();
    let mut noise = Noise(1);
    let points = &mut summary.series[0].points;
    let template = points[1];
    *points = (0..65_536_u64)
        .map(|at| {
            let low = 19_000_000 + noise.below(1_000_000);
            let high = low + noise.below(1_000_000);
            let mut point = template;
            point.step = at * 2;
            point.duration_min_ns = low;
            point.duration_max_ns = high;
            point.duration_sum_ns = low + high;
            point.wait_ns = noise.below(1_000_000);
            point
        })
        .collect();
    summary
}

#[test]
fn hundreds_of_thousands_of_steps_fit() {
    let size = page(&long()).len();
    assert!(size < 3_000_000, "{size} bytes");
}

#[test]
fn many_values_of_many_steps_fit() {
    let mut summary = long();
    let mut noise = Noise(2);
    let template = summary.values[0].clone();
    let points = |noise: &mut Noise| -> Vec<ValuePoint> {
        let point = |at: u64| {
            let [min, mean, max, last] =
                [0, 1, 2, 3].map(|from| (noise.below(1 << 30) + (from << 30)) as f64);
            ValuePoint { step: at * 2, count: 2, mean, min, max, last }
        };
        (0..65_536).map(point).collect()
    };
    summary.values = (0..8)
        .map(|at| ValueSeries {
            name: format!("v{at}"),
            shift: 1,
            points: points(&mut noise),
            ..template.clone()
        })
        .collect();
    let page = page(&summary);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let header: Value = serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
    let plots = header["plots"].as_array().unwrap();
    let of_value = plots.iter().filter(|plot| plot["id"].as_str().unwrap().starts_with("value-"));
    assert_eq!(of_value.map(|plot| plot["steps_per_point"].as_u64().unwrap()).collect::<Vec<_>>(), [16; 8]);
    // One value alone has them all.
    summary.values.truncate(1);
    let page = self::page(&summary);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(page.contains("\"id\":\"value-0\",\"more\":\"v0\",\"steps_per_point\":2"), "another width");
}

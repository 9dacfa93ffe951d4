//! What must hold of every recording, whatever the program did: identities, completeness of traces, sums that
//! agree with the spans, and accounts that balance.

use std::collections::{BTreeMap, HashMap, HashSet};

use stepscope_core::{attr, metric};

use super::recording::{Data, Recording, Span};

/// Deeper sections share one path, as the contract has it.
const MAX_DEPTH: usize = 64;

fn escape(name: &str) -> String {
    name.replace('\\', "\\\\").replace('/', "\\/")
}

/// The call path of each span by its id, and whether its time is already inside of its parent's.
pub(crate) fn paths(recording: &Recording) -> HashMap<u64, (Vec<String>, bool)> {
    fn path(
        span: &Span,
        spans: &HashMap<u64, &Span>,
        known: &mut HashMap<u64, (Vec<String>, bool)>,
    ) -> (Vec<String>, bool) {
        if let Some(found) = known.get(&span.id) {
            return found.clone();
        }
        let mut names = match (span.parent, span.text(attr::PARENT_PATH)) {
            (Some(parent), None) => path(spans[&parent], spans, known).0,
            (None, Some(text)) => text.split('/').map(str::to_owned).collect(),
            (None, None) => Vec::new(),
            (Some(_), Some(_)) => panic!("{span:?} both has a parent and continues a trace"),
        };
        let collapsed = names.len() > MAX_DEPTH;
        if names.len() == MAX_DEPTH {
            names.push("…".to_owned());
        } else if !collapsed {
            names.push(escape(&span.name));
        }
        known.insert(span.id, (names.clone(), collapsed));
        (names, collapsed)
    }
    let (spans, mut known) = (recording.by_id(), HashMap::new());
    for span in &recording.spans {
        path(span, &spans, &mut known);
    }
    known
}

/// Span ids are unique, parents are there, each trace has one root that knows how many spans there are and
/// is linked to the run, times are in order.
#[track_caller]
pub(crate) fn traces(recording: &Recording) {
    let spans = recording.by_id();
    assert_eq!(spans.len(), recording.spans.len(), "span ids repeat");
    let run = recording.only("run");
    let mut ids = HashSet::new();
    // By trace: how many continue it, as its root says, and those that say so.
    let (mut said, mut counted) = (BTreeMap::new(), BTreeMap::<_, i64>::new());
    for (trace, members) in recording.traces() {
        let roots: Vec<&&Span> = members.iter().filter(|span| span.is_root()).collect();
        // A trace that continues another one has several roots, of which one announces.
        let is_continued = |root: &&&Span| root.text(attr::PARENT_PATH).is_some();
        assert!(roots.len() == 1 || roots.iter().all(is_continued), "{trace:?}: {roots:?}");
        let announcing: Vec<&&Span> =
            roots.iter().copied().filter(|root| root.int(attr::TRACE_SPANS).is_some()).collect();
        assert_eq!(announcing.len(), 1, "{trace:?}: {announcing:?}");
        let root = announcing[0];
        assert!(ids.insert(trace));
        assert_eq!(root.int(attr::TRACE_SPANS), Some(members.len() as i64), "{root:?}");
        assert_eq!(root.int(attr::TRACE_DROPPED), Some(0), "{root:?}");
        assert!(members.len() <= 10_000, "{}", members.len());
        if let Some(parts) = root.int(attr::TRACE_PARTS) {
            said.insert(trace, parts);
            let kind = root.text(attr::SECTION_KIND);
            let is_beside = root.attributes.contains_key(attr::STEP_DEEP) && kind != Some("step");
            if is_continued(&root) || is_beside {
                let &(continued, of) = root.links.iter().rev().nth(1).unwrap();
                assert_eq!(spans[&of].trace, continued, "{root:?}");
                *counted.entry(continued).or_default() += 1;
            }
        }
        if root.id != run.id {
            assert!(root.links.contains(&(run.trace, run.id)), "{root:?}");
        }
        for span in members {
            assert!(span.end_ns >= span.start_ns);
            assert!(span.start_ns >= run.start_ns);
            if let Some(parent) = span.parent {
                assert_eq!(spans[&parent].trace, trace);
                assert!(span.start_ns >= spans[&parent].start_ns, "{span:?}");
                assert_eq!(span.int(attr::TRACE_SPANS), None);
            }
            if let (Some(busy), Some(idle)) = (span.int(attr::BUSY_NS), span.int(attr::IDLE_NS)) {
                assert_eq!((busy + idle) as u64, span.duration_ns(), "{span:?}");
            }
        }
    }
    said.retain(|_, parts| *parts > 0);
    assert_eq!(said, counted);
}

/// The spans that a section left: all but the marks of starts, which are no sections.
fn is_section(span: &Span) -> bool {
    !matches!(span.name.as_str(), "run.started" | "epoch.started")
}

/// Index of the bucket of an exponential histogram of scale 6, by its definition: the index `i` with
/// `2^(i/64) < value <= 2^((i+1)/64)`. In exact integers: the comparison of 64th powers needs 4,096 bits.
fn bucket(value: u64) -> i32 {
    let guess = ((value as f64).log2() * 64.0).ceil() as i32 - 1;
    // The logarithm may be off by one in the last place; the bounds decide.
    (guess - 1..=guess + 1).find(|&index| above(value, index) && !above(value, index + 1)).unwrap()
}

/// Whether `value^64 > 2^index`.
fn above(value: u64, index: i32) -> bool {
    if index < 0 {
        return true;
    }
    let mut power = vec![1u32];
    for _ in 0..64 {
        let mut carry = 0u128;
        for digit in &mut power {
            carry += u128::from(*digit) * u128::from(value);
            *digit = carry as u32;
            carry >>= 32;
        }
        while carry > 0 {
            power.push(carry as u32);
            carry >>= 32;
        }
    }
    // power > 2^index: more bits than index + 1, or as many and not the power of two itself.
    let bits = power.len() as i32 * 32 - power.last().unwrap().leading_zeros() as i32;
    let is_power_of_two = power.iter().map(|digit| digit.count_ones()).sum::<u32>() == 1;
    bits > index + 1 || (bits == index + 1 && !is_power_of_two)
}

#[derive(Debug, Default, PartialEq)]
struct Expected {
    count: i64,
    total: i64,
    squares: u128,
    min: i64,
    max: i64,
    buckets: BTreeMap<i32, u64>,
    zeros: u64,
}

type Column = fn(&Expected) -> i64;

/// The aggregates of every path are the sums over its spans. For recordings without any loss.
#[track_caller]
pub(crate) fn aggregates(recording: &Recording) {
    let paths = paths(recording);
    let mut expected: BTreeMap<String, Expected> = BTreeMap::new();
    let mut buckets = HashMap::new();
    for span in recording.spans.iter().filter(|span| is_section(span)) {
        let (names, collapsed) = &paths[&span.id];
        if *collapsed {
            // A part of the section around it, which has the same path.
            continue;
        }
        let sums = expected.entry(names.join("/")).or_default();
        let duration = span.duration_ns();
        let signed = duration as i64;
        sums.min = if sums.count == 0 { signed } else { sums.min.min(signed) };
        sums.max = sums.max.max(signed);
        sums.count += 1;
        sums.total += signed;
        sums.squares += u128::from(duration) * u128::from(duration);
        if duration == 0 {
            sums.zeros += 1;
        } else {
            let index = *buckets.entry(duration).or_insert_with(|| bucket(duration));
            *sums.buckets.entry(index).or_default() += 1;
        }
    }
    let columns: [(&str, Column); 6] = [
        (metric::SECTION_COUNT, |sums| sums.count),
        (metric::SECTION_TOTAL, |sums| sums.total),
        (metric::SECTION_MIN, |sums| sums.min),
        (metric::SECTION_MAX, |sums| sums.max),
        (metric::SECTION_SQUARES_LOW, |sums| (sums.squares % (1 << 63)) as i64),
        (metric::SECTION_SQUARES_HIGH, |sums| (sums.squares >> 63) as i64),
    ];
    for (name, column) in columns {
        let column: BTreeMap<String, i64> =
            expected.iter().map(|(path, sums)| (path.clone(), column(sums))).collect();
        assert_eq!(recording.by_path(name), column, "{name}");
    }
    let mut seen = 0;
    for (attributes, data) in recording.points(metric::SECTION_DURATION) {
        let sums = &expected[&attributes[attr::PATH]];
        let Data::Histogram { count, zeros, min, max, scale, buckets } = data else { panic!("{data:?}") };
        assert_eq!((*scale, *zeros, *count), (6, sums.zeros, sums.count as u64));
        assert_eq!((*min, *max), (sums.min as f64, sums.max as f64));
        assert_eq!(*buckets, sums.buckets, "{attributes:?}");
        seen += 1;
    }
    assert_eq!(seen, expected.len());
}

/// Every emitted span was exported by `sink` or is counted as lost.
#[track_caller]
pub(crate) fn account(recording: &Recording, sink: &str) {
    let (exported, dropped) = (recording.exported(sink), recording.all_dropped(sink));
    let points: Vec<_> = recording.points(metric::SPANS_DROPPED).collect();
    assert_eq!(recording.emitted(), exported + dropped, "{sink}: {exported} exported; {points:?}");
}

/// Everything at once, for a recording in a directory without any loss.
#[track_caller]
pub(crate) fn all(recording: &Recording) {
    traces(recording);
    aggregates(recording);
    account(recording, "directory");
    assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
    assert_eq!(recording.all_dropped("directory"), 0);
}

#[test]
fn buckets_by_definition() {
    // 2^(64/64) = 2 is the inclusive upper end of bucket 63; 2^(1/64) = 1.0109 is that of bucket 0.
    assert_eq!((bucket(1), bucket(2), bucket(3)), (-1, 63, 101));
    assert_eq!((bucket(1 << 40), bucket((1 << 40) + 1)), (40 * 64 - 1, 40 * 64));
}

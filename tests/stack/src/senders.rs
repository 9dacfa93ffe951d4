//! Steps that are made up, and senders that remember what was acknowledged: for tests in which single spans are followed
//! through several programs. Programs with the layer are not here: what they know is a number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http;
use crate::program::LIMIT;

/// Sections inside of each step, and their phases.
const CHILDREN: [(&str, &str); 4] =
    [("load", "data_load"), ("forward", "forward"), ("backward", "backward"), ("update", "optimizer")];

/// Spans of each step.
pub const SPANS: usize = CHILDREN.len() + 1;

/// Steps whose spans share a request, at most.
const TOGETHER: usize = 20;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a step takes that is not slow, in milliseconds.
pub const USUAL_MS: u64 = 3;
/// How long a slow step takes, in milliseconds.
pub const SLOW_MS: u64 = 250;

/// A step of one of several ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Of the process.
    pub rank: u64,
    /// Of the step.
    pub number: u64,
}

impl Step {
    /// The steps of `ranks` processes, `total` in all.
    #[must_use]
    pub fn of_ranks(ranks: u64, total: u64) -> Vec<Self> {
        (0..total).map(|index| Self { rank: index % ranks, number: index / ranks }).collect()
    }

    /// Identity of its trace. The last 56 bits are those of this step on any rank.
    #[must_use]
    pub fn trace(self) -> String {
        let random = stepscope_core::identity::mix(self.number) >> 8;
        format!("{:010x}{:08x}{random:014x}", self.rank + 1, self.number + 1)
    }

    /// Whether it takes long; some of all do, on each rank others.
    #[must_use]
    pub fn is_slow(self) -> bool {
        (self.number + 31 * self.rank) % 97 == 50
    }

    /// Why the sampler's configuration keeps its trace; `None` if it does not.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        // A twentieth of all numbers with 56 bits, to three digits.
        let random = u64::from_str_radix(&self.trace()[18..], 16).unwrap_or_default();
        match self {
            _ if self.is_slow() => Some("slow"),
            _ if self.number <= 20 => Some("first step"),
            _ if random >= 0xf33 << 44 => Some("one in twenty"),
            _ => None,
        }
    }

    /// Identities of its spans, the root's first.
    #[must_use]
    pub fn spans(self) -> [String; SPANS] {
        std::array::from_fn(|place| format!("{:06x}{:08x}{place:02x}", self.rank + 1, self.number + 1))
    }

    fn span(self, place: usize) -> Value {
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let spans = self.spans();
        let length = 1_000_000 * if self.is_slow() { SLOW_MS } else { USUAL_MS };
        let start = 1_700_000_000_000_000_000 + self.number * 1_000_000_000;
        let (start, length, name, attributes) =
            match place.checked_sub(1).and_then(|child| CHILDREN.get(child)) {
                None => {
                    let number =
                        json!({"key": "stepscope.step", "value": {"intValue": self.number.to_string()}});
                    (start, length, "step", vec![text("stepscope.section.kind", "step"), number])
                }
                Some((name, phase)) => {
                    let part = length / SPANS as u64;
                    (start + part * place as u64, part, *name, vec![text("stepscope.phase", phase)])
                }
            };
        json!({
            "traceId": self.trace(), "spanId": spans[place], "name": name, "kind": 1,
            "parentSpanId": if place == 0 { "" } else { &spans[0] },
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + length).to_string(),
            "attributes": attributes,
        })
    }
}

/// What is common to senders, and to who watches them.
#[derive(Debug, Default)]
pub struct Progress {
    acknowledged: AtomicU64,
    is_open: AtomicBool,
    is_over: AtomicBool,
}

impl Progress {
    /// Steps of which the last span is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Lets senders go on behind the middle of what they have to send, where they wait for this.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
    }

    /// Tells senders that what happens to the programs has happened: what they begin from now on is another matter.
    pub fn note(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// Sends all spans of `steps`, by one sender a rank, each request until it is acknowledged; what is acknowledged is never
/// sent again. A step's root follows in the next request, as a layer would send it. Which steps were begun after
/// [`Progress::note`] is the result.
///
/// # Errors
/// When a request is never taken.
pub fn send(address: &str, steps: &[Step], progress: &Progress) -> Result<BTreeSet<Step>, String> {
    let mut ranks = BTreeMap::<u64, Vec<Step>>::new();
    for step in steps {
        ranks.entry(step.rank).or_default().push(*step);
    }
    std::thread::scope(|scope| {
        let begun: Vec<_> =
            ranks.values().map(|steps| scope.spawn(move || send_rank(address, steps, progress))).collect();
        let mut late = BTreeSet::new();
        for sender in begun {
            late.extend(sender.join().map_err(|_| "a sender panicked".to_owned())??);
        }
        Ok(late)
    })
}

fn send_rank(address: &str, steps: &[Step], progress: &Progress) -> Result<Vec<Step>, String> {
    let mut late = Vec::new();
    let mut before: &[Step] = &[];
    // One more request than groups: for the roots of the last one.
    for (index, group) in steps.chunks(TOGETHER).chain([&[][..]]).enumerate() {
        while 2 * index * TOGETHER > steps.len() && !progress.is_open.load(Ordering::SeqCst) {
            std::thread::sleep(PAUSE);
        }
        if progress.is_over.load(Ordering::SeqCst) {
            late.extend(group);
        }
        let roots = before.iter().map(|step| step.span(0));
        let others = group.iter().flat_map(|step| (1..SPANS).map(|place| step.span(place)));
        let spans: Vec<Value> = roots.chain(others).collect();
        let rank = steps.first().map_or(0, |step| step.rank);
        deliver(address, &message(rank, &spans))?;
        progress.acknowledged.fetch_add(before.len() as u64, Ordering::SeqCst);
        before = group;
    }
    Ok(late)
}

fn message(rank: u64, spans: &[Value]) -> String {
    let resource = json!({"attributes": [
        {"key": "service.name", "value": {"stringValue": "made-up"}},
        {"key": "stepscope.run.id", "value": {"stringValue": "gateway"}},
        {"key": "stepscope.rank", "value": {"intValue": rank.to_string()}},
    ]});
    let scopes = json!([{"scope": {"name": "stepscope"}, "spans": spans}]);
    json!({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}).to_string()
}

fn deliver(address: &str, message: &str) -> Result<(), String> {
    let deadline = Instant::now() + LIMIT;
    loop {
        match http::post(address, "/v1/traces", message) {
            Ok(_) => return Ok(()),
            Err(problem) if Instant::now() > deadline => return Err(problem),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_identities_of_their_own_and_reasons_of_every_kind() {
        let steps = Step::of_ranks(3, 10_000);
        let traces: BTreeSet<String> = steps.iter().map(|step| step.trace()).collect();
        let spans: BTreeSet<String> = steps.iter().flat_map(|step| step.spans()).collect();
        assert_eq!((traces.len(), spans.len()), (10_000, 10_000 * SPANS));
        assert!(traces.iter().all(|id| id.len() == 32) && spans.iter().all(|id| id.len() == 16));
        let with = |reason| steps.iter().filter(|step| step.reason() == reason).count();
        let early = steps.iter().filter(|step| step.number <= 20 && step.is_slow()).count();
        assert_eq!(with(Some("first step")) + early, 3 * 21);
        assert!((95..=110).contains(&with(Some("slow"))), "{}", with(Some("slow")));
        assert!((400..=600).contains(&with(Some("one in twenty"))), "{}", with(Some("one in twenty")));
    }

    #[test]
    fn a_step_lasts_as_long_as_is_said() {
        let slow = Step::of_ranks(1, 60).into_iter().find(|step| step.is_slow()).unwrap();
        let length = |span: &Value, field: &str| span[field].as_str().unwrap().parse::<u64>().unwrap();
        let root = slow.span(0);
        let lasted = length(&root, "endTimeUnixNano") - length(&root, "startTimeUnixNano");
        assert_eq!(lasted, SLOW_MS * 1_000_000);
        assert!((1..SPANS).all(|place| slow.span(place)["parentSpanId"] == root["spanId"]));
    }
}

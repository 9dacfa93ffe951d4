//! What the figures of runs that the layer recorded have to reach, and the memory of all: the bench fails below. What a processor second is worth differs between machines, so that
//! times are held against those of the peers, and of two analyses side by side, in the same rounds.

use crate::input::{Input, Made};
use crate::rounds::{Kind, Row};

/// Smaller inputs are too soon over for their times to be held: the end of an analysis weighs too much.
const LEAST_SPANS: u64 = 5_000_000;

/// How many times the CPU time of the whole analysis a library takes that only decodes.
const PEERS: [(&str, f64); 2] = [("prost", 2.5), ("serde_json", 4.0 / 3.0)];

/// How many times as fast two threads are.
const TWO_THREADS: f64 = 1.8;

/// The same as a share of what two analyses side by side do, where the machine does not let these be so much faster.
const OF_SIDE_BY_SIDE: f64 = 0.95;

/// Resident memory of any analysis.
const MOST_BYTES: u64 = 150_000_000;

/// What one input does not reach.
pub(crate) fn missed(input: &Input, file: &Made, rows: &[Row]) -> Vec<String> {
    let mut missed = Vec::new();
    let mut hold = |is_reached: bool, what: String| {
        if !is_reached {
            missed.push(format!("{}: {what}", input.about()));
        }
    };
    for row in rows.iter().filter(|row| matches!(row.kind, Kind::One | Kind::Two)) {
        let peak_bytes = row.peak_bytes();
        hold(
            peak_bytes <= MOST_BYTES,
            format!("{} takes {} MB of {} MB", row.about, peak_bytes / 1_000_000, MOST_BYTES / 1_000_000),
        );
    }
    if !input.is_held {
        return missed;
    }
    if file.spans < LEAST_SPANS {
        println!("- so few spans are held to no times");
        return missed;
    }
    let find = |kind| rows.iter().find(|row| row.kind == kind);
    let (Some(one), Some(two), Some(apart)) = (find(Kind::One), find(Kind::Two), find(Kind::Apart)) else {
        hold(false, "not all of it was measured".to_owned());
        return missed;
    };
    for (name, least) in PEERS {
        if let Some([_, times, _]) = find(Kind::Peer(name)).and_then(|peer| peer.times(one, |run| run.cpu)) {
            hold(times >= least, format!("{name} takes {times:.2} times the CPU time, not {least:.2}"));
        }
    }
    if let (Some([_, times, _]), Some([_, half, _])) =
        (one.times(two, |run| run.wall), one.times(apart, |run| run.wall))
    {
        let least = TWO_THREADS.min(2.0 * half * OF_SIDE_BY_SIDE);
        hold(times >= least, format!("two threads are {times:.2} times as fast as one, not {least:.2}"));
    }
    missed
}

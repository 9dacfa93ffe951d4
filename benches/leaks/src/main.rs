//! Precision, recall, F1 and false-positive rate of the leak detector on labelled series, with Mann–Kendall's test beside it
//! on the same ones. What the detector does is in `crates/analyze/src/memory/detector`.

#[path = "../../../crates/analyze/src/memory/detector/mod.rs"]
#[expect(dead_code, reason = "the detector has more callers than this bench")]
mod detector;
mod judging;
mod mann_kendall;
mod random;
mod shape;
mod tuning;

use std::process::ExitCode;

use detector::{Memory, Verdict};
use shape::{Family, series};

/// Series of a family, where nothing else is said.
const SEEDS: u64 = 40;

/// What was said of series that leak and of those that do not.
#[derive(Default, Clone, Copy)]
struct Score {
    leaks: u32,
    healthy: u32,
    hits: u32,
    false_alarms: u32,
}

impl Score {
    fn add(&mut self, leaks: bool, said: bool) {
        self.leaks += u32::from(leaks);
        self.healthy += u32::from(!leaks);
        self.hits += u32::from(leaks && said);
        self.false_alarms += u32::from(!leaks && said);
    }

    fn line(&self, name: &str) -> String {
        let (hits, alarms) = (f64::from(self.hits), f64::from(self.false_alarms));
        let precision = hits / (hits + alarms).max(1.0);
        let recall = hits / f64::from(self.leaks.max(1));
        let both = 2.0 * precision * recall / (precision + recall).max(1e-9);
        let rate = alarms / f64::from(self.healthy.max(1));
        format!("{name:<34} precision {precision:.3} recall {recall:.3} F1 {both:.3} false-positive rate {rate:.3}")
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let families = match (has("tuning"), has("judging")) {
        (true, false) => tuning::FAMILIES,
        (false, true) => judging::FAMILIES,
        _ => {
            eprintln!("usage: leaks-bench tuning|judging [rss] [SEEDS]");
            return ExitCode::from(2);
        }
    };
    let seeds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(SEEDS);
    let (mut ours, mut peer) = (Score::default(), Score::default());
    for family in families {
        let (own, other) = of_family(family, seeds, has("judging"), has("rss"), &mut [&mut ours, &mut peer]);
        println!("{own}   {other}");
    }
    println!("\n{}\n{}", ours.line("stepscope"), peer.line("Mann-Kendall (Hamed-Rao)"));
    ExitCode::SUCCESS
}

/// A family's lines: how often either says that it leaks, and our verdicts.
fn of_family(family: &Family, seeds: u64, judging: bool, rss: bool, all: &mut [&mut Score; 2]) -> (String, String) {
    let mut said = [0u32; 7];
    let mut peers = 0;
    for seed in 0..seeds {
        let case = series(family, seed + 1, judging, rss);
        let memory = if rss {
            Memory { rss: &case.points, ..Memory::default() }
        } else {
            Memory { live: &case.points, ..Memory::default() }
        };
        let verdict = detector::judge(&memory).verdict;
        said[verdict as usize] += 1;
        all[0].add(case.leaks, verdict == Verdict::Leak);
        let peer = mann_kendall::rises(&case.points);
        peers += u32::from(peer);
        all[1].add(case.leaks, peer);
    }
    let label = if family.leaks { "leaks" } else { "healthy" };
    let verdicts = ["leak", "decelerating", "full", "stopped", "fragmentation", "none", "undecided"];
    let list: Vec<String> =
        verdicts.iter().zip(said).filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}")).collect();
    (format!("{label:<8}{:<30} {:>3}/{seeds}", family.name, said[0]), format!("peer {peers:>3}   {}", list.join(", ")))
}

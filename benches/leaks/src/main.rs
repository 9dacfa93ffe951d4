//! Precision, recall, F1 and false-positive rate of the leak detector on labelled series, with Mann–Kendall's test beside it
//! on the same ones. What the detector does is in `crates/analyze/src/memory/detector`.

mod counted;
#[path = "../../../crates/analyze/src/memory/detector/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the detector has more callers than this bench")]
mod detector;
mod judging;
mod mann_kendall;
mod programs;
mod random;
mod shape;
mod tuning;

use std::process::ExitCode;

use detector::{Memory, Verdict};
use random::Random;
use shape::{Family, series};

/// Series of a family, where nothing else is said.
const SEEDS: u64 = 40;

/// Runs of a program, where nothing else is said.
const RUNS: u64 = 7;

/// How far a rate may be from the truth, as a part of it.
const NEAR: f64 = 0.2;

/// What was said of series that leak and of those that do not.
#[derive(Default, Clone, Copy)]
struct Score {
    leaks: u32,
    healthy: u32,
    hits: u32,
    false_alarms: u32,
}

/// How near rates come to the truth.
#[derive(Default)]
struct Rates {
    seen: u32,
    near: u32,
    inside: u32,
}

impl Rates {
    fn add(&mut self, judged: &detector::Judgment, rate: f64) {
        self.seen += 1;
        self.near += u32::from((judged.bytes_per_step - rate).abs() <= NEAR * rate);
        self.inside += u32::from(judged.interval.0 <= rate && rate <= judged.interval.1);
    }

    fn sum(&mut self, other: &Self) {
        self.seen += other.seen;
        self.near += other.near;
        self.inside += other.inside;
    }

    fn words(&self) -> String {
        if self.seen == 0 { String::new() } else { format!("   inside {}/{}", self.inside, self.seen) }
    }
}

/// How often what was undecided half-way is decided after so many more steps as were told.
#[derive(Default)]
struct Waits {
    told: u32,
    decided: u32,
}

impl Waits {
    fn add(&mut self, points: &[(u64, f64)], rss: bool) {
        let judge = |points: &[(u64, f64)]| {
            let gauges = if rss { (&[][..], points) } else { (points, &[][..]) };
            detector::judge(&Memory { live: gauges.0, rss: gauges.1, ..Memory::default() })
        };
        let half = &points[..points.len() / 2];
        let judged = judge(half);
        let Some((more, last)) = judged.more_steps.zip(half.last()) else { return };
        let until = points.partition_point(|point| point.0 <= last.0 + more);
        if until < points.len() {
            self.told += 1;
            self.decided += u32::from(judge(&points[..until]).verdict != Verdict::Undecided);
        }
    }

    fn sum(&mut self, other: &Self) {
        self.told += other.told;
        self.decided += other.decided;
    }
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
        format!(
            "{name:<34} precision {precision:.3} recall {recall:.3} F1 {both:.3} false-positive rate {rate:.3}"
        )
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    if let ["run", name, seed] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return run(name, seed.parse().unwrap_or(1));
    }
    if has("programs") {
        return programs(arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(RUNS));
    }
    let families = match (has("tuning"), has("judging")) {
        (true, false) => tuning::FAMILIES,
        (false, true) => judging::FAMILIES,
        _ => {
            eprintln!("usage: leaks-bench tuning|judging [rss] [SEEDS], or leaks-bench programs [RUNS]");
            return ExitCode::from(2);
        }
    };
    let seeds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(SEEDS);
    let (mut ours, mut peer) = (Score::default(), Score::default());
    let (mut rates, mut waits) = (Rates::default(), Waits::default());
    for family in families {
        let (own, other) = of_family(
            family,
            seeds,
            has("judging"),
            has("rss"),
            &mut [&mut ours, &mut peer],
            (&mut rates, &mut waits),
        );
        println!("{own}   {other}");
    }
    println!("\n{}\n{}", ours.line("stepscope"), peer.line("Mann-Kendall (Hamed-Rao)"));
    println!(
        "of {} lines that were seen: rate within {:.0} % of the truth {}, truth within the interval {}",
        rates.seen,
        NEAR * 100.0,
        rates.near,
        rates.inside
    );
    println!(
        "of {} runs that were undecided half-way: decided after so many more steps as were told {}",
        waits.told, waits.decided
    );
    ExitCode::SUCCESS
}

/// A family's lines: how often either says that it leaks, and our verdicts.
fn of_family(
    family: &Family,
    seeds: u64,
    judging: bool,
    rss: bool,
    all: &mut [&mut Score; 2],
    (rates, all_waits): (&mut Rates, &mut Waits),
) -> (String, String) {
    let mut said = [0u32; 7];
    let (mut of_family, mut waits) = (Rates::default(), Waits::default());
    let mut peers = 0;
    for seed in 0..seeds {
        let case = series(family, seed + 1, judging, rss);
        let memory = if rss {
            Memory { rss: &case.points, ..Memory::default() }
        } else {
            Memory { live: &case.points, ..Memory::default() }
        };
        let judged = detector::judge(&memory);
        let verdict = judged.verdict;
        if let (true, Some(rate)) = (judged.is_leak() && !rss, case.rate) {
            of_family.add(&judged, rate);
        }
        waits.add(&case.points, rss);
        said[verdict as usize] += 1;
        all[0].add(case.leaks, verdict == Verdict::Leak);
        let peer = mann_kendall::rises(&case.points);
        peers += u32::from(peer);
        all[1].add(case.leaks, peer);
    }
    rates.sum(&of_family);
    all_waits.sum(&waits);
    let label = if family.leaks { "leaks" } else { "healthy" };
    let verdicts = ["leak", "decelerating", "full", "stopped", "fragmentation", "none", "undecided"];
    let list: Vec<String> = verdicts
        .iter()
        .zip(said)
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    (
        format!("{label:<8}{:<30} {:>3}/{seeds}", family.name, said[0]),
        format!("peer {peers:>3}   {}{}", list.join(", "), of_family.words()),
    )
}

/// One run of a program: its truth, then step, live and resident bytes, a line each.
fn run(name: &str, seed: u64) -> ExitCode {
    let Some(program) = programs::PROGRAMS.iter().find(|program| program.name == name) else {
        eprintln!("no program is called '{name}'");
        return ExitCode::from(2);
    };
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x77);
    let steps = random.scale(40.0, 400.0) as usize;
    let (mut step, rate) = (program.start)(&mut random);
    let mut rows = Vec::with_capacity(steps);
    for at in 0..steps {
        step(at, at as f64 / steps as f64);
        rows.push((counted::live_bytes(), counted::rss_bytes().unwrap_or(0)));
    }
    println!("{}", rate.unwrap_or(0.0));
    rows.iter().enumerate().for_each(|(at, (live, rss))| println!("{at} {live} {rss}"));
    // Threads that wait for ever end with the process.
    std::process::exit(0)
}

/// Runs of all programs, judged by live and resident bytes as a report does, and by either alone.
fn programs(runs: u64) -> ExitCode {
    let (mut live_score, mut rss_score, mut near) = (Score::default(), Score::default(), 0);
    let mut both_score = Score::default();
    for program in programs::PROGRAMS {
        let (mut said, mut said_live, mut said_rss) = (0, 0, 0);
        for seed in 1..=runs {
            let Some((rate, live, rss)) = recorded(program.name, seed) else {
                eprintln!("failed to run '{}'", program.name);
                return ExitCode::FAILURE;
            };
            let judged = detector::judge(&Memory { live: &live, rss: &rss, ..Memory::default() });
            let by_live = detector::judge(&Memory { live: &live, ..Memory::default() });
            let alone = detector::judge(&Memory { rss: &rss, ..Memory::default() });
            said += u32::from(judged.is_leak());
            said_live += u32::from(by_live.is_leak());
            said_rss += u32::from(alone.is_leak());
            both_score.add(program.leaks, judged.is_leak());
            live_score.add(program.leaks, by_live.is_leak());
            rss_score.add(program.leaks, alone.is_leak());
            let is_near = (judged.bytes_per_step - rate).abs() <= NEAR * rate;
            near += u32::from(program.leaks && judged.is_leak() && is_near);
        }
        let label = if program.leaks { "leaks" } else { "healthy" };
        println!(
            "{label:<8}{:<26} both {said:>2}/{runs}   live {said_live:>2}/{runs}   resident {said_rss:>2}/{runs}",
            program.name
        );
    }
    println!(
        "\n{}\n{}\n{}",
        both_score.line("live and resident bytes"),
        live_score.line("live bytes alone"),
        rss_score.line("resident bytes alone")
    );
    println!("rate within {:.0} % of the truth: {near} of {}", NEAR * 100.0, both_score.leaks);
    ExitCode::SUCCESS
}

type Gauge = Vec<(u64, f64)>;

/// The truth of a run of its own process, and what it recorded.
fn recorded(name: &str, seed: u64) -> Option<(f64, Gauge, Gauge)> {
    let own = std::env::current_exe().ok()?;
    let output = std::process::Command::new(own).args(["run", name, &seed.to_string()]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut lines = text.lines();
    let rate = lines.next()?.parse().ok()?;
    let (mut live, mut rss) = (Vec::new(), Vec::new());
    for line in lines {
        let mut numbers = line.split(' ').filter_map(|number| number.parse::<u64>().ok());
        let step = numbers.next()?;
        live.push((step, numbers.next()? as f64));
        rss.push((step, numbers.next()? as f64));
    }
    Some((rate, live, rss))
}

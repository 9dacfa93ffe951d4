//! Gathers live memory when that is due: samples of the allocator by section, stack and age, the largest sums by themselves
//! and the rest in one. How samples are taken is in `stepscope-mem`, how sums are written in `export`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::hot::live_context;
use crate::os::memory::live::{self, MAX_FRAMES, Stack};
use crate::os::sys::{self, Module};
use crate::shared::live_memory::{LiveMemory, Row};

/// Rows of a publication, the rest not counted: of what is live, and of what was allocated.
pub(crate) const MAX_ROWS: usize = 256;
const MAX_ALLOCATED: usize = 128;

/// Published at least so often: a process that runs out of memory is killed without a word. In the first minutes after half of
/// the time so far, so that short runs have some, too.
const INTERVAL: Duration = Duration::from_secs(60);
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// And whenever so much more is live than at any time before, one part in so many and so many bytes, though not more often than
/// this. From 1 MiB to 1 TiB these are 145 times.
const PEAK_GROWTH: u64 = 10;
const PEAK_GROWTH_BYTES: u64 = 1 << 20;
/// Once more where that part of a peak is left.
const PEAK_FALL: u64 = 2;
const PEAK_INTERVAL: Duration = Duration::from_millis(50);

/// Decides when what is live is published, and gathers it.
#[derive(Debug)]
pub(crate) struct Taker {
    began: Instant,
    last: Instant,
    peak_bytes: u64,
    /// Whether what was taken last is the peak, whose end is worth knowing, too.
    is_at_peak: bool,
    is_asked: bool,
}

impl Taker {
    /// The first is due after a while: a run that has just begun has nothing to tell.
    pub(crate) fn new(now: Instant) -> Self {
        Self { began: now, last: now, peak_bytes: 0, is_at_peak: false, is_asked: false }
    }

    /// Somebody wants to know at once.
    pub(crate) fn ask(&mut self) {
        self.is_asked = true;
    }

    /// Whether it is time, with so many bytes live.
    pub(crate) fn is_due(&self, live_bytes: Option<u64>, now: Instant) -> bool {
        live::period_bytes() != 0 && self.is_time(live_bytes, now)
    }

    fn is_time(&self, live_bytes: Option<u64>, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last);
        let interval = (self.last.saturating_duration_since(self.began) / 2).clamp(FIRST_INTERVAL, INTERVAL);
        let has_fallen =
            self.is_at_peak && live_bytes.is_some_and(|bytes| bytes <= self.peak_bytes / PEAK_FALL);
        let is_told = self.is_peak(live_bytes) || has_fallen;
        self.is_asked || since >= interval || (since >= PEAK_INTERVAL && is_told)
    }

    fn is_peak(&self, live_bytes: Option<u64>) -> bool {
        let growth = (self.peak_bytes / PEAK_GROWTH).max(PEAK_GROWTH_BYTES);
        live_bytes.unwrap_or(0) > self.peak_bytes.saturating_add(growth)
    }

    /// Notes that it was taken.
    fn note(&mut self, live_bytes: Option<u64>, now: Instant) {
        self.last = now;
        self.is_at_peak = self.is_peak(live_bytes);
        self.peak_bytes = self.peak_bytes.max(live_bytes.unwrap_or(0));
    }

    /// What is live now; `None` where no samples are taken.
    pub(crate) fn take(&mut self, live_bytes: Option<u64>, now: Instant) -> Option<LiveMemory> {
        if live::period_bytes() == 0 {
            return None;
        }
        let steps = live_context::steps();
        self.note(live_bytes, now);
        let mut sums: HashMap<(u32, Option<Stack>, u64), (u64, u64)> = HashMap::new();
        live::samples(|sample| {
            let age = age_class(steps.saturating_sub(sample.context.step));
            let sum = sums.entry((sample.context.section, sample.stack, age)).or_default();
            sum.0 = sum.0.saturating_add(sample.weight_bytes);
            sum.1 = sum.1.saturating_add(blocks(sample.weight_bytes, sample.size_bytes));
        });
        let rows = sums.into_iter().map(|((path, stack, age), (bytes, blocks))| Row {
            path: path.checked_sub(1),
            stack: stack.map(Stack::number),
            age_steps: Some(age),
            bytes,
            blocks,
        });
        let rows = largest(rows.collect(), MAX_ROWS);
        let allocated = allocated();
        // Each time anew: libraries come and go.
        let mut modules = named(sys::modules());
        let stacks = stacks(rows.iter().chain(&allocated), &modules);
        modules.retain(|(name, _)| stacks.values().any(|frames| names(frames, name)));
        Some(LiveMemory {
            period_bytes: live::period_bytes(),
            rows,
            allocated,
            stacks,
            modules,
            dropped: live::dropped(),
            is_asked: std::mem::take(&mut self.is_asked),
        })
    }
}

/// What was allocated so far.
fn allocated() -> Vec<Row> {
    let mut rows = Vec::new();
    live::allocations(|sums| {
        rows.push(Row {
            path: sums.section.checked_sub(1),
            stack: sums.stack.map(Stack::number),
            age_steps: None,
            bytes: sums.bytes,
            blocks: sums.blocks,
        });
    });
    largest(rows, MAX_ALLOCATED)
}

/// Frames of the stacks that rows name.
fn stacks<'a>(rows: impl Iterator<Item = &'a Row>, modules: &[(String, Module)]) -> BTreeMap<u32, String> {
    let mut buffer = [0; MAX_FRAMES];
    let mut texts = BTreeMap::new();
    for number in rows.filter_map(|row| row.stack) {
        texts
            .entry(number)
            .or_insert_with(|| text(live::stack(Stack::from_number(number), &mut buffer), modules));
    }
    texts
}

/// Frames as text.
fn text(frames: &[usize], modules: &[(String, Module)]) -> String {
    let mut text = String::new();
    for &frame in frames {
        let space = if text.is_empty() { "" } else { " " };
        let _ = match module(modules, frame) {
            Some((name, module)) => write!(text, "{space}{name}+{:#x}", frame.wrapping_sub(module.base)),
            // Code that was made at run time, or no code.
            None => write!(text, "{space}?+{frame:#x}"),
        };
    }
    text
}

/// The largest rows, and one for the rest.
fn largest(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    let key = |row: &Row| (row.path, row.stack, row.age_steps);
    rows.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| key(one).cmp(&key(other))));
    if rows.len() > most {
        let rest = rows.split_off(most);
        let sum = |of: fn(&Row) -> u64| rest.iter().map(of).fold(0, u64::saturating_add);
        let (bytes, blocks) = (sum(|row| row.bytes), sum(|row| row.blocks));
        rows.push(Row { path: None, stack: None, age_steps: None, bytes, blocks });
    }
    rows
}

/// For how many blocks a sample stands, itself included.
fn blocks(weight_bytes: u64, size_bytes: u64) -> u64 {
    let size = size_bytes.max(1);
    (weight_bytes.saturating_add(size / 2) / size).max(1)
}

/// The largest power of two that is no more than that; 0 for 0.
fn age_class(steps: u64) -> u64 {
    steps.checked_ilog2().map_or(0, |power| 1 << power)
}

fn module(modules: &[(String, Module)], address: usize) -> Option<&(String, Module)> {
    modules.iter().find(|(_, module)| module.code.iter().any(|&(start, end)| (start..end).contains(&address)))
}

fn names(frames: &str, name: &str) -> bool {
    frames.split(' ').any(|frame| frame.rsplit_once('+').is_some_and(|(module, _)| module == name))
}

/// Each module with a name of its own: its file's, without spaces.
fn named(modules: Vec<Module>) -> Vec<(String, Module)> {
    let mut named: Vec<(String, Module)> = Vec::new();
    for module in modules {
        let file = module.path.rsplit('/').next().unwrap_or_default().replace(char::is_whitespace, "_");
        let used =
            named.iter().filter(|(_, other)| other.path.rsplit('/').next() == module.path.rsplit('/').next());
        let number = used.count();
        let name = if number == 0 { file } else { format!("{file}#{number}") };
        named.push((name, module));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: u32, bytes: u64) -> Row {
        Row { path: Some(path), stack: Some(path), age_steps: Some(1), bytes, blocks: 1 }
    }

    #[test]
    fn the_largest_rows_stay_and_the_rest_is_one() {
        let rows = largest((0..300).map(|number| row(number, u64::from(number))).collect(), MAX_ROWS);
        assert_eq!(rows.len(), MAX_ROWS + 1);
        assert_eq!(rows[0], row(299, 299));
        let rest = Row { path: None, stack: None, age_steps: None, bytes: (0..44).sum(), blocks: 44 };
        assert_eq!(rows[MAX_ROWS], rest);
    }

    #[test]
    fn it_is_due_at_each_peak_and_more_seldom_the_longer_it_lasts() {
        let began = Instant::now();
        let mut taker = Taker::new(began);
        let mut taken = Vec::new();
        // 20 MiB, and for half a second 300 MiB.
        for at_ms in (0..200_000).step_by(20) {
            let live_bytes = Some(if (500..1_000).contains(&at_ms) { 300 << 20 } else { 20 << 20 });
            let now = began + Duration::from_millis(at_ms);
            if taker.is_time(live_bytes, now) {
                taker.note(live_bytes, now);
                taken.push(at_ms);
            }
        }
        assert_eq!(
            taken,
            [
                60, 500, 1_000, 2_000, 3_000, 4_500, 6_760, 10_140, 15_220, 22_840, 34_260, 51_400, 77_100,
                115_660, 173_500
            ]
        );
    }

    #[test]
    fn ages_are_classes_of_powers_of_two() {
        let classes: Vec<u64> = [0, 1, 2, 3, 4, 7, 8, u64::MAX].into_iter().map(age_class).collect();
        assert_eq!(classes, [0, 1, 2, 2, 4, 4, 8, 1 << 63]);
    }

    #[test]
    fn frames_name_their_modules_and_two_files_of_one_name_stay_apart() {
        let module = |path: &str, base: usize| Module {
            path: path.into(),
            base,
            code: vec![(base + 0x10, base + 0x100)],
            build_id: String::new(),
        };
        let modules = named(vec![
            module("/a/my trainer", 0x1000),
            module("/b/libx.so", 0x5000),
            module("/c/libx.so", 0x9000),
        ]);
        assert_eq!(text(&[0x1020, 0x9044, 0x5011], &modules), "my_trainer+0x20 libx.so#1+0x44 libx.so+0x11");
        assert!(names("a+0x1 libx.so#1+0x44", "libx.so#1") && !names("a+0x1 libx.so#1+0x44", "libx.so"));
    }

    #[test]
    fn a_sample_stands_for_as_many_blocks_as_its_weight_holds() {
        assert_eq!(
            [blocks(1_000, 100), blocks(1_049, 100), blocks(1_050, 100), blocks(5, 0), blocks(7, 7)],
            [10, 10, 11, 5, 1]
        );
    }
}

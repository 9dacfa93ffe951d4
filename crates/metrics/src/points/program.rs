//! Points of the program and of the exporter.

use stepscope_core::attr;
use stepscope_core::metric::program::row;
use stepscope_core::metric::run::row::RUN_INFO;

use super::{MAX_DIGITS, Walk, digits};
use crate::snapshot::{Allocator, MAX_USER_LABELS, Run, Snapshot};

pub(super) fn visit(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    if let Some(run) = &snapshot.program.run {
        run_info(run, walk);
    }
    let steps = snapshot.program.steps;
    walk.one(&row::STEP_NUMBER, steps.number);
    walk.one(&row::STEP_DURATION_P50, steps.p50_s);
    walk.one(&row::STEP_DURATION_P95, steps.p95_s);
    walk.one(&row::SAMPLE_RATE, steps.sample_rate);
    walk.one(&row::DATA_WAIT_SHARE, steps.data_wait_share);
    walk.one(&row::STEP_OVERDUE, steps.overdue);
    let leak = snapshot.program.leak;
    walk.one(&row::LEAK_RATE, leak.map(|leak| leak.bytes_per_step));
    walk.one(&row::LEAK_TIME_LEFT, leak.and_then(|leak| leak.time_left_s));
    walk.of(&row::SECTION_LONGEST);
    for (path, seconds) in &snapshot.program.longest_s {
        walk.point(&[(attr::PATH, &**path)], Some(*seconds));
    }
    walk.of(&row::VALUE);
    for (name, value) in &snapshot.program.values {
        walk.point(&[(attr::VALUE_NAME, &**name)], Some(*value));
    }
    allocators(snapshot, walk);
    walk.of(&row::ALERT_FIRING);
    for alert in &snapshot.alerts {
        let labels = [(attr::ALERT_RULE, &*alert.rule), (attr::ALERT_SEVERITY, alert.severity)];
        walk.point(&labels, Some(u64::from(alert.firing)));
    }
    let mut before = None;
    for point in &snapshot.user {
        if before.replace(point.metric).is_none_or(|row| !std::ptr::eq(row, point.metric)) {
            walk.of(point.metric);
        }
        let mut labels = [("", ""); MAX_USER_LABELS];
        let all = labels.iter_mut().zip(point.labels.iter());
        all.for_each(|(slot, (key, text))| *slot = (key, text));
        walk.point(labels.get(..point.labels.len()).unwrap_or(&labels), Some(point.value));
    }
}

/// What tells the run of the process' other series.
fn run_info(run: &Run, walk: &mut Walk<'_>) {
    let mut texts = [[0; MAX_DIGITS]; 3];
    let [attempt, rank, world_size] = &mut texts;
    let labels = [
        (attr::RUN_ID, &*run.id),
        (attr::RUN_ATTEMPT, digits(run.attempt, attempt)),
        (attr::RANK, digits(run.rank, rank)),
        (attr::WORLD_SIZE, digits(run.world_size, world_size)),
        (attr::SERVICE_NAME, &*run.service),
        (attr::HOST_NAME, &*run.host),
    ];
    // An absent label says the same as an empty one, and OpenTelemetry has only the former.
    let mut known = [("", ""); 6];
    let mut count = 0;
    for (slot, label) in known.iter_mut().zip(labels.into_iter().filter(|(_, text)| !text.is_empty())) {
        *slot = label;
        count += 1;
    }
    walk.of(&RUN_INFO).point(known.get(..count).unwrap_or_default(), Some(1u64));
}

fn allocators(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    macro_rules! each {
        ($row:expr, $figure:expr) => {
            walk.of($row);
            for allocator in &snapshot.allocators {
                walk.point(&[(attr::ALLOCATOR, allocator.name)], $figure(allocator));
            }
        };
    }
    each!(&row::ALLOCATOR_LIVE, |allocator: &Allocator| allocator.live_bytes);
    each!(&row::ALLOCATOR_RESERVED, |allocator: &Allocator| allocator.reserved_bytes);
    each!(&row::ALLOCATOR_FRAGMENTATION, Allocator::fragmentation);
    each!(&row::ALLOCATOR_ARENAS, |allocator: &Allocator| allocator.arenas);
    walk.one(&row::ALLOCATION_RATE, snapshot.allocation_rate);
}

/// The exporter's own figures; they are always there.
pub(super) fn own(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    let left_out = walk.series.left_out;
    walk.one(&row::PASSES, Some(snapshot.passes));
    walk.one(&row::PASS_DURATION, snapshot.pass_duration_s);
    walk.one(&row::PUSHES_FAILED, snapshot.pushes_failed);
    walk.one(&row::USER_DROPPED, snapshot.user_dropped);
    walk.one(&row::SERIES_LEFT_OUT, Some(left_out));
    walk.one(&row::SERIES, Some(walk.series.published + 1));
}

//! Machines and GPUs of summaries made by hand: ten stretches of 1 s each, of 50 steps, and figures by stretch.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{FigureRow, GpuFigures, HostFigures, ProcessFigures, Stretch};

const S: u64 = 1_000_000_000;
const START: u64 = 1_700_000_000 * S;

/// Ten stretches of steps that take so long in each.
fn stretches(step_ns: impl Fn(u64) -> u64) -> Vec<Stretch> {
    (0..10)
        .map(|at| Stretch {
            from_ns: START + at * S,
            to_ns: START + (at + 1) * S,
            first_step: Some(50 * at),
            steps: 50,
            step_p50_ns: Some(step_ns(at)),
            is_warmup: false,
        })
        .collect()
}

/// A figure with these values.
pub(crate) fn figure(name: &'static str, value: impl Fn(u64) -> f64) -> FigureRow {
    let values: Vec<f64> = (0..10).map(value).collect();
    FigureRow {
        figure: name,
        about: None,
        mean: Some((values.iter().sum::<f64>() / 10.0 * 1e4).round() / 1e4),
        min: values.iter().copied().min_by(f64::total_cmp),
        max: values.iter().copied().max_by(f64::total_cmp),
        values: values.into_iter().map(Some).collect(),
    }
}

/// A machine on which nothing is short, with a GPU that is busy.
pub(crate) fn quiet(summary: &mut Summary) {
    let gib = |number: f64| number * 1_073_741_824.0;
    let host = HostFigures {
        name: Some("host-a".into()),
        sources: vec!["stepscope-monitor".into()],
        every_ns: S,
        steps_per_stretch: 50,
        steps_measured: 500,
        steps: 500,
        stretches: stretches(|_| 10_000_000),
        figures: vec![
            figure("cpu_busy_share", |at| 0.35 + at as f64 / 100.0),
            figure("cpu_iowait_share", |_| 0.01),
            figure("memory_used_bytes", |_| gib(6.56)),
            figure("memory_limit_bytes", |_| gib(16.0)),
            figure("memory_used_share", |_| 0.41),
            figure("swap_in_per_s", |_| 0.0),
            figure("swap_out_per_s", |_| 0.0),
            figure("disk_read_bytes_per_s", |at| 1e6 * at as f64),
            figure("disk_write_bytes_per_s", |_| 0.0),
            FigureRow { about: Some("/data".into()), ..figure("filesystem_used_share", |_| 0.5) },
        ],
        processes: vec![ProcessFigures { rank: Some(0), figures: vec![figure("cpu_cores", |_| 2.5)] }],
        gauges: Vec::new(),
    };
    let gpu = GpuFigures {
        host: 0,
        id: "GPU-1".into(),
        name: Some("gpu0".into()),
        model: Some("H200".into()),
        figures: vec![
            figure("utilization_share", |_| 0.93),
            figure("memory_used_bytes", |_| gib(60.0)),
            figure("memory_used_share", |_| 0.75),
            figure("throttled_share", |_| 0.0),
        ],
    };
    (summary.metrics.hosts, summary.metrics.gpus) = (vec![host], vec![gpu]);
}

/// Puts another figure in the place of the machine's one of its name.
pub(crate) fn set(summary: &mut Summary, row: FigureRow) {
    put(&mut summary.metrics.hosts[0].figures, row);
}

/// The same of the GPU.
pub(crate) fn set_gpu(summary: &mut Summary, row: FigureRow) {
    put(&mut summary.metrics.gpus[0].figures, row);
}

fn put(figures: &mut Vec<FigureRow>, row: FigureRow) {
    figures.retain(|old| old.figure != row.figure);
    figures.push(row);
}

/// Steps that take 31 ms in the last four stretches, and 22 ms before.
pub(crate) fn slower_at_last(summary: &mut Summary) {
    summary.metrics.hosts[0].stretches = stretches(|at| if at < 6 { 22_000_000 } else { 31_000_000 });
}

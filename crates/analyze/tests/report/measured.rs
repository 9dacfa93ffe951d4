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

mod told {
    //! What is said of them, in each format.

    use stepscope_analyze::render::{self, Options};
    use stepscope_analyze::report::{Reading, build};
    use stepscope_analyze::rules::Config;
    use stepscope_analyze::summary::NotJoined;

    use super::{FigureRow, Summary, figure, set, slower_at_last};
    use crate::fixture::{MS, Run, healthy};

    fn said(summary: &Summary, format: &str) -> String {
        let report = build(summary, Reading::default(), &Config::default());
        render::find(format).unwrap().text(&report, Options { color: false }).unwrap()
    }

    #[test]
    fn the_text_says_how_often_was_read_and_how_the_figures_went() {
        let mut summary = healthy().build();
        set(&mut summary, figure("cpu_busy_share", |at| if at < 6 { 0.5 } else { 0.99 }));
        slower_at_last(&mut summary);
        let text = said(&summary, "text");
        let part = text.split("Host and devices\n").nth(1).unwrap();
        assert!(
            part.contains("`host-a` was read every 1.00 s: each figure below covers about 50 steps."),
            "{part}"
        );
        let row = |first: &str| {
            let line = part.lines().find(|line| line.trim_start().starts_with(first)).unwrap_or(part);
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("Processors busy"), "Processors busy 70 % 50 % 99 %");
        assert_eq!(row("Memory in use, of its limit"), "Memory in use, of its limit 41 % 41 % 41 %");
        // Two stretches a row: steps 300 to 399.
        assert!(row("300 ").starts_with("300 31.0 ms 99 %"), "{}", row("300 "));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn allocators_are_told_with_what_of_their_memory_is_unused_over_the_run() {
        let mut summary = healthy().build();
        let own = &mut summary.metrics.hosts[0].processes[0].figures;
        let of = |name: &str, row: FigureRow| FigureRow { about: Some(name.into()), ..row };
        let mib = |number: u64| (number << 20) as f64;
        own.push(of("glibc", figure("allocator_live_bytes", |at| mib(400 - 20 * at))));
        own.push(of("glibc", figure("allocator_reserved_bytes", |_| mib(500))));
        own.push(of("glibc", figure("allocator_fragmentation_share", |at| 0.2 + 0.04 * at as f64)));
        own.push(of("mimalloc", figure("allocator_reserved_bytes", |_| mib(64))));
        let text = said(&summary, "text");
        let row = |first: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(first)).unwrap_or(&text);
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("glibc "), "glibc 310 MiB 500 MiB 500 MiB 20 % 56 % 56 %");
        assert_eq!(row("mimalloc "), "mimalloc - 64.0 MiB 64.0 MiB - - -");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(said(&summary, "md").contains("| `glibc` | 310 MiB | 500 MiB |"));
        let page = said(&summary, "html");
        assert!(page.contains("id=\"plot-host-0-allocators\"") && page.contains("glibc, from the system"));
        assert!(said(&summary, "json").contains("\"allocator_fragmentation_share\""));
    }

    #[test]
    fn a_run_without_metrics_has_no_such_part_and_one_sentence_on_how_to_get_it() {
        for format in ["text", "md", "html"] {
            let said = said(&Run::of(200, 10 * MS).build(), format);
            assert!(!said.contains("Host and devices"), "{format}");
            assert_eq!(said.matches("stepscope monitor --otlp").count(), 1, "{format}");
        }
    }

    #[test]
    fn metrics_of_another_time_are_said_to_be_so() {
        let mut summary = Run::of(200, 10 * MS).build();
        summary.metrics.not_joined = Some(NotJoined::OtherTime { first_ns: 1, last_ns: 2 });
        let text = said(&summary, "text");
        assert!(text.contains("Not told: the metrics are of another time than the steps."), "{text}");
    }

    #[test]
    fn the_page_draws_what_the_report_holds() {
        let page = said(&healthy().build(), "html");
        for plot in ["plot-host-0-cpu", "plot-host-0-memory", "plot-host-0-io", "plot-host-0-gpu"] {
            assert!(page.contains(&format!("id=\"{plot}\"")), "{plot}");
        }
        assert!(
            page.contains("data-at=\"host/hosts/0/figures/0\"") || page.contains("figures/0"),
            "places are told"
        );
    }
}

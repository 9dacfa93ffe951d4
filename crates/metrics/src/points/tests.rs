//! What a snapshot becomes, held against the table.

use std::collections::HashSet;

use super::*;
use crate::snapshot::{CPU_MODES, Container, Gpu, Process, Run};
use stepscope_core::metric::{self, program};

#[derive(Default)]
struct Collected {
    rows: Vec<&'static Metric>,
    series: HashSet<String>,
}

impl Visitor for Collected {
    fn metric(&mut self, row: &'static Metric) {
        assert!(!self.rows.contains(&row), "{} comes twice", row.name);
        self.rows.push(row);
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let row = self.rows.last().unwrap();
        for (key, text) in labels {
            assert!(row.attributes.contains(key), "{} has no {key} in the table", row.name);
            assert!(!text.is_empty(), "{} {key}", row.name);
        }
        assert!(self.series.insert(format!("{} {labels:?}", row.name)), "{} {labels:?} twice", row.name);
        assert!(!matches!(value, Value::Double(number) if number.is_nan()));
    }
}

fn full() -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.host.cpu_time_s = [Some(1.0); 8];
    snapshot.host.cpus = Some(256);
    snapshot.cores = vec![Some(0.5); 256];
    snapshot.process = Some(Process { resident_bytes: Some(7), ..Process::default() });
    snapshot.container = Some(Container::default());
    snapshot.program.run = Some(Run {
        id: "r-1".into(),
        attempt: 2,
        rank: 7,
        world_size: 16,
        service: "train".into(),
        host: "".into(),
    });
    snapshot.gpus = (0..8)
        .map(|index| Gpu {
            uuid: format!("GPU-{index}").into(),
            name: format!("gpu{index}").into(),
            model: "H200".into(),
            vendor: "fake".into(),
            state: "ok",
            xids: vec![(79, 1), (31, 2)],
            throttled: [Some(false); 5],
            ..Gpu::default()
        })
        .collect();
    snapshot
}

#[test]
fn points_are_what_the_table_declares_and_absent_where_nothing_is_known() {
    let mut collected = Collected::default();
    let series = visit(&full(), usize::MAX, &mut collected);
    assert_eq!(series.published as usize, collected.series.len());
    let names: Vec<&str> = collected.rows.iter().map(|row| row.name).collect();
    assert!(names.contains(&metric::device::GPU_XID) && names.contains(&metric::PROCESS_MEMORY_USAGE));
    assert!(
        !names.contains(&metric::device::HW_POWER) && !names.contains(&metric::host::CONTAINER_MEMORY_USAGE)
    );
    // What is not known of a run is no label.
    let run_info = collected.series.iter().find(|series| series.starts_with(metric::run::RUN_INFO)).unwrap();
    let labels = [
        ("stepscope.run.id", "r-1"),
        ("stepscope.run.attempt", "2"),
        ("stepscope.rank", "7"),
        ("stepscope.world_size", "16"),
        ("service.name", "train"),
    ];
    assert_eq!(*run_info, format!("{} {labels:?}", metric::run::RUN_INFO));
    let empty = visit(&Snapshot::default(), usize::MAX, &mut Collected::default());
    assert_eq!(empty.left_out, 0);
    assert_eq!(empty.published, 3, "passes, series, and those left out");
}

#[test]
fn the_budget_cuts_single_processors_first_and_is_counted() {
    let all = visit(&full(), usize::MAX, &mut Collected::default());
    let mut collected = Collected::default();
    let cut = visit(&full(), 200, &mut collected);
    assert_eq!(cut.left_out, all.published - cut.published);
    let of = |name: &str| collected.series.iter().filter(|series| series.starts_with(name)).count();
    assert_eq!(of(metric::host::CPU_TIME), CPU_MODES.len());
    assert_eq!(of(metric::device::GPU_XID), 16);
    assert!(of(metric::host::CPU_CORE_UTILIZATION) < 256);
    assert_eq!(of(program::SERIES_LEFT_OUT), 1);
}

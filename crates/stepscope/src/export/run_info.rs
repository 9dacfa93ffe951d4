//! Which run, rank and host the endpoint's other series are of, as a metric: stores that put no attribute of the resource on
//! series join by it. A profile does not need it.

use stepscope_core::attr;
use stepscope_core::metric::run::row::RUN_INFO;
use stepscope_otlp::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Value, Visitor};

use super::encode::Context;

/// Writes it, as of `time_ns` (monotonic).
pub(crate) fn write_run_info<V: Visitor>(visitor: &mut V, context: &Context<'_>, time_ns: u64) {
    let identity = &context.recorder.identity;
    let head = MetricHead {
        name: RUN_INFO.name,
        unit: RUN_INFO.unit,
        description: "",
        kind: MetricKind::Gauge,
        temporality: Temporality::default(),
        monotonic: false,
    };
    visitor.metric(&head);
    let texts = [
        (attr::RUN_ID, &identity.run_id),
        (attr::SERVICE_NAME, &identity.service_name),
        (attr::HOST_NAME, &identity.host),
    ];
    for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        visitor.point_attribute(key, Value::Str(text));
    }
    let numbers = [
        (attr::RUN_ATTEMPT, identity.attempt),
        (attr::RANK, identity.rank),
        (attr::WORLD_SIZE, identity.world_size),
    ];
    for (key, number) in numbers {
        // As text, as the attributes of all our points are.
        visitor.point_attribute(key, Value::Str(&number.to_string()));
    }
    let time_unix_ns = context.recorder.anchor.unix_ns(time_ns);
    let data = PointData::Number(Some(Number::Int(1)));
    visitor.point(&PointHead { start_unix_ns: 0, time_unix_ns, flags: 0, data });
    visitor.metric_end();
}

//! Live memory as OTLP metrics, in a scope of its own: who keeps series can leave it away by that.

use std::collections::BTreeSet;

use stepscope_core::metric::live as m;
use stepscope_core::{LIVE_MEMORY_SCOPE_NAME, PathId, attr};
use stepscope_otlp::Visitor;

use super::encode::Context;
use super::message::{Encoder, Message, with_encoder};
use super::publish::{Snapshot, Writer};
use crate::hot::recorder::Recorder;
use crate::shared::live_memory::{LiveMemory, Row};

/// Hands over the message about what was live at the time of the snapshot.
pub(crate) fn encode_live_memory<R>(
    encoder: &mut Encoder,
    context: &Context<'_>,
    snapshot: &Snapshot,
    live: &LiveMemory,
    take: impl FnOnce(&[u8]) -> R,
) -> R {
    let spare = encoder.fresh();
    let mut message = Message::in_scope(std::mem::replace(encoder, spare), LIVE_MEMORY_SCOPE_NAME);
    let filled = message.next(context);
    with_encoder!(filled, filled => write(&mut Writer::new(filled.as_mut(), context.recorder, snapshot), context.recorder, live));
    let result = take(message.finish().0);
    message.clear();
    *encoder = message.encoder;
    result
}

/// Where the sections begin that rows name: for those whose lines are not known.
fn write_sections<V: Visitor>(writer: &mut Writer<'_, V>, recorder: &Recorder, live: &LiveMemory) {
    let rows = live.rows.iter().chain(&live.allocated);
    let paths: BTreeSet<u32> = rows.filter_map(|row| row.path).collect();
    writer.metric(m::MEMORY_SECTION);
    for path in paths {
        let info = recorder.path_info(PathId(path));
        let Some(source) = info.source else { continue };
        let Some((file, line)) = source.file().zip(source.line()) else { continue };
        writer.attribute(attr::PATH, &info.text);
        writer.attribute(attr::CODE_FILE_PATH, file);
        writer.number_attribute(attr::CODE_LINE_NUMBER, line.into());
        writer.count(1);
    }
    writer.end();
}

fn write<V: Visitor>(writer: &mut Writer<'_, V>, recorder: &Recorder, live: &LiveMemory) {
    type Table<'a> = (&'static str, &'a [Row], fn(&Row) -> u64);
    let tables: [Table<'_>; 4] = [
        (m::MEMORY_LIVE_SAMPLED, &live.rows, |row| row.bytes),
        (m::MEMORY_LIVE_BLOCKS, &live.rows, |row| row.blocks),
        (m::MEMORY_ALLOCATED_SAMPLED, &live.allocated, |row| row.bytes),
        (m::MEMORY_ALLOCATED_BLOCKS, &live.allocated, |row| row.blocks),
    ];
    for (name, rows, amount) in tables {
        writer.metric(name);
        for row in rows {
            if let Some(path) = row.path {
                writer.path(&recorder.path_info(PathId(path)));
            }
            if let Some(stack) = row.stack {
                writer.number_attribute(attr::MEMORY_STACK_ID, stack.into());
            }
            if let Some(age) = row.age_steps {
                writer.number_attribute(attr::MEMORY_AGE, age);
            }
            writer.count(amount(row));
        }
        writer.end();
    }
    writer.single(m::MEMORY_SAMPLING_PERIOD, live.period_bytes);
    let dropped = live.dropped;
    writer.metric(m::MEMORY_SAMPLING_DROPPED);
    for (what, count) in
        [("samples", dropped.samples), ("stacks", dropped.stacks), ("truncated", dropped.truncated)]
    {
        writer.attribute(attr::MEMORY_DROPPED, what);
        writer.count(count);
    }
    writer.end();
    writer.metric(m::MEMORY_STACK);
    for (&stack, frames) in &live.stacks {
        writer.number_attribute(attr::MEMORY_STACK_ID, stack.into());
        writer.attribute(attr::MEMORY_STACK_FRAMES, frames);
        writer.count(1);
    }
    writer.end();
    if recorder.config.locations {
        write_sections(writer, recorder, live);
    }
    writer.metric(m::MEMORY_MODULE);
    for (name, module) in &live.modules {
        writer.attribute(attr::MODULE_NAME, name);
        writer.attribute(attr::MODULE_BUILD_ID, &module.build_id);
        writer.attribute(attr::MODULE_PATH, &module.path);
        writer.count(1);
    }
    writer.end();
}

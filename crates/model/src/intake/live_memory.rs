//! Points about live memory by sample, from the decoder's calls to [`LivePoint`]s.

use stepscope_core::attr;
use stepscope_core::metric::live;
use stepscope_otlp::{MetricHead, Number, PointData, PointHead, Value};

use super::value;
use crate::live_memory::{LiveDropped, LivePoint, LiveRow, Module};

/// Paths and frames are cut to this many bytes.
const MAX_LONG: usize = 16 << 10;
/// Other texts are cut to this many bytes.
const MAX_TEXT: usize = 1_024;

/// The metric at hand and the attributes of the point whose head is still to come.
#[derive(Debug, Default)]
pub(crate) struct LiveDraft {
    /// Name of the metric, if it is one that is read.
    name: Option<&'static str>,
    path: String,
    frames: String,
    dropped: String,
    module: [String; 3],
    file: String,
    line: Option<u32>,
    stack: Option<u64>,
    age: Option<u64>,
}

impl LiveDraft {
    /// Starts a metric; whether it is one that is read.
    pub(crate) fn begin(&mut self, head: &MetricHead<'_>) -> bool {
        self.name = live::TABLE.iter().map(|row| row.name).find(|&name| name == head.name);
        self.clear();
        self.name.is_some()
    }

    /// Ends the metric.
    pub(crate) fn end(&mut self) {
        self.name = None;
    }

    fn clear(&mut self) {
        let [name, build_id, path] = &mut self.module;
        for text in
            [&mut self.path, &mut self.frames, &mut self.dropped, &mut self.file, name, build_id, path]
        {
            text.clear();
        }
        (self.stack, self.age, self.line) = (None, None, None);
    }

    /// Takes one attribute of the next point.
    pub(crate) fn attribute(&mut self, key: &str, value: Value<'_>) {
        if self.name.is_none() {
            return;
        }
        match key {
            attr::MEMORY_STACK_ID => self.stack = number(value),
            attr::MEMORY_AGE => self.age = number(value),
            attr::CODE_LINE_NUMBER => self.line = number(value).and_then(|line| line.try_into().ok()),
            _ => {
                let [name, build_id, path] = &mut self.module;
                let (slot, limit) = match key {
                    attr::PATH => (&mut self.path, MAX_LONG),
                    attr::MEMORY_STACK_FRAMES => (&mut self.frames, MAX_LONG),
                    attr::MEMORY_DROPPED => (&mut self.dropped, MAX_TEXT),
                    attr::CODE_FILE_PATH => (&mut self.file, MAX_TEXT),
                    attr::MODULE_NAME => (name, MAX_TEXT),
                    attr::MODULE_BUILD_ID => (build_id, MAX_TEXT),
                    attr::MODULE_PATH => (path, MAX_TEXT),
                    _ => return,
                };
                if let Some(text) = value::text(value) {
                    slot.clear();
                    slot.push_str(value::bounded(text, limit));
                }
            }
        }
    }

    /// The point that `head` closes, if it is one that is read; its attributes are forgotten.
    pub(crate) fn point(&mut self, head: &PointHead<'_>) -> Option<LivePoint> {
        let point = self.name.and_then(|name| self.typed(name, &head.data));
        self.clear();
        point
    }

    fn typed(&mut self, name: &'static str, data: &PointData<'_>) -> Option<LivePoint> {
        let amount = match data {
            PointData::Number(Some(Number::Int(number))) => u64::try_from(*number).ok()?,
            PointData::Number(Some(Number::Double(number))) => {
                u64::try_from(value::integral(*number)?).ok()?
            }
            _ => return None,
        };
        let row = |draft: &mut Self| LiveRow {
            path: std::mem::take(&mut draft.path),
            stack: draft.stack,
            age_steps: draft.age,
            amount,
        };
        match name {
            live::MEMORY_LIVE_SAMPLED => Some(LivePoint::Bytes(row(self))),
            live::MEMORY_LIVE_BLOCKS => Some(LivePoint::Blocks(row(self))),
            live::MEMORY_ALLOCATED_SAMPLED => Some(LivePoint::AllocatedBytes(row(self))),
            live::MEMORY_ALLOCATED_BLOCKS => Some(LivePoint::AllocatedBlocks(row(self))),
            live::MEMORY_SAMPLING_PERIOD => Some(LivePoint::PeriodBytes(amount)),
            live::MEMORY_SAMPLING_DROPPED => {
                let what = match self.dropped.as_str() {
                    "samples" => LiveDropped::Samples,
                    "stacks" => LiveDropped::Stacks,
                    "truncated" => LiveDropped::Truncated,
                    _ => return None,
                };
                Some(LivePoint::Dropped(what, amount))
            }
            live::MEMORY_STACK => {
                Some(LivePoint::Stack { id: self.stack?, frames: std::mem::take(&mut self.frames) })
            }
            live::MEMORY_SECTION => {
                let (path, file) = (std::mem::take(&mut self.path), std::mem::take(&mut self.file));
                let line = self.line.filter(|_| !path.is_empty() && !file.is_empty())?;
                Some(LivePoint::Section { path, file, line })
            }
            live::MEMORY_MODULE => {
                let [name, build_id, path] = std::mem::take(&mut self.module);
                Some(LivePoint::Module(Module { name, build_id, path }))
            }
            _ => None,
        }
    }
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(number).ok(),
        _ => value::text(value)?.parse().ok(),
    }
}

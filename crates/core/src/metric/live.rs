//! Metrics of live memory by sample, which the layer publishes in a scope of their own: whole tables at moments, of which none is
//! the sum of another.

use crate::attr;
use crate::vocabulary::{Instrument, Metric, Tier, stability};

metrics! {
    /// Bytes that were live, about: of blocks allocated in one section, at one place, so many steps ago. The largest rows of a
    /// moment; the rest is one row without section, stack and age.
    MEMORY_LIVE_SAMPLED = "stepscope.memory.live.sampled", UpDownCounter, "By", [attr::PATH, attr::MEMORY_STACK_ID, attr::MEMORY_AGE];
    /// Blocks that were live, about, in rows as above.
    MEMORY_LIVE_BLOCKS = "stepscope.memory.live.blocks", UpDownCounter, "{allocation}", [attr::PATH, attr::MEMORY_STACK_ID, attr::MEMORY_AGE];
    /// Bytes allocated since sampling began, about, freed or not, by section and place. The largest ones of a moment; the rest is one
    /// without either.
    MEMORY_ALLOCATED_SAMPLED = "stepscope.memory.allocated.sampled", Counter, "By", [attr::PATH, attr::MEMORY_STACK_ID];
    /// Blocks allocated, about, as above.
    MEMORY_ALLOCATED_BLOCKS = "stepscope.memory.allocated.blocks", Counter, "{allocation}", [attr::PATH, attr::MEMORY_STACK_ID];
    /// Bytes of which one was chosen on average: blocks of so many bytes and more are all there, smaller ones stand for others.
    MEMORY_SAMPLING_PERIOD = "stepscope.memory.sampling.period", Gauge, "By", [];
    /// Samples that found no room, stacks that found none, and stacks that could not be followed to their end.
    MEMORY_SAMPLING_DROPPED = "stepscope.memory.sampling.dropped", Counter, "{sample}", [attr::MEMORY_DROPPED];
    /// 1 for each stack that rows of the same moment name.
    MEMORY_STACK = "stepscope.memory.stack", Gauge, "1", [attr::MEMORY_STACK_ID, attr::MEMORY_STACK_FRAMES];
    /// 1 for each section that rows of the same moment name, with where it begins in the source.
    MEMORY_SECTION = "stepscope.memory.section", Gauge, "1", [attr::PATH, attr::CODE_FILE_PATH, attr::CODE_LINE_NUMBER];
    /// 1 for each file that code was loaded from: the program and its libraries, as stacks name them.
    MEMORY_MODULE = "stepscope.memory.module", Gauge, "1", [attr::MODULE_NAME, attr::MODULE_BUILD_ID, attr::MODULE_PATH];
}

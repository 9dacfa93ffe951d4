//! The phases of a training step, how they rank when they overlap, and which names imply one.

use crate::kind::named_enum;

named_enum! {
    /// What a section does for the training step, on the wire as [`crate::attr::PHASE`]. Unknown phases
    /// of users pass through as text and count as [`PhaseClass::Other`].
    Phase {
        /// Reading and producing batches.
        DataLoading = "data_loading",
        /// Waiting for a batch.
        DataWait = "data_wait",
        /// Turning raw data into model input.
        Preprocessing = "preprocessing",
        /// Random changes of training samples.
        Augmentation = "augmentation",
        /// Joining samples into a batch.
        Collate = "collate",
        /// Copies to the device.
        HostToDevice = "host_to_device",
        /// Copies from the device.
        DeviceToHost = "device_to_host",
        /// Compiling or tuning kernels and graphs.
        Compile = "compile",
        /// Forward pass, loss included.
        Forward = "forward",
        /// Backward pass.
        Backward = "backward",
        /// Work on gradients: clipping, scaling, accumulation.
        Gradient = "gradient",
        /// Parameter update.
        Optimizer = "optimizer",
        /// Collective or point-to-point communication.
        Communication = "communication",
        /// Waiting for devices, threads, locks or free queue slots.
        Synchronization = "synchronization",
        /// Measuring the model on held-out data.
        Evaluation = "evaluation",
        /// Using the model.
        Inference = "inference",
        /// Saving or loading checkpoints.
        Checkpoint = "checkpoint",
        /// Other reading and writing.
        Io = "io",
        /// Anything else.
        Other = "other",
    }
}

named_enum! {
    /// Rank of a phase when several cover the same moment of a step: earlier wins; the last two are one where both are on
    /// the same thread.
    PhaseClass {
        /// A device computes.
        Kernel = "kernel",
        /// Data moves between host and device.
        Copy = "copy",
        /// Device memory is filled.
        Set = "set",
        /// Ranks exchange data.
        Communication = "communication",
        /// The runtime waits or works (synchronisation, launches, compilation).
        Runtime = "runtime",
        /// Input is produced or waited for.
        Input = "input",
        /// The host computes.
        CpuOperation = "cpu_operation",
        /// Anything else.
        Other = "other",
    }
}

impl Phase {
    /// The class that decides precedence between overlapping phases.
    #[must_use]
    pub const fn class(self) -> PhaseClass {
        match self {
            Self::HostToDevice | Self::DeviceToHost => PhaseClass::Copy,
            Self::Communication => PhaseClass::Communication,
            Self::Synchronization | Self::Compile => PhaseClass::Runtime,
            Self::DataLoading | Self::DataWait | Self::Preprocessing | Self::Augmentation | Self::Collate => {
                PhaseClass::Input
            }
            Self::Forward
            | Self::Backward
            | Self::Gradient
            | Self::Optimizer
            | Self::Evaluation
            | Self::Inference => PhaseClass::CpuOperation,
            Self::Checkpoint | Self::Io | Self::Other => PhaseClass::Other,
        }
    }

    /// Whether time exposed in this phase is time the step waits for its input.
    #[must_use]
    pub const fn is_input(self) -> bool {
        matches!(self.class(), PhaseClass::Input)
    }

    /// The phase that a section's name implies, for programs that name no phases. Only whole words that
    /// leave no doubt are recognised: `load_batch`, `pytorch.forward`, `optimizer::step`, `all_reduce`. Signs that only
    /// catch the eye do not count: `## forward ##`, as programs write it for PyTorch's profiler. A frame of Python
    /// (`train.py(12): forward`) is known by its function, and in a library only where that does the same for all who call it.
    #[must_use]
    pub fn infer(name: &str) -> Option<Self> {
        match name.rsplit_once(".py(").and_then(|(file, rest)| Some((file, rest.split_once("): ")?.1))) {
            Some((file, function)) => Self::of_word(function).filter(|phase| phase.is_known_of(file)),
            None => Self::of_word(name),
        }
    }

    /// Whether a function of a file, which is without its ending, is in this phase if it is called so. Libraries name functions
    /// after what they do, which is seldom what the step does: `torch/utils/checkpoint` writes no checkpoint, `re` compiles
    /// expressions.
    fn is_known_of(self, file: &str) -> bool {
        let mut names = file.split(['/', '\\']);
        let is_library = names.clone().any(|name| matches!(name, "site-packages" | "dist-packages"))
            || names.clone().any(|name| name.starts_with("python3") || name.starts_with("<frozen"))
            || names.next().is_some_and(|first| LIBRARIES.contains(&first));
        let has = |word: &str| file.contains(word);
        match self {
            _ if !is_library => true,
            Self::Forward | Self::Backward => !has("checkpoint"),
            Self::Communication | Self::Synchronization => has("distributed") || has("cuda"),
            Self::Gradient => has("clip_grad"),
            Self::Collate => has("collate"),
            _ => false,
        }
    }

    /// The phase that a name without a file implies.
    fn of_word(name: &str) -> Option<Self> {
        let mut normal = [0u8; 64];
        let name = name.as_bytes();
        // Take the last path segment of `module::function` and `a.b`, lower-cased; longer names imply nothing.
        let start = name.iter().rposition(|&b| matches!(b, b':' | b'.' | b'/')).map_or(0, |i| i + 1);
        let tail = bare(name.get(start..)?);
        if tail.is_empty() || tail.len() > normal.len() {
            return None;
        }
        for (slot, &byte) in normal.iter_mut().zip(tail) {
            *slot = if byte == b'-' || byte == b' ' { b'_' } else { byte.to_ascii_lowercase() };
        }
        let tail = core::str::from_utf8(normal.get(..tail.len())?).ok()?;
        INFERRED.iter().find(|(word, _)| *word == tail).map(|&(_, phase)| phase)
    }
}

/// A name without what is put around it to be seen.
fn bare(mut name: &[u8]) -> &[u8] {
    let is_around = |byte: &u8| matches!(byte, b'#' | b'*' | b'=' | b' ');
    while let Some((_, rest)) = name.split_first().filter(|(first, _)| is_around(first)) {
        name = rest;
    }
    while let Some((_, rest)) = name.split_last().filter(|(last, _)| is_around(last)) {
        name = rest;
    }
    name
}

/// First folders, or files, of what is no program's own code, as paths begin where a profiler has cut what is before packages.
const LIBRARIES: &[&str] = &[
    "torch",
    "torchvision",
    "torchaudio",
    "numpy",
    "scipy",
    "pandas",
    "PIL",
    "jax",
    "jaxlib",
    "flax",
    "tensorflow",
    "keras",
    "transformers",
    "tokenizers",
    "datasets",
    "accelerate",
    "deepspeed",
    "lightning",
    "pytorch_lightning",
    "triton",
    "pydantic",
    "re",
    "sre_compile",
    "locale",
    "threading",
    "multiprocessing",
    "asyncio",
    "concurrent",
    "importlib",
    "json",
];

/// Names that imply a phase. Exact, so that `forward_fill` or `io_error` imply nothing.
pub const INFERRED: &[(&str, Phase)] = &[
    ("data_loading", Phase::DataLoading),
    ("data_load", Phase::DataLoading),
    ("dataload", Phase::DataLoading),
    ("dataloader", Phase::DataLoading),
    ("data_loader", Phase::DataLoading),
    ("load_data", Phase::DataLoading),
    ("load_batch", Phase::DataLoading),
    ("get_batch", Phase::DataLoading),
    ("read_batch", Phase::DataLoading),
    ("data_wait", Phase::DataWait),
    ("wait_batch", Phase::DataWait),
    ("wait_for_batch", Phase::DataWait),
    ("next_batch", Phase::DataWait),
    ("preprocess", Phase::Preprocessing),
    ("preprocessing", Phase::Preprocessing),
    ("normalize", Phase::Preprocessing),
    ("tokenize", Phase::Preprocessing),
    ("augment", Phase::Augmentation),
    ("augmentation", Phase::Augmentation),
    ("collate", Phase::Collate),
    ("host_to_device", Phase::HostToDevice),
    ("device_to_host", Phase::DeviceToHost),
    ("compile", Phase::Compile),
    ("forward", Phase::Forward),
    ("forward_pass", Phase::Forward),
    ("backward", Phase::Backward),
    ("backward_pass", Phase::Backward),
    ("backward_step", Phase::Backward),
    ("clip_gradients", Phase::Gradient),
    ("clip_grad_norm", Phase::Gradient),
    ("optimizer", Phase::Optimizer),
    ("optimizer_step", Phase::Optimizer),
    ("optimiser_step", Phase::Optimizer),
    ("all_reduce", Phase::Communication),
    ("allreduce", Phase::Communication),
    ("all_gather", Phase::Communication),
    ("reduce_scatter", Phase::Communication),
    ("broadcast", Phase::Communication),
    ("barrier", Phase::Synchronization),
    ("synchronize", Phase::Synchronization),
    ("evaluate", Phase::Evaluation),
    ("evaluation", Phase::Evaluation),
    ("validate", Phase::Evaluation),
    ("validation", Phase::Evaluation),
    ("inference", Phase::Inference),
    ("checkpoint", Phase::Checkpoint),
    ("save_checkpoint", Phase::Checkpoint),
    ("load_checkpoint", Phase::Checkpoint),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &phase in Phase::ALL {
            assert_eq!(Phase::parse(phase.as_str()), Some(phase));
        }
        assert_eq!(Phase::parse("Forward"), None);
    }

    #[test]
    fn frames_of_libraries_imply_what_their_functions_do_for_all() {
        for (name, expected) in [
            ("torch/utils/checkpoint.py(451): checkpoint", None),
            ("torch/utils/checkpoint.py(263): forward", None),
            ("/usr/lib/python3.12/site-packages/torch/utils/checkpoint.py(451): checkpoint", None),
            ("C:\\env\\site-packages\\lib\\checkpoint.py(1): save_checkpoint", None),
            ("torch/nn/functional.py(4500): normalize", None),
            ("re/__init__.py(226): compile", None),
            ("re.py(250): compile", None),
            ("pydantic/main.py(10): validate", None),
            ("torch/_tensor.py(522): backward", Some(Phase::Backward)),
            ("torch/nn/modules/linear.py(114): forward", Some(Phase::Forward)),
            ("torch/distributed/distributed_c10d.py(2000): all_reduce", Some(Phase::Communication)),
            ("torch/cuda/__init__.py(780): synchronize", Some(Phase::Synchronization)),
            ("train.py(80): save_checkpoint", Some(Phase::Checkpoint)),
            ("/srv/project/train.py(80): evaluate", Some(Phase::Evaluation)),
            ("models/checkpoint.py(12): build", None),
            ("torch/utils/checkpoint.py", None),
        ] {
            assert_eq!(Phase::infer(name), expected, "{name}");
        }
    }

    #[test]
    fn only_whole_last_words_imply_a_phase() {
        assert_eq!(Phase::infer("model::forward"), Some(Phase::Forward));
        assert_eq!(Phase::infer("pytorch.backward"), Some(Phase::Backward));
        assert_eq!(Phase::infer("Optimizer-Step"), Some(Phase::Optimizer));
        for (name, phase) in [
            ("## forward ##", Phase::Forward),
            ("##backward##", Phase::Backward),
            ("=== model.all_reduce ===", Phase::Communication),
            ("** Optimizer Step **", Phase::Optimizer),
            ("# wait_for_batch", Phase::DataWait),
        ] {
            assert_eq!(Phase::infer(name), Some(phase), "{name}");
        }
        let unclear = ["## forward:loss ##", "##", "# #", "for#ward", "ProfilerStep#12", "## forward 3 ##"];
        for name in ["forward_fill", "forwarding", "", "::", "io", "x".repeat(300).as_str()]
            .into_iter()
            .chain(unclear)
        {
            assert_eq!(Phase::infer(name), None, "{name}");
        }
    }
}

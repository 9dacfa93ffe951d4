//! What a section is (run, epoch, step, batch, plain section), in which mode a step ran, and which signal ended a run.

macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value with this wire name, if it is one of ours.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }

            /// The value with this discriminant, if there is one.
            #[must_use]
            pub fn from_index(index: u8) -> Option<Self> {
                Self::ALL.get(usize::from(index)).copied()
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use named_enum;

named_enum! {
    /// What a section is, on the wire as [`crate::attr::SECTION_KIND`]; absent there means `Section`.
    SectionKind {
        /// An ordinary section: a part of its parent.
        Section = "section",
        /// One training, evaluation or inference step: a trace of its own.
        Step = "step",
        /// One part of a step under gradient accumulation; stays inside its step's trace.
        MicroStep = "micro_step",
        /// One pass over the data.
        Epoch = "epoch",
        /// The whole run of one process.
        Run = "run",
        /// The production of one batch by a loader: a trace of its own.
        Batch = "batch",
        /// One served request: a trace of its own.
        Request = "request",
    }
}

impl SectionKind {
    /// Whether a section of this kind always starts a trace.
    #[must_use]
    pub const fn starts_trace(self) -> bool {
        matches!(self, Self::Step | Self::Run | Self::Batch | Self::Request)
    }
}

named_enum! {
    /// What a step does with the model, on the wire as [`crate::attr::MODE`]; absent there means `Train`.
    Mode {
        /// Parameters are updated.
        Train = "train",
        /// The model is measured on held-out data.
        Eval = "eval",
        /// The model is used.
        Inference = "inference",
    }
}

named_enum! {
    /// A signal that ends a run and leaves it time to write what is left; on the wire the [`crate::attr::ERROR_TYPE`] of
    /// the run's span.
    Signal {
        /// Of a terminal, at Ctrl-C.
        Interrupt = "SIGINT",
        /// Of schedulers and `kill`.
        Terminate = "SIGTERM",
    }
}

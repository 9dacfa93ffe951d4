//! How types that are written as words are described in the JSON Schema of a report. That one is made in `report::schema`.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use stepscope_core::{LossReason, Mode, SectionKind, Signal, ThreadState};

/// The names of a type that is written as one of them.
pub(crate) struct Word<T>(PhantomData<T>);

pub(crate) trait Words {
    fn all() -> Vec<&'static str>;
}

macro_rules! words {
    ($($kind:ty),*) => {$(
        impl Words for $kind {
            fn all() -> Vec<&'static str> {
                Self::ALL.iter().map(|one| one.as_str()).collect()
            }
        }
    )*};
}

words!(Mode, SectionKind, LossReason, Signal, ThreadState);

impl<T: Words> JsonSchema for Word<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::all().join("_").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": T::all() })
    }
}

/// A type that is written as a text.
macro_rules! string {
    ($kind:ident, $about:literal) => {
        impl schemars::JsonSchema for $kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "description": $about, "type": "string" })
            }
        }
    };
}
pub(crate) use string;

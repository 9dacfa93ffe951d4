//! The JSON Schema of a report, made from its types and their documentation. No program has this: a test holds
//! `schema/report.schema.json` against it.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use stepscope_core::{LossReason, Mode, SectionKind, Signal};

use super::Report;

const ID: &str =
    "https://raw.githubusercontent.com/stepscope/stepscope/main/crates/analyze/schema/report.schema.json";
const ABOUT: &str = "What `stepscope analyze --format json` writes. Times are integers in nanoseconds, sizes integers in \
                     bytes, shares numbers from 0 to 1. Every key is always present; null means not known or not \
                     applicable, never zero. The same spans give the same bytes.";

/// The text of the schema.
///
/// # Errors
///
/// Where it cannot be written.
pub fn generate() -> Result<String, serde_json::Error> {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(close));
    let mut schema = settings.into_generator().into_root_schema_for::<Report>();
    for (key, value) in [("$id", ID), ("title", "stepscope report"), ("description", ABOUT)] {
        schema.insert(key.into(), value.into());
    }
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Objects have no other keys; sizes of integers are no business of who reads them.
fn close(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.remove("format");
    if fields.contains_key("properties") {
        fields.insert("additionalProperties".into(), Value::Bool(false));
    }
}

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

words!(Mode, SectionKind, LossReason, Signal);

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

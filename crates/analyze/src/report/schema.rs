//! The JSON Schema of a report, made from its types and their documentation. No program has this: a test holds
//! `schema/report.schema.json` against it.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

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

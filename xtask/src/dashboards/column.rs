//! What single columns of a table may have: a unit, a width, colours, links, texts for their values.

use std::collections::BTreeMap;

use super::model::{MappedText, Mapping, Property};
use super::unit;

/// A unit for one column.
pub(super) fn has_unit(unit: &'static str) -> Property {
    Property { id: "unit", value: unit.into() }
}

/// A width in pixels for one column.
pub(super) fn is_wide(pixels: u32) -> Property {
    Property { id: "custom.width", value: pixels.into() }
}

/// What does not fit into a cell of one column is shown by a click on it.
pub(super) fn is_whole_on_click() -> Property {
    Property { id: "custom.inspect", value: true.into() }
}

/// Cells of one column in the colours of severities.
pub(super) fn is_severity() -> Vec<Property> {
    let steps = serde_json::json!({
        "mode": "absolute",
        "steps": [
            {"color": "blue", "value": null}, {"color": "orange", "value": 10}, {"color": "red", "value": 20}
        ]
    });
    vec![
        has_unit(unit::SEVERITY),
        Property { id: "thresholds", value: steps },
        Property { id: "custom.cellOptions", value: serde_json::json!({"type": "color-background"}) },
        is_wide(90),
    ]
}

/// A link for one column.
pub(super) fn has_link(title: &'static str, url: &str) -> Property {
    let link = serde_json::json!([{"targetBlank": true, "title": title, "url": url}]);
    Property { id: "links", value: link }
}

/// Texts for the values of one column.
pub(super) fn has_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Outcome {
    let options: BTreeMap<String, MappedText> = texts
        .into_iter()
        .zip(0..)
        .map(|((value, text), index)| (value.to_owned(), MappedText { index, text: text.to_owned() }))
        .collect();
    let mapping = Mapping { options, kind: "value" };
    let value = serde_json::to_value([mapping]).map_err(|error| format!("failed to write texts: {error}"))?;
    Ok(Property { id: "mappings", value })
}

type Outcome = crate::Outcome<Property>;

//! A data frame as Grafana's JSON has it: the schema of its fields, and a list of values for each.

use serde_json::{Value, json};

/// Letters of a text.
const LETTERS: usize = 300;

/// A text of bounded length.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Fields with as many values each.
#[derive(Debug)]
pub(super) struct Frame {
    name: &'static str,
    fields: Vec<Value>,
    values: Vec<Vec<Value>>,
    meta: Option<Value>,
}

impl Frame {
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, fields: Vec::new(), values: Vec::new(), meta: None }
    }

    /// What panels may go by.
    pub(super) fn meta(self, meta: Value) -> Self {
        Self { meta: Some(meta), ..self }
    }

    pub(super) fn numbers(self, name: &str, unit: &str, values: Vec<Value>) -> Self {
        self.field(json!({"name": name, "type": "number", "config": {"unit": unit}}), values)
    }

    pub(super) fn texts(self, name: &str, values: Vec<Value>) -> Self {
        self.field(json!({"name": name, "type": "string", "config": {}}), values)
    }

    fn field(mut self, field: Value, values: Vec<Value>) -> Self {
        self.fields.push(field);
        self.values.push(values);
        self
    }

    pub(super) fn into_json(self) -> Value {
        let mut schema = json!({"name": self.name, "refId": "A", "fields": self.fields});
        if let (Some(meta), Some(members)) = (self.meta, schema.as_object_mut()) {
            members.insert("meta".into(), meta);
        }
        json!({"schema": schema, "data": {"values": self.values}})
    }
}

//! What comes again with span after span, made ready once: [`Key`], the name of an attribute, and [`Constants`], whole
//! attributes. Encoders copy it as it is written; to every other visitor it is the attributes that it stands for.

use crate::{Value, json, proto};

/// The name of an attribute of spans, made ready to be written often.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    text: &'static str,
    pub(crate) proto: proto::Front,
}

impl Key {
    /// Makes `text` ready.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text, proto: proto::Front::new(text) }
    }

    /// The name.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }
}

/// Attributes of spans that are the same each time, made ready to be written often.
#[derive(Debug, Clone, Default)]
pub struct Constants {
    attributes: Vec<(&'static str, Constant)>,
    pub(crate) proto: Vec<u8>,
    pub(crate) json: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Constant {
    Str(Box<str>),
    Int(i64),
}

impl Constants {
    /// Adds a text.
    pub fn push_str(&mut self, key: &'static str, text: &str) {
        self.push(key, Constant::Str(text.into()));
    }

    /// Adds an integer.
    pub fn push_int(&mut self, key: &'static str, value: i64) {
        self.push(key, Constant::Int(value));
    }

    /// The attributes, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value<'_>)> {
        self.attributes.iter().map(|(key, constant)| (*key, constant.value()))
    }

    fn push(&mut self, key: &'static str, constant: Constant) {
        proto::write_span_attribute(&mut self.proto, key, constant.value());
        json::write_attribute(&mut self.json, key, constant.value());
        self.attributes.push((key, constant));
    }
}

impl Constant {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Str(text) => Value::Str(text),
            Self::Int(value) => Value::Int(*value),
        }
    }
}

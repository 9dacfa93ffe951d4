//! A callsite that the background thread has met, with what all its spans have in common.

use super::span_template::SpanTemplate;
use crate::shared::callsite::Source;

/// A callsite that the background thread has met, with what is put together for its spans once.
#[derive(Debug)]
pub(crate) struct Known {
    pub source: Source,
    /// Names of the fields that it declares, by their numbers.
    pub fields: Vec<&'static str>,
    /// How its spans are written.
    pub template: SpanTemplate,
}

impl Known {
    /// The fields that a callsite declares; none of one that is not known.
    pub(crate) fn fields(callsite: Option<&Self>) -> &[&'static str] {
        callsite.map_or(&[], |known| &known.fields)
    }
}

impl From<Source> for Known {
    fn from(source: Source) -> Self {
        let fields = match source {
            Source::Span(metadata) => metadata.fields().iter().map(|field| field.name()).collect(),
            Source::Section(callsite) => callsite.fields.to_vec(),
        };
        Self { source, template: SpanTemplate::new(source, &fields), fields }
    }
}

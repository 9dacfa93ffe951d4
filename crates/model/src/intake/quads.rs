//! Lists of integers, four for each thing, as attributes spell them: as a list, or as its JSON text, which is what Jaeger has of
//! it. What the four mean is their reader's business.

use stepscope_otlp::Value;

use super::value;

/// Numbers of a thing.
pub(super) const NUMBERS: usize = 4;

/// Hands over each four; `None` where `take` refuses one, where some are missing, or where it is no list of integers.
pub(super) fn read(value: Value<'_>, take: impl FnMut([i64; NUMBERS]) -> Option<()>) -> Option<()> {
    match value {
        Value::Array(items) => each(items.iter().map(|&item| value::integer(item)), take),
        Value::Str(text) => {
            let items = text.trim().strip_prefix('[')?.strip_suffix(']')?;
            each(items.split(',').map(|item| item.trim().parse().ok()), take)
        }
        _ => None,
    }
}

fn each(
    mut numbers: impl Iterator<Item = Option<i64>>,
    mut take: impl FnMut([i64; NUMBERS]) -> Option<()>,
) -> Option<()> {
    while let Some(first) = numbers.next() {
        let mut quad = [first?; NUMBERS];
        for slot in quad.iter_mut().skip(1) {
            *slot = numbers.next()??;
        }
        take(quad)?;
    }
    Some(())
}

//! Nested attribute values, the one thing that is materialised: an owned tree while decoding, turned into
//! borrowed [`Value`]s for the length of one call. Scalar attributes never come here.

use std::borrow::Cow;

use crate::{KeyValue, Value};

/// How deep attribute values may nest.
pub(crate) const MAX_DEPTH: u32 = 32;

/// How many values one attribute may hold; bounds the memory a hostile message can claim.
pub(crate) const MAX_NODES: u32 = 1 << 20;

/// A decoded value of an attribute.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Node<'a> {
    #[default]
    Empty,
    Str(Cow<'a, str>),
    Bool(bool),
    Int(i64),
    Double(f64),
    Bytes(Cow<'a, [u8]>),
    Array(Vec<Node<'a>>),
    Map(Vec<(Cow<'a, str>, Node<'a>)>),
}

/// All nodes of one depth: elements of arrays, then entries of maps, each in the order of their parents.
#[derive(Default)]
struct Level<'n> {
    elements: Vec<&'n Node<'n>>,
    entries: Vec<(&'n str, &'n Node<'n>)>,
}

impl Node<'_> {
    /// Calls `f` with this value.
    pub(crate) fn with(&self, f: &mut dyn FnMut(Value<'_>)) {
        if let Some(scalar) = self.scalar() {
            return f(scalar);
        }
        let mut levels = vec![Level { elements: vec![self], entries: Vec::new() }];
        loop {
            let mut next = Level::default();
            if let Some(last) = levels.last() {
                let nodes = last.elements.iter().copied().chain(last.entries.iter().map(|entry| entry.1));
                for node in nodes {
                    match node {
                        Node::Array(items) => next.elements.extend(items),
                        Node::Map(items) => next.entries.extend(items.iter().map(|(k, v)| (&**k, v))),
                        _ => {}
                    }
                }
            }
            if next.elements.is_empty() && next.entries.is_empty() {
                break;
            }
            levels.push(next);
        }
        build(&levels, &[], &[], f);
    }

    /// The value, where it is no container.
    fn scalar(&self) -> Option<Value<'_>> {
        Some(match self {
            Node::Empty => Value::Empty,
            Node::Str(text) => Value::Str(text),
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(value) => Value::Int(*value),
            Node::Double(value) => Value::Double(*value),
            Node::Bytes(bytes) => Value::Bytes(bytes),
            Node::Array(_) | Node::Map(_) => return None,
        })
    }
}

/// Turns the deepest of `levels` into values, whose children are `elements` and `entries` from the level
/// below, and goes on upwards; the recursion is what lets each level borrow the one below it.
fn build<'x>(
    levels: &[Level<'x>],
    elements: &'x [Value<'x>],
    entries: &'x [KeyValue<'x>],
    f: &mut dyn FnMut(Value<'_>),
) {
    let Some((level, above)) = levels.split_last() else { return };
    let (mut elements, mut entries) = (elements, entries);
    let mut convert = |node: &'x Node<'x>| -> Value<'x> {
        match node {
            Node::Array(items) => {
                let (own, rest) = elements.split_at(items.len().min(elements.len()));
                elements = rest;
                Value::Array(own)
            }
            Node::Map(items) => {
                let (own, rest) = entries.split_at(items.len().min(entries.len()));
                entries = rest;
                Value::Map(own)
            }
            scalar => scalar.scalar().unwrap_or(Value::Empty),
        }
    };
    let built_elements: Vec<Value<'x>> = level.elements.iter().map(|node| convert(node)).collect();
    let built_entries: Vec<KeyValue<'x>> =
        level.entries.iter().map(|(key, node)| KeyValue { key, value: convert(node) }).collect();
    match (above.is_empty(), built_elements.first()) {
        (true, Some(root)) => f(*root),
        _ => build(above, &built_elements, &built_entries, f),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(node: &Node<'_>) -> String {
        let mut out = String::new();
        node.with(&mut |value| out = format!("{value:?}"));
        out
    }

    #[test]
    fn containers_keep_their_own_children_in_order() {
        let inner = Node::Map(vec![
            ("a".into(), Node::Array(vec![Node::Int(1), Node::Array(vec![]), Node::Int(2)])),
            ("b".into(), Node::Map(vec![("c".into(), Node::Bool(true))])),
        ]);
        let node = Node::Array(vec![Node::Array(vec![Node::Int(3)]), inner, Node::Str("x".into())]);
        let kv = |key, value| KeyValue { key, value };
        let (array, map) = ([Value::Int(1), Value::Array(&[]), Value::Int(2)], [kv("c", Value::Bool(true))]);
        let entries = [kv("a", Value::Array(&array)), kv("b", Value::Map(&map))];
        let three = [Value::Int(3)];
        let expected = [Value::Array(&three), Value::Map(&entries), Value::Str("x")];
        assert_eq!(text(&node), format!("{:?}", Value::Array(&expected)));
    }

    #[test]
    fn a_scalar_and_an_empty_container_need_no_level() {
        assert_eq!(text(&Node::Int(7)), "Int(7)");
        assert_eq!(text(&Node::Array(vec![])), "Array([])");
        assert_eq!(text(&Node::Map(vec![])), "Map([])");
    }
}

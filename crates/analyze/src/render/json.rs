//! Format `json`: the report as one object, described by `schema/report.schema.json`. Indented down to the
//! elements of its lists, so that it reads and compares by the line; each element is one line, so that long
//! series stay small.

use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};
use serde_json::Error;

use super::{Options, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer = Renderer {
    name: "json",
    about: "for programs, described by a JSON Schema",
    output: Output::Text(render),
};

/// Nesting down to which every value has a line of its own.
const INDENTED: usize = 2;

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    lines(report).map_err(RenderError)
}

/// JSON with line breaks at the outer levels of nesting.
fn lines(value: &impl Serialize) -> Result<String, String> {
    let mut text = Vec::new();
    value.serialize(Outer { text: &mut text, depth: 0 }).map_err(|error| error.to_string())?;
    text.push(b'\n');
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// Writes a value at one of the outer levels. What is further inside goes to `serde_json` as a whole: breaking its
/// lines afterwards would read all of a long report once more.
struct Outer<'t> {
    text: &'t mut Vec<u8>,
    depth: usize,
}

impl<'t> Outer<'t> {
    fn plain(self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        serde_json::to_writer(self.text, value)
    }

    fn begin(self, open: u8, close: u8) -> Inside<'t> {
        self.text.push(open);
        Inside { text: self.text, depth: self.depth + 1, close, is_empty: true }
    }
}

/// A list or an object of which each element has a line.
struct Inside<'t> {
    text: &'t mut Vec<u8>,
    depth: usize,
    close: u8,
    is_empty: bool,
}

impl Inside<'_> {
    fn line(&mut self, depth: usize) {
        self.text.push(b'\n');
        (0..depth).for_each(|_| self.text.extend_from_slice(b"  "));
    }

    fn next(&mut self) {
        if !self.is_empty {
            self.text.push(b',');
        }
        self.is_empty = false;
        self.line(self.depth);
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        let outer = Outer { text: self.text, depth: self.depth };
        if self.depth < INDENTED { value.serialize(outer) } else { outer.plain(value) }
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.next();
        self.value(value)
    }

    fn key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.next();
        let from = self.text.len();
        serde_json::to_writer(&mut *self.text, key)?;
        // Keys are strings, also those that are numbers.
        if self.text.get(from) != Some(&b'"') {
            self.text.insert(from, b'"');
            self.text.push(b'"');
        }
        self.text.extend_from_slice(b": ");
        Ok(())
    }

    fn close(mut self) -> Result<(), Error> {
        if !self.is_empty {
            self.line(self.depth.saturating_sub(1));
        }
        self.text.push(self.close);
        Ok(())
    }
}

macro_rules! plain {
    ($($name:ident: $kind:ty,)*) => {
        $(fn $name(self, value: $kind) -> Result<(), Error> {
            self.plain(&value)
        })*
    };
}

impl<'t> Serializer for Outer<'t> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Inside<'t>;
    type SerializeTuple = Inside<'t>;
    type SerializeTupleStruct = Inside<'t>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Inside<'t>;
    type SerializeStruct = Inside<'t>;
    type SerializeStructVariant = Impossible<(), Error>;

    plain! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_str: &str,
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.plain(&())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.plain(&())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.plain(&())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.plain(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut object = self.begin(b'{', b'}');
        object.key(variant)?;
        object.value(value)?;
        object.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'t>, Error> {
        Ok(self.begin(b'[', b']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Inside<'t>, Error> {
        Ok(self.begin(b'[', b']'))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Inside<'t>, Error> {
        Ok(self.begin(b'[', b']'))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(two_levels())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Inside<'t>, Error> {
        Ok(self.begin(b'{', b'}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside<'t>, Error> {
        Ok(self.begin(b'{', b'}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(two_levels())
    }
}

/// No part of a report is one of these.
fn two_levels() -> Error {
    Error::custom("a variant with fields is two levels of nesting in one")
}

impl SerializeSeq for Inside<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl SerializeTuple for Inside<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl SerializeTupleStruct for Inside<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl SerializeStruct for Inside<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.key(key)?;
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> serde_json::Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn outer_levels_are_lines_and_inner_ones_are_not() {
        let compact = r#"{"a":[{"b":[1,2],"c":{}},3],"d":{},"e":[],"f":{"g":null}}"#;
        let expected = "{\n  \"a\": [\n    {\"b\":[1,2],\"c\":{}},\n    3\n  ],\n  \"d\": {},\n  \"e\": [],\n  \
                        \"f\": {\n    \"g\": null\n  }\n}\n";
        assert_eq!(lines(&value(compact)).unwrap(), expected);
    }

    #[test]
    fn strings_are_left_alone() {
        let text = r#"{"a,b":"{[:,\"]}\\","c":"\\\""}"#;
        assert_eq!(
            lines(&value(text)).unwrap(),
            "{\n  \"a,b\": \"{[:,\\\"]}\\\\\",\n  \"c\": \"\\\\\\\"\"\n}\n"
        );
        assert_eq!(value(&lines(&value(text)).unwrap()), value(text));
    }
}

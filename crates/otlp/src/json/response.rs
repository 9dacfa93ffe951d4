//! The server's answer to an export of traces or metrics, in JSON: what some servers answer whatever they are sent. Its
//! form in protobuf is `proto::response`.

use super::field::Field;
use super::parser::{Parser, Scratch, Text};
use crate::keys::Keys;
use crate::rows::Rows;

/// The `partialSuccess` of an export response: items rejected, and the server's message.
/// `None` if the response is no JSON object of this kind, or is damaged; `(0, "")` if everything was accepted. Members that are
/// not known are passed over, as in protobuf.
pub fn decode_export_response(bytes: &[u8]) -> Option<(i64, String)> {
    let (mut scratch, mut keys, mut rows) = (Scratch::default(), Keys::default(), Rows::default());
    let mut parser = Parser::new(bytes, &mut scratch, &mut keys, &mut rows);
    if parser.peek() != b'{' {
        return None;
    }
    let (mut rejected, mut message) = (0, Text::default());
    let mut is_answer = says_nothing(bytes);
    let read = parser.object(|p, field| match field {
        Field::PartialSuccess => {
            is_answer = true;
            p.object(|p, field| match field {
                Field::Rejected => p.i64().map(|count| rejected = count),
                Field::ErrorMessage => p.string().map(|text| message = text),
                _ => p.skip(),
            })
        }
        _ => p.skip(),
    });
    read.and_then(|()| parser.end()).ok()?;
    is_answer.then(|| (rejected, parser.scratch.text(message).to_owned()))
}

/// Whether the response is without members, or its only one is null: so is any object of other programs, unless it is this.
fn says_nothing(bytes: &[u8]) -> bool {
    const FORMS: [&[u8]; 3] = [b"{}", br#"{"partialSuccess":null}"#, br#"{"partial_success":null}"#];
    // White space cannot be where it would matter: the names have none.
    let longest = FORMS.iter().map(|form| form.len()).max().unwrap_or(0);
    let dense = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    let dense: Vec<u8> = dense.take(longest + 1).collect();
    FORMS.contains(&dense.as_slice())
}

#[cfg(test)]
mod tests {
    use super::decode_export_response;

    fn decoded(text: &str) -> Option<(i64, String)> {
        decode_export_response(text.as_bytes())
    }

    #[test]
    fn full_and_partial_success() {
        let full = [
            "{}",
            " {\r\n}\n",
            r#"{"partialSuccess":{}}"#,
            r#"{"partialSuccess":null}"#,
            r#"{ "partialSuccess": { "rejectedSpans": "0", "errorMessage": "" } }"#,
            r#"{"partial_success":{"rejected_spans":0,"error_message":null}}"#,
            r#"{"partial_success": null}"#,
            r#"{"later":null,"partialSuccess":{},"more":[1]}"#,
        ];
        for text in full {
            assert_eq!(decoded(text), Some((0, String::new())), "{text}");
        }
        for text in [
            r#"{"partialSuccess":{"rejectedSpans":"7","errorMessage":"full \u2014 \"no\""}}"#,
            r#"{"partialSuccess":{"errorMessage":"full — \"no\"","later":[1,{}],"rejectedDataPoints":7}}"#,
            r#"{"partialSuccess":{"rejectedLogRecords":7,"errorMessage":"full — \"no\""}}"#,
            r#"{"partial_success":{"rejected_log_records":"7","error_message":"full — \"no\""}}"#,
        ] {
            assert_eq!(decoded(text), Some((7, "full — \"no\"".to_owned())), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_answer() {
        let others = [
            "",
            "null",
            "[]",
            "ok",
            "<html>hi</html>",
            r#"{"status":"ok"}"#,
            r#"{"error":null}"#,
            r#"{"status":null,"data":null}"#,
            r#"{"partialSuccess":null,"error":"no"}"#,
            r#"{"error":"no such tenant"}"#,
            r#"{"partialSuccess":3}"#,
            r#"{"partialSuccess":{"rejectedSpans":"many"}}"#,
            r#"{"partialSuccess":{"rejectedSpans":3}"#,
            r#"{"partialSuccess":{}} {}"#,
        ];
        for text in others {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}

//! Numbers at every limit and text that is none.

use super::{analyze, line};

/// Spans whose times and attributes are `number`, as every spelling has it.
fn with_numbers(numbers: &[&str]) -> Vec<u8> {
    let mut file = Vec::new();
    for (place, number) in numbers.iter().enumerate() {
        for (start, end) in [(*number, *number), ("1", *number), (*number, "1")] {
            for key in [
                "stepscope.step",
                "stepscope.busy_ns",
                "stepscope.trace.spans",
                "stepscope.value.loss",
                "stepscope.batch.queue_ns",
            ] {
                for value in [
                    format!("{{\"intValue\":{number}}}"),
                    format!("{{\"doubleValue\":{number}}}"),
                    format!("{{\"stringValue\":\"{}\"}}", number.trim_matches('"')),
                ] {
                    file.extend_from_slice(
                        format!(
                            "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"stepscope.rank\",\"value\":{value}}}]}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"stepscope\"}},\"spans\":[{{\"traceId\":\"{:032x}\",\"spanId\":\"{:016x}\",\"name\":\"n\",\"kind\":{number},\"startTimeUnixNano\":{start},\"endTimeUnixNano\":{end},\"attributes\":[{{\"key\":\"{key}\",\"value\":{value}}}]}}]}}]}}]}}\n",
                            file.len() + 1,
                            place + 1
                        )
                        .as_bytes(),
                    );
                }
            }
        }
    }
    file
}

#[test]
fn numbers_at_every_limit() {
    let numbers = [
        "0",
        "-0",
        "1",
        "-1",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "\"18446744073709551615\"",
        "\"-1\"",
        "\"NaN\"",
        "\"Infinity\"",
        "\"-Infinity\"",
        "1e400",
        "-1e400",
        "1e-400",
        "1e19",
        "0.1",
        "1e999999999",
        "99999999999999999999999999999999999999999999",
        "\"\"",
        "null",
        "true",
    ];
    let file = with_numbers(&numbers);
    let ended = analyze("numbers at every limit, OTLP", |out| {
        out.write_all(line(1, "before").as_bytes())?;
        out.write_all(&file)?;
        out.write_all(line(2, "after").as_bytes())
    });
    assert!(ended.spans() > 2);
    ended.issue("negative_duration");
    assert!(ended.report.is_some_and(|report| report["run"].is_object()));

    let jaeger = analyze("numbers at every limit, Jaeger", |out| {
        out.write_all(b"{\"data\":[")?;
        for (place, number) in numbers.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(
                out,
                "{comma}{{\"traceID\":\"{:x}\",\"spans\":[{{\"spanID\":\"1\",\"operationName\":\"a\",\"startTime\":{number},\"duration\":{number},\
                 \"tags\":[{{\"key\":\"step\",\"type\":\"int64\",\"value\":{number}}}]}},{{\"spanID\":\"2\",\"operationName\":\"b\",\"startTime\":5,\"duration\":7}}]}}",
                place + 1
            )?;
        }
        out.write_all(b"]}")
    });
    assert!(jaeger.spans() >= numbers.len() as u64);
    jaeger.issue("corrupt");
}

#[test]
fn text_that_is_no_text() {
    let ended = analyze("bytes that are not UTF-8 in every place", |out| {
        for (place, name) in
            [&b"\xff\xfe"[..], b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"a\x80"].iter().enumerate()
        {
            let text = line(place as u64 + 1, "@@");
            let at = text.find("@@").unwrap_or(0);
            out.write_all(&text.as_bytes()[..at])?;
            out.write_all(name)?;
            out.write_all(&text.as_bytes()[at + 2..])?;
        }
        Ok(())
    });
    assert_eq!(ended.spans(), 5);
    assert_eq!(ended.issue("invalid_utf8")["count"], 5);
    let ended = analyze("surrogates, alone and in the wrong order", |out| {
        out.write_all(line(1, "\\ud800").as_bytes())?;
        out.write_all(line(2, "\\udc00\\ud800").as_bytes())?;
        out.write_all(line(3, "\\ud83d\\ude00").as_bytes())
    });
    assert!(ended.spans() >= 1);
    let ended = analyze("noise", |out| {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..(64 << 20) / 8 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            out.write_all(&state.to_le_bytes())?;
        }
        Ok(())
    });
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
}

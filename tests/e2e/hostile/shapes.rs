//! Records that are too long, too deep or too many.

use super::{analyze, line, repeat, span};

/// The beginning of an OTLP message up to the attributes of its one span, and what closes it.
const HEAD: &str = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"0102030405060708090a0b0c0d0e0f10\",\
    \"spanId\":\"0102030405060708\",\"name\":\"deep\",\"startTimeUnixNano\":\"1\",\"endTimeUnixNano\":\"2\",\"attributes\":[";
const TAIL: &str = "]}]}]}]}\n";

#[test]
fn a_line_of_two_gigabytes_is_stepped_over() {
    let ended = analyze("a line of 2 GiB between two others", |out| {
        out.write_all(line(1, "before").as_bytes())?;
        out.write_all(b"{\"resourceSpans\":[\"")?;
        repeat(out, b"x", 2 << 30)?;
        out.write_all(b"\"]}\n")?;
        out.write_all(line(2, "after").as_bytes())
    });
    assert_eq!(ended.issue("limit_reached")["offset"].as_u64(), Some(line(1, "before").len() as u64));
    assert_eq!(ended.spans(), 2);
}

#[test]
fn a_file_that_is_one_line_without_end() {
    for (name, begin) in
        [("2 GiB without a newline, OTLP", &b"{\"resourceSpans\":[\""[..]), ("2 GiB of one letter", b"x")]
    {
        let ended = analyze(name, |out| {
            out.write_all(begin)?;
            repeat(out, b"x", 2 << 30)
        });
        assert_eq!(ended.code, Some(3), "{name}: {}", ended.stderr);
    }
}

#[test]
fn a_record_that_claims_four_gigabytes() {
    let ended = analyze("a record of 4 GiB by its length, 1 GiB there", |out| {
        out.write_all(&u32::MAX.to_be_bytes())?;
        repeat(out, b"\x0a\x80\x80\x80\x80\x08", 1 << 30)
    });
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
}

#[test]
fn nesting_of_a_million_levels() {
    const LEVELS: u64 = 1_000_000;
    let nested = |name: &str, begin: &str, open: &str, close: &str, end: &str| {
        analyze(name, |out| {
            out.write_all(line(1, "before").as_bytes())?;
            out.write_all(begin.as_bytes())?;
            repeat(out, open.as_bytes(), LEVELS * open.len() as u64)?;
            repeat(out, close.as_bytes(), LEVELS * close.len() as u64)?;
            out.write_all(end.as_bytes())?;
            out.write_all(line(2, "after").as_bytes())
        })
    };
    let lists = nested("10^6 lists in each other", "{\"resourceSpans\":", "[", "]", "}\n");
    assert_eq!(lists.spans(), 2);
    let values = nested(
        "10^6 values in each other",
        &format!("{HEAD}{{\"key\":\"k\",\"value\":"),
        "{\"arrayValue\":{\"values\":[",
        "]}}",
        &format!("}}{TAIL}"),
    );
    assert!(values.spans() >= 2);
    let torn = nested("10^6 levels that do not end", "{\"resourceSpans\":", "{\"a\":[", "", "\n");
    assert_eq!(torn.spans(), 2);

    let jaeger = analyze("10^6 levels in a tag of Jaeger's", |out| {
        out.write_all(b"{\"data\":[{\"traceID\":\"1\",\"spans\":[{\"spanID\":\"2\",\"operationName\":\"o\",\"startTime\":1,\"duration\":2,\"tags\":[{\"key\":\"k\",\"value\":")?;
        repeat(out, b"[", LEVELS)?;
        repeat(out, b"]", LEVELS)?;
        out.write_all(b"}]},{\"spanID\":\"3\",\"operationName\":\"o\",\"startTime\":1,\"duration\":2}]}]}")
    });
    assert_eq!(jaeger.spans(), 1, "the other span was read");
    jaeger.issue("corrupt");

    // AnyValue in ArrayValue in AnyValue, lengths from the inside out.
    let mut value = vec![0x0a, 0x01, b'x'];
    for _ in 0..200_000 {
        let mut around = vec![0x0a];
        varint(&mut around, value.len());
        around.append(&mut value);
        value = vec![0x2a];
        varint(&mut value, around.len());
        value.append(&mut around);
        if value.len() > 1 << 20 {
            break;
        }
    }
    let mut message = value;
    for tags in [[0x12].as_slice(), &[0x4a], &[0x12], &[0x12], &[0x0a]] {
        let mut around = tags.to_vec();
        varint(&mut around, message.len());
        around.append(&mut message);
        message = around;
    }
    let proto = analyze("a protobuf value 10^5 levels deep", |out| {
        out.write_all(&(message.len() as u32).to_be_bytes())?;
        out.write_all(&message)
    });
    assert!(matches!(proto.code, Some(0 | 3)));
}

fn varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[test]
fn floods_of_attributes() {
    let ended = analyze("a span with 10^6 attributes", |out| {
        out.write_all(HEAD.as_bytes())?;
        for number in 0..1_000_000 {
            let comma = if number == 0 { "" } else { "," };
            write!(
                out,
                "{comma}{{\"key\":\"stepscope.value.{number}\",\"value\":{{\"intValue\":{number}}}}}"
            )?;
        }
        out.write_all(TAIL.as_bytes())
    });
    assert!(ended.spans() == 1 || !ended.issues("limit_reached").is_empty());
    let ended = analyze("an attribute of 60 MiB", |out| {
        out.write_all(HEAD.as_bytes())?;
        out.write_all(b"{\"key\":\"stepscope.thread.name\",\"value\":{\"stringValue\":\"")?;
        repeat(out, b"\\u00e9", 60 << 20)?;
        out.write_all(b"\"}}")?;
        out.write_all(TAIL.as_bytes())
    });
    assert!(ended.code.is_some());
    let ended = analyze("10^6 different resources", |out| {
        for number in 0..1_000_000u64 {
            writeln!(
                out,
                "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":{{\"stringValue\":\"s{number}\"}}}},\
                 {{\"key\":\"stepscope.run.id\",\"value\":{{\"stringValue\":\"r{number}\"}}}}]}},\
                 \"scopeSpans\":[{{\"spans\":[{}]}}]}}]}}",
                span(number + 1, number + 1, 0, "s", "")
            )?;
        }
        Ok(())
    });
    assert!(ended.code.is_some());
}

#[test]
fn a_million_traces_of_one_span() {
    let ended = analyze("10^6 traces of one span, each its own name", |out| {
        (1..=1_000_000)
            .try_for_each(|number| out.write_all(line(number, &format!("span {number}")).as_bytes()))
    });
    assert_eq!(ended.spans(), 1_000_000);
    let ended = analyze("a document of 10^6 traces of Jaeger's", |out| {
        out.write_all(b"{\"data\":[")?;
        for number in 1..=1_000_000 {
            let comma = if number == 1 { "" } else { "," };
            write!(
                out,
                "{comma}{{\"traceID\":\"{number:x}\",\"spans\":[{{\"traceID\":\"{number:x}\",\"spanID\":\"{number:x}\",\
                 \"operationName\":\"o\",\"startTime\":{number},\"duration\":5}}],\"processes\":{{}}}}"
            )?;
        }
        out.write_all(b"]}")
    });
    assert_eq!(ended.spans(), 1_000_000);
}

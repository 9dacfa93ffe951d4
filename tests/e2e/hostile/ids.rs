//! Ids and parents chosen to be slow: chains, cycles, collisions, one trace larger than memory.

use super::{LARGE_TRACE, analyze, analyze_within, span};

/// Spans of one trace on lines of a thousand.
fn spans(
    out: &mut dyn std::io::Write,
    count: u64,
    mut one: impl FnMut(u64) -> String,
) -> std::io::Result<()> {
    let mut number = 0;
    while number < count {
        out.write_all(b"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[")?;
        for at in 0..1_000.min(count - number) {
            let comma = if at == 0 { "" } else { "," };
            write!(out, "{comma}{}", one(number + at))?;
        }
        number += 1_000;
        out.write_all(b"]}]}]}\n")?;
    }
    Ok(())
}

const STEP: &str = ",\"attributes\":[{\"key\":\"step\",\"value\":{\"intValue\":\"7\"}}]";

#[test]
fn parents_made_to_be_slow() {
    const COUNT: u64 = 100_000;
    let ended = analyze("a chain of 10^5 spans", |out| {
        spans(out, COUNT, |number| span(1, number + 1, number, "s", ""))
    });
    assert_eq!(ended.spans(), COUNT);
    let ended = analyze("a chain of 10^5 spans, parents last", |out| {
        spans(out, COUNT, |number| {
            span(1, number + 1, if number + 1 == COUNT { 0 } else { number + 2 }, "s", "")
        })
    });
    assert_eq!(ended.spans(), COUNT);
    let ended = analyze("a cycle of 10^5 spans", |out| {
        spans(out, COUNT, |number| span(1, number + 1, (number + 1) % COUNT + 1, "s", ""))
    });
    assert_eq!(ended.spans(), COUNT);
    ended.issue("parent_cycle");
    // Whether a step lies in another one is asked of each of them, all the way up.
    let ended = analyze("10^5 steps below a chain of 10^5 spans", |out| {
        spans(out, 2 * COUNT, |number| {
            if number < COUNT {
                span(1, number + 1, number, "s", "")
            } else {
                span(1, number + 1, COUNT, "step", STEP)
            }
        })
    });
    assert_eq!(ended.spans(), 2 * COUNT);
    let ended = analyze("10^5 steps in each other", |out| {
        spans(out, COUNT, |number| span(1, number + 1, number, "step", STEP))
    });
    assert_eq!(ended.spans(), COUNT);
}

#[test]
fn one_trace_of_a_million_spans() {
    let ended = analyze_within(LARGE_TRACE, "a trace of 10^6 spans under one root", |out| {
        spans(out, 1_000_000, |number| span(1, number + 1, u64::from(number > 0), "s", ""))
    });
    let read = ended.spans();
    assert!(read == 1_000_000 || !ended.issues("limit_reached").is_empty(), "{read}");
}

/// A trace of one span.
fn lone(out: &mut dyn std::io::Write, trace: &str) -> std::io::Result<()> {
    writeln!(
        out,
        "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{\"traceId\":\"{trace}\",\"spanId\":\"0000000000000001\",\
         \"name\":\"s\",\"startTimeUnixNano\":\"1\",\"endTimeUnixNano\":\"2\"}}]}}]}}]}}"
    )
}

#[test]
fn ids_that_collide() {
    // The same low and the same high bytes, as tables look at either; ids that differ in one word only.
    let ended = analyze("3·10^5 trace ids that differ in one middle byte pair", |out| {
        for number in 0..300_000u64 {
            let trace = format!("{:08x}{:08x}{:016x}", 0, number, 0x0102_0304_0506_0708u64);
            lone(out, &trace)?;
        }
        Ok(())
    });
    assert_eq!(ended.spans(), 300_000);
    let ended = analyze("3·10^5 trace ids, multiples of 2^48 and 2^112", |out| {
        for number in 0..300_000u64 {
            let trace = format!("{:04x}{:012x}{:04x}{:012x}", number >> 16, 1, number & 0xffff, 1);
            lone(out, &trace)?;
        }
        Ok(())
    });
    assert_eq!(ended.spans(), 300_000);
    let ended = analyze("10^6 different spans of one id", |out| {
        spans(out, 1_000_000, |number| span(1, 7, 0, &format!("s{number}"), ""))
    });
    ended.issue("duplicate_span");
}

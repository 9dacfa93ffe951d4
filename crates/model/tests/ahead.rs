//! A thread that decodes ahead changes nothing of what is read: whole, damaged, torn, repeated and compressed
//! inputs that are large enough for it.

mod common;

use common::*;
use stepscope_model::{ReadOptions, ReadOutcome};

/// Everything that a reader gives: traces in the order in which they were delivered, points, damage, counts.
fn everything(threads: usize, inputs: &[(&str, &[u8])]) -> (String, ReadOutcome) {
    let mut options = ReadOptions::default();
    options.threads = threads;
    let (mut collected, outcome) = read_with(options, inputs);
    // Bytes are read sooner.
    collected.progress.clear();
    (format!("{collected:?}"), outcome)
}

/// More than is looked at ahead, in messages of some ten thousand bytes.
fn large(encode: impl Fn(&[GenMessage]) -> Vec<u8>) -> Vec<u8> {
    let bytes = encode(&run(0, 9_000, 100, 5));
    assert!(bytes.len() > 4 << 20, "{} bytes are read before a thread has started", bytes.len());
    bytes
}

fn same(inputs: &[(&str, &[u8])], what: &str) {
    let (one, two) = (everything(1, inputs), everything(2, inputs));
    assert!(one.1.spans > 0, "{what}");
    assert!(one == two, "{what}: {:?} {:?}", one.1, two.1);
}

#[test]
fn whole_inputs_are_read_alike() {
    let (lines, records) = (large(otlp::lines), large(otlp::prefixed));
    same(&[("a.jsonl", &lines)], "lines");
    same(&[("a.otlp", &records)], "records");
    same(&[("a.otlp", &records), ("b.otlp", &records), ("c.jsonl", &lines)], "one run three times");
    same(&[("a.gz", &otlp::gzip(&records))], "compressed");
}

#[test]
fn damaged_inputs_are_read_alike() {
    let mut random = Random(77);
    for (form, bytes) in [large(otlp::lines), large(otlp::prefixed)].into_iter().enumerate() {
        for round in 0..4 {
            let mut damaged = bytes.clone();
            for _ in 0..=round * 4 {
                let at = random.below(damaged.len() as u64) as usize;
                match random.below(3) {
                    0 => damaged[at] ^= 1 << random.below(8),
                    1 => drop(damaged.drain(at..(at + 1 + random.below(40_000) as usize).min(damaged.len()))),
                    _ => {
                        let end = (at + 20_000).min(damaged.len());
                        let piece = damaged[at..end].to_vec();
                        damaged.splice(at..at, piece);
                    }
                }
            }
            damaged.truncate(damaged.len() - random.below(10_000) as usize);
            same(&[("damaged", &damaged), ("whole", &bytes)], &format!("form {form}, round {round}"));
        }
    }
}

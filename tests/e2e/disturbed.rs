//! The report is a function of the set of spans: however the input is cut, shuffled, doubled, split into
//! files or into partials, its bytes stay the same apart from the list of inputs.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_testkit::random::Random;
use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder, disturb};

use crate::figures::{compare, compare_report};
use crate::program::{output, parse, report_text, stepscope};

fn options(seed: u64) -> ForestOptions {
    ForestOptions { steps: 150, spans_per_step: 12, seed, ..ForestOptions::default() }
}

/// A report without what tells how the input lay in files.
fn essence(text: &str) -> Value {
    let mut report = parse(text);
    let fields = report.as_object_mut().expect("a report is an object");
    fields.remove("inputs");
    fields.remove("read_issues");
    report
}

fn write(folder: &TempFolder, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the file is written");
    path
}

fn assert_same(expected: &Value, inputs: &[&Path], what: &str) {
    let got = essence(&report_text(inputs));
    assert!(got == *expected, "{what}: another report\n{}", difference(expected, &got, String::new()));
}

/// Where two reports part.
fn difference(a: &Value, b: &Value, at: String) -> String {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .filter(|(key, value)| b.get(*key) != Some(value))
            .map(|(key, value)| difference(value, b.get(key).unwrap_or(&Value::Null), format!("{at}.{key}")))
            .collect(),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => (0..a.len())
            .filter(|&index| a[index] != b[index])
            .map(|index| difference(&a[index], &b[index], format!("{at}[{index}]")))
            .collect(),
        _ => format!("{at}: {a} != {b}\n"),
    }
}

#[test]
fn order_repetition_and_files_do_not_matter() {
    for (format, seed) in [(Format::Proto, 31), (Format::Json, 32)] {
        let folder = TempFolder::new("disturbed").expect("a folder");
        let (messages, _) = Forest::new(options(seed)).messages(format);
        let whole = write(&folder, "whole", &disturb::file(&messages, format));
        let expected = essence(&report_text(&[&whole]));

        let mut shuffled = messages.clone();
        disturb::shuffle(&mut shuffled, seed);
        let shuffled_file = write(&folder, "shuffled", &disturb::file(&shuffled, format));
        assert_same(&expected, &[&shuffled_file], "shuffled");

        disturb::duplicate(&mut shuffled, 400, seed);
        let doubled = write(&folder, "doubled", &disturb::file(&shuffled, format));
        assert_same(&expected, &[&doubled], "shuffled, two of five messages twice");
        compare(&folder, &doubled);
        assert_same(&expected, &[&whole, &shuffled_file], "the whole run twice");

        let mut parts = vec![Vec::new(); 7];
        let mut random = Random::new(seed);
        for message in messages {
            parts[random.below(7) as usize].push(message);
        }
        let files: Vec<PathBuf> = (0..)
            .zip(&parts)
            .map(|(number, part): (u32, _)| {
                write(&folder, &format!("part-{number}"), &disturb::file(part, format))
            })
            .collect();
        let mut inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        inputs.reverse();
        assert_same(&expected, &inputs, "dealt into seven files");
    }
}

#[test]
fn a_file_cut_anywhere_gives_the_same_report_from_its_pieces() {
    for (format, seed) in [(Format::Proto, 41), (Format::Json, 42)] {
        let folder = TempFolder::new("cut").expect("a folder");
        let (messages, _) = Forest::new(options(seed)).messages(format);
        let bytes = disturb::file(&messages, format);
        let whole = write(&folder, "whole", &bytes);
        let expected = essence(&report_text(&[&whole]));
        // Of a message of spans that is torn all that is whole counts.
        compare_report(&folder, &write(&folder, "torn", &bytes[..bytes.len() * 3 / 5]));
        let mut random = Random::new(seed);
        // Every byte of a small file is cut in the reader's own tests; here random ones of a larger file.
        for round in 0..40 {
            let cut = usize::try_from(random.below(bytes.len() as u64)).expect("a small file");
            let (head, tail) = bytes.split_at(cut);
            let (head, tail) = (write(&folder, "head", head), write(&folder, "tail", tail));
            assert_same(&expected, &[&head, &tail], &format!("round {round}, cut at {cut}"));
            assert_same(&expected, &[&tail, &head], &format!("round {round}, cut at {cut}, tail first"));
        }
    }
}

#[test]
fn partials_merge_in_any_order() {
    let folder = TempFolder::new("partials").expect("a folder");
    let format = Format::Proto;
    let (messages, _) = Forest::new(options(51)).messages(format);
    let bytes = disturb::file(&messages, format);
    let whole = write(&folder, "whole", &bytes);
    let expected = essence(&report_text(&[&whole]));
    let mut random = Random::new(51);
    for round in 0..10 {
        // Four pieces, cut at any byte.
        let mut cuts: Vec<usize> = (0..3).map(|_| random.below(bytes.len() as u64) as usize).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut partials: Vec<PathBuf> = Vec::new();
        for (number, cut) in cuts.windows(2).enumerate() {
            let piece = write(&folder, &format!("piece-{number}"), &bytes[cut[0]..cut[1]]);
            if cut[0] == cut[1] {
                continue;
            }
            let partial = folder.join(format!("piece-{number}.partial"));
            output(stepscope(&["--quiet", "analyze", "--partial"]).arg(&partial).arg(&piece));
            partials.push(partial);
        }
        // The same partial once more counts once.
        partials.push(partials[0].clone());
        for swap in (1..partials.len()).rev() {
            partials.swap(swap, random.below(swap as u64 + 1) as usize);
        }
        let merged = output(stepscope(&["--quiet", "merge", "--format", "json"]).args(&partials));
        let merged = essence(&merged);
        assert!(merged == expected, "round {round}: {}", difference(&expected, &merged, String::new()));
    }
}

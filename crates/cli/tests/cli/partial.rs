//! Partial analyses: merged they give what `analyze` gives, byte for byte; damaged ones are refused.

use crate::program::{folder, framed, messages, output, recording, run, write};

#[test]
fn merged_partials_give_the_report_of_the_whole() {
    let folder = folder("merge");
    let all = messages("run-a", 1);
    // Messages hold parts of traces, so that traces span the partials.
    for (index, part) in all.chunks(all.len().div_ceil(4)).enumerate() {
        write(&folder, &format!("{index}.otlp"), &framed(part));
    }
    let inputs = ["0.otlp", "1.otlp", "2.otlp", "3.otlp"];
    for format in ["json", "text"] {
        let mut arguments = vec!["analyze", "--format", format];
        arguments.extend(inputs);
        let whole = output(folder.path(), &arguments);
        for input in inputs {
            let part = input.replace("otlp", "part");
            assert_eq!(output(folder.path(), &["analyze", "--partial", &part, input]), "");
        }
        let orders = [["0", "1", "2", "3"], ["3", "2", "1", "0"], ["2", "0", "3", "1"]];
        for order in orders {
            let parts = order.map(|index| format!("{index}.part"));
            let mut arguments = vec!["merge", "--format", format];
            arguments.extend(parts.iter().map(String::as_str));
            assert_eq!(output(folder.path(), &arguments), whole, "{order:?}");
        }
        // In two levels, the whole also beside its parts.
        output(folder.path(), &["merge", "0.part", "2.part", "--partial", "even.part"]);
        output(folder.path(), &["merge", "3.part", "1.part", "--partial", "odd.part"]);
        let two_levels = output(folder.path(), &["merge", "--format", format, "odd.part", "even.part"]);
        assert_eq!(two_levels, whole);
        let with_parts = ["merge", "--format", format, "0.part", "odd.part", "3.part", "even.part"];
        assert_eq!(output(folder.path(), &with_parts), whole);
    }
}

#[test]
fn a_partial_named_twice_counts_once() {
    let folder = folder("twice");
    write(&folder, "a.otlp", &recording("run-a", 1));
    output(folder.path(), &["analyze", "--partial", "a.part", "a.otlp"]);
    std::fs::copy(folder.join("a.part"), folder.join("copy.part")).expect("a file can be copied");
    let whole = output(folder.path(), &["analyze", "--format", "json", "a.otlp"]);
    assert_eq!(output(folder.path(), &["merge", "--format", "json", "a.part", "a.part"]), whole);
    assert_eq!(output(folder.path(), &["merge", "--format", "json", "copy.part", "a.part"]), whole);
}

#[test]
fn equal_input_gives_equal_partials() {
    let folder = folder("equal");
    write(&folder, "a.otlp", &recording("run-a", 1));
    output(folder.path(), &["analyze", "--partial", "1.part", "a.otlp"]);
    output(folder.path(), &["analyze", "--partial", "2.part", "a.otlp"]);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert!(read("1.part") == read("2.part"));
}

#[test]
fn torn_and_foreign_partials_are_code_3() {
    let folder = folder("torn");
    write(&folder, "a.otlp", &recording("run-a", 1));
    output(folder.path(), &["analyze", "--partial", "a.part", "a.otlp"]);
    let bytes = std::fs::read(folder.join("a.part")).expect("it was written");
    write(&folder, "torn.part", &bytes[..bytes.len() / 2]);
    for (name, words) in
        [("torn.part", "cut off"), ("a.otlp", "no partial analysis"), ("missing.part", "missing.part")]
    {
        let ended = run(folder.path(), &["merge", "a.part", name]);
        assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{name}");
        assert!(ended.stderr.contains(words) && ended.stderr.contains(name), "{}", ended.stderr);
    }
}

#[test]
fn the_other_command_is_named_where_one_is_mistaken_for_it() {
    let folder = folder("mistaken");
    write(&folder, "profiles/a.otlp", &recording("run-a", 1));
    output(folder.path(), &["analyze", "--partial", "a.part"]);
    let part = std::fs::read(folder.join("a.part")).expect("it was written");
    let by_name = run(folder.path(), &["analyze", "a.part"]);
    let by_stdin = crate::program::run_with(folder.path(), &["analyze", "-"], &part);
    for (ended, words) in [
        (by_name, "stepscope merge a.part"),
        (by_stdin, "stepscope merge -"),
        (run(folder.path(), &["merge", "profiles/"]), "stepscope analyze profiles/"),
        (run(folder.path(), &["merge", "profiles/a.otlp"]), "stepscope analyze"),
    ] {
        assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn findings_fail_a_merge_too() {
    let folder = folder("merge-fail");
    write(&folder, "a.otlp", &recording("run-a", 1));
    output(folder.path(), &["analyze", "--partial", "a.part", "a.otlp"]);
    let same = |arguments: &[&str]| run(folder.path(), arguments).code;
    assert_eq!(same(&["merge", "a.part", "--fail-on", "0"]), same(&["analyze", "a.otlp", "--fail-on", "0"]));
    assert_eq!(same(&["merge", "a.part", "--run", "no-such-run"]), 2);
}

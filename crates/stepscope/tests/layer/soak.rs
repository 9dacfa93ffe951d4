//! The long tests of the layer, `examples/soak`, shortly. They fail by themselves; here they are run, and what they say of
//! memory is judged. What large ones say: `docs/trust.md`.

use std::path::Path;

use crate::common::Program;

#[test]
fn random_sequences_leave_what_a_sequential_model_says() {
    let ended = Program::of_example("soak", &["sequences", "5000", "3"]).succeed();
    assert_eq!(ended.stderr, "");
    let truth = ended.truth();
    assert_eq!((truth["sequences"], truth["in_turn"]), (5_000, 2_500));
    assert!(truth["spans"] > 10 * truth["sequences"] && truth["paths"] > 100, "{truth:?}");
}

#[test]
fn threads_that_come_and_go_lose_nothing_uncounted_and_leave_no_memory() {
    let spans = 800_000;
    let ended = Program::of_example("soak", &["threads", &spans.to_string()]).succeed();
    let truth = ended.truth();
    assert_eq!(truth["spans"], spans);
    assert!(truth["threads"] >= 40 && truth["arrived"] > spans / 2, "{truth:?}");
    // Where nothing was lost it holds itself to 4 MiB, six bytes a span, and else to 36 MiB, 53 bytes: of one that stayed open
    // there would be some hundred, and of a thread all of its ring. (And it says so of resident memory, with what allocators
    // keep.)
    let growth = truth["used.end_bytes"].saturating_sub(truth["used.tenth_bytes"]);
    let most = if truth["lost"] > 0 { 36 << 20 } else { 4 << 20 };
    assert!(growth <= most && most < 90 * (spans - spans / 10), "{truth:?}");
}

#[test]
fn sums_are_exact_while_the_level_changes_all_the_time() {
    let ended = Program::of_example("soak", &["levels", "2000", "5"]).succeed();
    assert_eq!(ended.stderr, "");
    let truth = ended.truth();
    assert!(truth["sections"] > 3 * 2_000 && truth["paths"] > 400 && truth["changes"] > 10, "{truth:?}");
    assert!(truth["arrived"] > 0 && truth["failed"] > 0 && truth["lost"] > 0, "{truth:?}");
}

/// The text of all files below `directory`.
fn sources(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { sources(&path) } else { std::fs::read_to_string(path).unwrap() })
        .collect()
}

#[test]
fn each_case_of_the_documents_has_its_test() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(package.join("../../docs/trust.md")).unwrap();
    let (_, cases) = page.split_once("| case | what is expected | test |\n|---|---|---|\n").unwrap();
    let tests = sources(&package.join("tests")) + &sources(&package.join("../opentelemetry/tests"));
    let code = sources(&package.join("src"));
    let rows: Vec<&str> = cases.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20);
    for row in rows {
        let named: Vec<&str> = row.split('|').nth(3).unwrap().split(", ").collect();
        for name in named {
            let head = format!("#[test]\nfn {}()", name.trim().trim_matches('`'));
            let indented = head.replace('\n', "\n    ");
            let is_there = tests.contains(&head) || code.contains(&head) || code.contains(&indented);
            assert!(is_there, "no test is called {name}: {row}");
        }
    }
}

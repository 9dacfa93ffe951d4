//! The critical path and self times of published cases that others made for their own tools: those of CRISP
//! (exclusive time an operation, slack) and of Jaeger's UI (sections, self times). The cases lie in a folder of published
//! traces (`STEPSCOPE_SHARED_DATA`); what reports make of them is in `through_readers`.

#![expect(clippy::unwrap_used, reason = "a test's helper that fails, fails the test")]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_analyze::critical_path::{Member, NO_PARENT, Piece, Standing, Walk};
use stepscope_testkit::published;

mod short_profiles;
mod through_readers;

/// The folders of CRISP's cases.
const CRISP: [&str; 3] = ["crisp", "crisp/err_pattern1", "crisp/err_pattern3"];

/// The published cases of some folders, if the published ones are there.
fn cases(folders: &[&str]) -> Option<Vec<PathBuf>> {
    let root = published::folder()?;
    let entries = |folder: &&str| std::fs::read_dir(root.join(folder)).unwrap();
    let mut files: Vec<PathBuf> =
        folders.iter().flat_map(entries).map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    Some(files)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key} in {value}"))
}

/// A trace of Jaeger's, with the ids of its spans in the members' order.
struct Case {
    members: Vec<Member>,
    ids: Vec<String>,
}

impl Case {
    fn new(trace: &Value) -> Self {
        let spans = trace["spans"].as_array().unwrap();
        let index: HashMap<&str, u32> =
            (0..).zip(spans).map(|(at, span)| (text(span, "spanID"), at)).collect();
        let mut processes: Vec<&str> = spans.iter().map(|span| text(span, "processID")).collect();
        processes.sort_unstable();
        processes.dedup();
        let kind = |span: &Value| {
            let tags = span["tags"].as_array().into_iter().flatten();
            tags.filter(|tag| tag["key"] == "span.kind")
                .find_map(|tag| tag["value"].as_str())
                .map(str::to_owned)
        };
        let members = spans
            .iter()
            .zip(1..)
            .map(|(span, id)| {
                let start_ns = span["startTime"].as_u64().unwrap();
                let reference = span["references"].as_array().and_then(|all| all.first());
                let parent = reference.and_then(|one| index.get(text(one, "spanID"))).copied();
                let follows = reference.is_some_and(|one| one["refType"] == "FOLLOWS_FROM");
                let produced = parent.is_some_and(|parent| {
                    kind(&spans[parent as usize]).as_deref() == Some("producer")
                        && kind(span).as_deref() == Some("consumer")
                });
                Member {
                    start_ns,
                    end_ns: start_ns + span["duration"].as_u64().unwrap(),
                    parent: parent.unwrap_or(NO_PARENT),
                    id,
                    process: processes.iter().position(|&name| name == text(span, "processID")).unwrap()
                        as u32,
                    thread: None,
                    is_suspended: false,
                    is_detached: follows || produced,
                    awaits: NO_PARENT,
                }
            })
            .collect();
        Self { members, ids: spans.iter().map(|span| text(span, "spanID").to_owned()).collect() }
    }

    /// The path of each root, latest piece first.
    fn path(&self) -> Vec<Piece> {
        path(&self.members)
    }
}

/// The path of each root, latest piece first.
fn path(members: &[Member]) -> Vec<Piece> {
    let (mut path, mut pieces, mut standing) = (Vec::new(), Vec::new(), Vec::new());
    let mut walk = Walk::default();
    for (root, _) in
        (0..).zip(members).filter(|(_, member)| member.parent == NO_PARENT && !member.is_detached)
    {
        walk.run(members, root, &mut pieces, &mut standing);
        path.append(&mut pieces);
    }
    path
}

/// What a case of CRISP expects: microseconds by operation.
fn expected_of_crisp(document: &Value) -> BTreeMap<&str, u64> {
    let testing = &document["testing"];
    let expected = testing.as_array().map_or(&testing["opTimeExclusive"], |all| &all[0]);
    let times = expected.as_object().unwrap().iter();
    times.map(|(name, time)| (name.as_str(), time.as_u64().unwrap())).filter(|&(_, time)| time > 0).collect()
}

/// Slack of what is beside the path in the cases of CRISP. What CRISP's own figure has beyond ours is how much earlier a
/// span could have begun: the time that it overlaps the one on the path that came before. Nothing would have ended later
/// for it to use, so that it is no room here.
#[test]
fn slack_is_that_of_crisp_but_for_earlier_starts() {
    let Some(files) = cases(&CRISP[..1]) else { return };
    let Some(root) = files[0].parent().and_then(Path::parent) else { return };
    let all = json(&root.join("expected/crisp_exclusive_slack_drag.json"));
    let mut beside = Vec::new();
    for (name, expected) in all.as_object().unwrap() {
        let Some(file) = files.iter().find(|file| file.ends_with(name)) else { continue };
        let case = Case::new(&json(file)["data"][0]);
        let root = case.members.iter().position(|member| member.parent == NO_PARENT).unwrap();
        let (mut pieces, mut standing) = (Vec::new(), Vec::new());
        Walk::default().run(&case.members, root as u32, &mut pieces, &mut standing);
        for (member, standing) in case.members.iter().zip(&standing) {
            let of_crisp = expected["slack"][&case.ids[member.id as usize - 1]].as_f64();
            let Some(of_crisp) = of_crisp.map(|slack| slack as u64) else { continue };
            let Standing::Slack(slack) = *standing else {
                assert_eq!(of_crisp, 0, "{name}: on the path or never waited for");
                continue;
            };
            let on_path = |piece: &&Piece| {
                let before = &case.members[piece.member as usize];
                before.parent == member.parent
                    && (before.start_ns..before.end_ns).contains(&member.start_ns)
                    && before.end_ns <= member.end_ns
            };
            let before =
                pieces.iter().find(on_path).map(|piece| case.members[piece.member as usize].start_ns);
            assert_eq!(slack + before.map_or(0, |before| member.start_ns - before), of_crisp, "{name}");
            beside.push(name.as_str());
        }
    }
    assert_eq!(beside, ["12.json", "14.json", "16.json"]);
}

/// Cases of Jaeger's UI: the sections that its own test expects.
#[test]
fn sections_are_those_that_jaegers_ui_expects() {
    let Some(files) = cases(&["jaeger_ui/critical_path"]) else { return };
    for file in files {
        let document = json(&file);
        let case = Case::new(&document["trace"]);
        let mut sections: Vec<(&str, u64, u64)> = case
            .path()
            .iter()
            .map(|piece| (case.ids[piece.member as usize].as_str(), piece.start_ns, piece.end_ns))
            .collect();
        sections.sort_unstable();
        let number = |section: &Value, key: &str| section[key].as_u64().unwrap();
        let mut expected: Vec<(&str, u64, u64)> = document["expected_critical_path_sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (text(one, "spanID"), number(one, "sectionStart"), number(one, "sectionEnd")))
            .collect();
        expected.sort_unstable();
        assert_eq!(sections, expected, "{}", file.display());
    }
}

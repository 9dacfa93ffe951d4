//! Names of directories, and appends that fail.

use super::*;
use crate::context::identity::Given;

#[test]
fn names_cannot_leave_the_directory() {
    let given = Given { run_id: Some("../../etc".into()), ..Given::default() };
    let identity = Identity { host: "a/b".into(), ..Identity::resolve(given, |_| None, &mut Vec::new()) };
    let path = process_directory(Path::new("base"), &identity);
    let expected = format!("base/.._.._etc/0/a_b-{}-r0", std::process::id());
    assert_eq!(path, Path::new(&expected));
    let long = "漢".repeat(90);
    let given = Given { run_id: Some(long.clone()), ..Given::default() };
    let path = process_directory(Path::new("base"), &Identity::resolve(given, |_| None, &mut Vec::new()));
    assert!(path.starts_with(Path::new("base").join("漢".repeat(66))), "{path:?}");
    let given = Given { run_id: Some("..".into()), ..Given::default() };
    let path = process_directory(Path::new("base"), &Identity::resolve(given, |_| None, &mut Vec::new()));
    assert!(path.starts_with("base/_"), "{path:?}");
}

#[test]
fn a_failed_append_leaves_the_file_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("read-only");
    fs::write(&path, b"before").unwrap();
    // Opened for reading only, so every write fails.
    let file = GuardedFile::new(fs::File::open(&path).unwrap());
    let mut open =
        OpenFile { turn: 1, path: path.clone(), file, bytes: 6, spans: 0, marked_bytes: 0, protected: false };
    assert!(open.append(b"more").is_err());
    assert_eq!((open.bytes, fs::read(&path).unwrap()), (6, b"before".to_vec()));
}

//! Readers that go away: no message, no failure.

use std::io::Read;
use std::process::Stdio;

use crate::program::{command, folder, recording, write};

#[test]
fn a_closed_pipe_is_silent() {
    let folder = folder("pipe");
    write(&folder, "a.otlp", &recording("run-a", 1));
    let calls: [&[&str]; 4] = [
        &["analyze", "a.otlp", "--format", "json"],
        &["analyze", "a.otlp"],
        &["explain", "input_bound"],
        &["completions", "bash"],
    ];
    for call in calls {
        let mut command = command(folder.path(), call);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        // The reader is gone before anything is written.
        drop(child.stdout.take());
        let mut stderr = String::new();
        let mut pipe = child.stderr.take().expect("its errors are a pipe");
        pipe.read_to_string(&mut stderr).expect("errors are text");
        let status = child.wait().expect("the program ends");
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""), "{call:?}");
    }
}

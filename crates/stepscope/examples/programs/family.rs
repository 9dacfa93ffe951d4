//! A process that starts others, each told where it was started from.

use std::process::Command;

use stepscope::{TraceContext, context, section, step};

const STEPS: u64 = 3;

/// Starts `children`, one a step, and waits for each: ranks after this one.
pub(crate) fn start(children: u64) {
    let _run = crate::start();
    for child in 0..children {
        let _step = step!(child);
        let _section = section!("start");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("child").envs(context().environment()).env("RANK", (child + 1).to_string());
        assert!(command.status().unwrap().success());
    }
}

/// One of these: trains, serves one request of the process that started it, and says what that told it.
pub(crate) fn child() {
    let _run = crate::start();
    let caller = TraceContext::from_environment();
    for number in 0..STEPS {
        let _step = step!(number);
        let _section = section!("work");
    }
    {
        let _section = section!("serve");
        caller.link();
    }
    for (name, value) in caller.headers() {
        println!("{name}: {value}");
    }
}

//! What is tracked, changed between steps: ten steps of each, whose sections allocate, write a file and have phases.

use std::hint::black_box;

use stepscope::{Track, section, step};
use tracing::info_span;

use crate::say;

/// Ten steps with each of these tracks, separated by `;`.
pub(crate) fn run(tracks: &str) {
    let run = crate::start();
    let handle = run.handle();
    // Without words it stays at what the environment says.
    let tracks: Vec<&str> = tracks.split(';').collect();
    let mut number = 0;
    for text in &tracks {
        if !text.is_empty() {
            let track: Track = text.parse().unwrap();
            handle.set_track(track);
            assert_eq!(handle.track(), track);
        }
        for _ in 0..10 {
            one_step(number);
            number += 1;
        }
    }
    for section in handle.figures().sections() {
        println!("memory\t{}\t{}", section.path, section.memory.map_or(0, |memory| memory.count));
    }
    drop(run);
    for path in ["step", "step/work", "step/work/inside", "step/backward", "step/backward/inside"] {
        say(path, number);
    }
    say("run", 1);
}

fn one_step(number: u64) {
    let _step = step!(number);
    {
        let _work = section!("work", phase = Forward);
        black_box(vec![1u8; 1 << 20]);
        std::fs::write("tracked.bin", [7; 1_000]).unwrap();
        let _inside = section!("inside");
    }
    // Its name says the phase.
    info_span!("backward").in_scope(|| {
        black_box(vec![1u8; 1 << 20]);
        drop(section!("inside"));
    });
}

//! Cost of the counting allocator: instructions of a pair of allocation and free in a churn of 4,096 slots with blocks of 16 to
//! 256 bytes, and the time of 64 MiB zeroed. `count` runs itself under callgrind; the other commands are what it counts. `table`
//! says what memory the table takes. Figures are in docs/memory-costs.md.

mod table;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

static ALLOC: stepscope_mem::Alloc = stepscope_mem::Alloc::system();

const SLOTS: usize = 4_096;

/// Frees one block and allocates another, so often.
#[inline(never)]
fn churn(allocator: &impl GlobalAlloc, pairs: usize) {
    let mut slots = vec![(std::ptr::null_mut::<u8>(), Layout::new::<u8>()); SLOTS];
    let mut random = 1_u32;
    for _ in 0..pairs {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        let slot = &mut slots[random as usize % SLOTS];
        let size = 16 + (random >> 16) as usize % 241;
        // SAFETY: a block is freed with the layout that it was allocated with, and sizes are not 0.
        unsafe {
            if !slot.0.is_null() {
                allocator.dealloc(slot.0, slot.1);
            }
            slot.1 = Layout::from_size_align_unchecked(size, 8);
            slot.0 = black_box(allocator.alloc(slot.1));
        }
    }
    for (pointer, layout) in slots {
        if !pointer.is_null() {
            // SAFETY: as above.
            unsafe { allocator.dealloc(pointer, layout) };
        }
    }
}

fn run(what: &str, pairs: usize) {
    match what {
        "system" => churn(&System, pairs),
        "off" => churn(&ALLOC, pairs),
        "on" => {
            stepscope_mem::live::start(512 << 10);
            churn(&ALLOC, pairs);
        }
        "zeroed" => zeroed(),
        other => panic!("unknown {other}"),
    }
}

fn zeroed() {
    stepscope_mem::live::start(512 << 10);
    let layout = Layout::from_size_align(64 << 20, 8).unwrap();
    let mut times: Vec<u128> = (0..1_000)
        .map(|_| {
            let start = Instant::now();
            // SAFETY: freed with the layout that it was allocated with.
            unsafe { ALLOC.dealloc(black_box(ALLOC.alloc_zeroed(layout)), layout) };
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    println!("64 MiB zeroed and freed: {} ns, median of 1,000", times[500]);
}

/// Instructions of so many pairs.
fn instructions(what: &str, pairs: usize) -> f64 {
    let program = std::env::current_exe().unwrap();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([what, &pairs.to_string()])
        .output()
        .expect("valgrind is needed");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line =
        text.lines().find_map(|line| line.split_once("Collected :")).unwrap_or_else(|| panic!("{text}"));
    line.1.trim().parse().unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["count"] => {
            println!("instructions of a pair of allocation and free, 16 to 256 bytes, 4,096 slots:");
            for what in ["system", "off", "on"] {
                let pair = (instructions(what, 600_000) - instructions(what, 200_000)) / 400_000.0;
                println!("{what:>8} {pair:6.1}");
            }
            zeroed();
        }
        ["table"] => {
            for (samples, stacks) in table::ROWS {
                let arguments = ["table".to_owned(), samples.to_string(), stacks.to_string()];
                let row = Command::new(std::env::current_exe().unwrap()).args(arguments).status();
                assert!(row.unwrap().success());
            }
        }
        ["table", samples, stacks] => table::row(samples.parse().unwrap(), stacks.parse().unwrap()),
        [what, pairs] => run(what, pairs.parse().unwrap()),
        _ => panic!("count, table, or system|off|on|zeroed PAIRS"),
    }
}

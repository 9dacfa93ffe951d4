//! Phases of every kind, in all the ways to say them.

use std::pin::pin;
use std::task::{Context, Waker};

use stepscope::{profile, section, step};
use tracing::info_span;

/// More than is kept of a text.
macro_rules! long {
    ($go_on:ident) => {
        $go_on!("a phase whose name is so long that nobody would ever want to read it to the end, which is why only the first two \
                 hundred and fifty-six bytes of it are kept, wherever it is said, as of all texts; whatever comes behind them is \
                 not there any more, and nobody misses it")
    };
}

macro_rules! sections {
    ($phase:literal) => {
        drop(section!("section", phase = $phase, samples = 3, ratio = 0.5));
        drop(section!("section", phase = $phase));
        info_span!("section", stepscope.phase = $phase, stepscope.samples = 3, ratio = 0.5).in_scope(|| ());
        info_span!("section", stepscope.phase = $phase).in_scope(|| ());
    };
}

#[profile(phase = "reward model", fields(samples = 3))]
fn own() {}

#[profile(phase = "reward model")]
async fn own_later() {}

#[profile(phase = "forward")]
fn known() {}

#[profile(phase = "forward")]
async fn known_later() {}

struct Rewards;

#[profile(phase = "reward model")]
impl Rewards {
    fn of_block() {}

    #[profile(phase = Backward)]
    fn of_method() {}
}

pub(crate) fn run() {
    /// A name that the macro has, too, and does not see.
    const PHASE: u32 = 7;

    let _run = crate::start();
    let _step = step!(0);
    sections!("reward model");
    sections!("forward");
    sections!("forward_");
    sections!("Forward");
    long!(sections);
    // More than a section has room for in its frame.
    let text = "eight by eight bytes are what a line of this is, and more of it.";
    drop(section!("wide", phase = "reward model", a = text, b = text, number = PHASE));
    own();
    known();
    for future in [pin!(own_later()) as std::pin::Pin<&mut dyn Future<Output = ()>>, pin!(known_later())] {
        assert!(future.poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
    Rewards::of_block();
    Rewards::of_method();
}

//! The programs that the tests of the layer run as child processes, one scenario a run:
//! `programs NAME ARGUMENTS…`. Each says on standard output what it did, as lines `= name value`, so that the
//! tests have a truth that does not come from the layer.
#![expect(clippy::print_stdout, reason = "standard output is how a scenario reports what it did")]
#![expect(clippy::unwrap_used, reason = "a scenario that cannot go on fails its test")]

mod around;
mod between;
mod budget;
mod captured;
mod clock;
mod deep;
mod evaluated;
mod everything;
mod exemplars;
mod family;
mod figures;
mod futures;
#[cfg(feature = "metrics")]
mod gauged;
mod levels;
mod live_memory;
mod loader;
mod logs;
mod memory;
mod mixed;
mod narrow;
mod order;
mod outlived;
mod phases;
mod plain;
mod planted;
mod pool;
mod process;
mod profiled;
mod ranks;
mod sieve;
mod storm;
mod system;
mod tracked;
mod unusual;
mod unwinding;
mod volume;
mod way;
#[cfg(feature = "fmt")]
mod with_ids;

use way::Way;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// Whether the programs record through the root subscriber, and not through the layer.
fn is_root() -> bool {
    Way::of_environment().is_root()
}

/// Records with these settings, by the way that was asked for.
fn install(builder: stepscope::Builder) -> stepscope::Guard {
    Way::of_environment().install(builder)
}

/// Records with the defaults and the environment's settings.
fn start() -> stepscope::Guard {
    match Way::of_environment() {
        Way::Layer => stepscope::init(),
        way => way.install(stepscope::builder()),
    }
}

/// Says what the program itself counted or measured.
fn say(name: &str, value: u64) {
    println!("= {name} {value}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |position: usize| arguments.get(position).map_or("", String::as_str);
    let number = |position: usize| argument(position).parse::<u64>().unwrap();
    match argument(0) {
        "plain" => {
            let _run = start();
            say("formatted", plain::train(number(1)));
        }
        "heads" => {
            let _run = start();
            plain::heads();
        }
        "around" => around::run(argument(1), argument(2)),
        "nested" => around::nested(argument(1)),
        "between" => between::run(number(1), number(2)),
        "fed" => between::fed(number(1), number(2)),
        "evaluated" => evaluated::run(number(1), number(2)),
        "strays" => around::strays(),
        "captured" => captured::run(argument(1)),
        "deep" => deep::locked(number(1), number(2)),
        "deep_forked" => deep::forked(),
        "figures" => figures::run(argument(1)),
        "figures_asked" => figures::asked(argument(1)),
        "exemplars" => exemplars::run(number(1)),
        "family" => family::start(number(1)),
        "child" => family::child(),
        "futures" => futures::run(),
        #[cfg(feature = "metrics")]
        "gauged" => gauged::run(argument(1)),
        "logs" => logs::run(argument(1), argument(2)),
        "mixed" => mixed::run(),
        "narrow" => narrow::run(argument(1)),
        "order" => order::run(),
        "outlived" => match argument(1) {
            "log" => outlived::log(argument(2)),
            "small" => outlived::small(number(2)),
            "ids" => outlived::ids(number(2)),
            "between" => outlived::between(number(2)),
            _ => outlived::together(number(2), number(3) as usize),
        },
        "phases" => phases::run(),
        "levels_between" => levels::between(argument(1)),
        "levels_within" => levels::within(),
        "sieve" => sieve::run(number(1)),
        "said" => sieve::said(number(1)),
        "costs" => sieve::costs(number(1)),
        "hot" => sieve::hot(number(1), number(2)),
        "memory" => memory::run(argument(1)),
        "live_memory" => live_memory::run(argument(1)),
        "loader" => loader::run(number(1)),
        "iterate" => loader::iterate(number(1)),
        "evaluate" => loader::evaluate(argument(1)),
        "sources" => loader::sources(argument(1)),
        "planted" => planted::run(argument(1), number(2), number(3)),
        "pool" => pool::run(number(1), number(2), number(3)),
        "ranks" => ranks::run(argument(1), number(2)),
        "profiled" => profiled::run(number(1)),
        "process" => process::run(argument(1)),
        "budget" => {
            let or_zero = |position: usize| argument(position).parse().unwrap_or(0);
            budget::run(or_zero(2), number(1), argument(3), or_zero(4));
        }
        "alone" => volume::alone(number(1)),
        "wide" => volume::wide(number(1)),
        "wide_spans" => volume::wide_spans(number(1)),
        "names" => volume::names(number(1)),
        "paths" => volume::paths(number(1), number(2), number(3)),
        "flood" => volume::flood(number(1)),
        "at_once" => volume::at_once(number(1)),
        "forgotten" => volume::forgotten(number(1)),
        "idle" => volume::idle(number(1), number(2)),
        "killed_in_a_step" => volume::killed_in_a_step(number(1), argument(2)),
        "marked" => volume::marked(number(1)),
        "failing" => volume::failing(number(1)),
        "flood_phases" => volume::flood_phases(number(1)),
        "threads" => volume::threads(number(1)),
        "crowd" => volume::crowd(number(1)),
        "crowds" => volume::crowds(number(1), number(2)),
        "storm" => storm::run(number(1), number(2)),
        "clock" => clock::run(),
        "suspended" => clock::suspended(),
        "everything" => everything::run(number(1)),
        "system" => system::run(),
        "system_of_others" => system::of_others(),
        "tracked" => tracked::run(argument(1)),
        "together" => unusual::together(),
        "outlive" => unusual::outlive(),
        "ids" => unusual::ids(number(1), argument(2)),
        "epochs" => unusual::epochs(),
        "namesakes" => unusual::namesakes(),
        "strangers" => unusual::strangers(argument(1) == "filtered"),
        "runs" => unusual::runs(),
        "stray" => unusual::stray(),
        "reentrant" => unusual::reentrant(argument(1)),
        "overfull" => unusual::overfull(number(1), number(2)),
        "unwinding" => unwinding::run(),
        #[cfg(feature = "fmt")]
        "with_ids" => with_ids::run(argument(1), argument(2)),
        other => panic!("no scenario is called {other:?}"),
    }
}

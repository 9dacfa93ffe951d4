//! What a kill costs, by the clock: of fifty killed runs each lacks the last half second at most (a second, where the machine
//! is slow).

use stepscope_testkit::TempFolder;
use stepscope_testkit::random::Random;

use crate::killed::killed;
use crate::program::{alone, report};

const KILLS: u32 = 50;

/// Of how many more than a second may be missing, up to ten: the machine gave the thread that writes no time.
const LATE: u32 = KILLS / 10;

#[test]
fn a_kill_costs_the_last_second_at_most() {
    let _alone = alone();
    let mut random = Random::new(10);
    let (mut worst_ns, mut late) = (0, 0);
    for kill in 0..KILLS {
        let folder = TempFolder::new("kill-costs").expect("a folder");
        let (profiles, killed_ns) = killed(&folder, &mut random);
        let last_ns = report(&[&profiles])["run"]["last_ns"].as_u64();
        let last_ns = last_ns.unwrap_or_else(|| panic!("kill {kill}: no last span"));
        let missing_ns = killed_ns.saturating_sub(last_ns);
        worst_ns = worst_ns.max(missing_ns);
        late += u32::from(missing_ns > 1_000_000_000);
        assert!(missing_ns <= 10_000_000_000 && late <= LATE, "kill {kill}: {missing_ns} ns are missing");
    }
    println!("{KILLS} kills: at most {:.0} ms missing, more than a second of {late}", worst_ns as f64 / 1e6);
}

//! The program from end to end, on real training runs and on generated ones. Needs the built program
//! (`cargo xtask test e2e situations timed` builds it first) and `python3`.

#![expect(clippy::print_stdout, reason = "the measured figures belong into the log of a test run")]

mod between;
mod demo;
mod disturbed;
mod doctor;
mod evaluated;
mod family;
mod figures;
mod figures_of_programs;
mod golden;
mod hostile;
mod kill_costs;
mod killed;
mod kineto;
mod planted;
mod pool;
mod program;
mod ranks;
mod readme;
mod recorded;
mod scale;
mod situations;
mod slower;

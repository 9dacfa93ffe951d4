//! The exit codes of the program, once: scripts branch on them, `--help` prints them.

/// All went well, and nothing was found that `--fail-on` asks about.
pub(crate) const FINE: u8 = 0;
/// A finding has at least the severity that `--fail-on` names; for `doctor`, something is broken.
pub(crate) const FINDINGS: u8 = 1;
/// The command line makes no sense. The value is that of the argument parser.
pub(crate) const USAGE: u8 = 2;
/// The input could not be read, or the output not be written.
pub(crate) const UNREADABLE: u8 = 3;
/// The program itself is at fault.
pub(crate) const INTERNAL: u8 = 4;

/// `record`: the program is there, but could not be started. As `env` and `nohup` have it.
pub(crate) const NOT_STARTED: u8 = 126;
/// `record`: there is no such program.
pub(crate) const NO_PROGRAM: u8 = 127;

/// Every code of every command and what it means.
pub(crate) const TABLE: &[(u8, &str)] = &[
    (FINE, "fine"),
    (FINDINGS, "a finding is at least as severe as --fail-on"),
    (USAGE, "wrong usage"),
    (UNREADABLE, "input that cannot be read, or output that cannot be written"),
    (INTERNAL, "a fault of stepscope itself"),
];

/// The table as the help prints it.
#[must_use]
pub(crate) fn help() -> String {
    let mut text = String::from("Exit codes:\n");
    for (code, meaning) in TABLE {
        text.push_str(&format!("  {code}  {meaning}\n"));
    }
    text
}

//! What `doctor` looks at and what it says: findings, each with its fix. A check is a file here; which of them are
//! asked, and running the user's program, is `command::doctor`'s business.

pub(crate) mod binary;
pub(crate) mod endpoint;
pub(crate) mod recording;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod surroundings;
pub(crate) mod variables;

use serde::Serialize;

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// As it should be.
    Fine,
    /// Worth knowing; something may be missing from reports.
    Note,
    /// Does not do what the user meant.
    Broken,
}

/// What one check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// Name of the check.
    pub(crate) check: &'static str,
    /// How it is.
    pub(crate) state: State,
    /// What was found, a sentence.
    pub(crate) text: String,
    /// What to do; absent where nothing is to be done.
    pub(crate) fix: Option<String>,
}

/// All is well.
pub(crate) fn fine(check: &'static str, text: impl Into<String>) -> Finding {
    Finding { check, state: State::Fine, text: text.into(), fix: None }
}

/// Something to know, and what can be done about it.
pub(crate) fn note(check: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { check, state: State::Note, text: text.into(), fix: Some(fix.into()) }
}

/// Something that does not work, and its fix.
pub(crate) fn broken(check: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { check, state: State::Broken, text: text.into(), fix: Some(fix.into()) }
}

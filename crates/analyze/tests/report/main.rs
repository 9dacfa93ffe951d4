//! Rules, report and renderers on summaries made by hand: what is found, what is fine, what cannot be known,
//! and how it is told.

#![expect(clippy::unwrap_used, reason = "a test whose fixture is wrong cannot go on")]

mod build;
mod document;
mod fixture;
mod formats;
mod measured;
mod planted;
mod ranks;
mod registry;
mod rules;
mod schema;
mod text;

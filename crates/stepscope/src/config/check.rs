//! What a file of settings says and what the layer would say of it, without recording anything: for `stepscope doctor` and
//! `stepscope config`. No part of the API for programs.

use std::ffi::OsString;

use super::Config;
use super::file::File;
use crate::context::identity::{Given, Identity};
use crate::context::propagation::TraceContext;

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Its settings, in its order.
    pub settings: Vec<Looked>,
    /// What of it does not fit, with file and line, as the layer says it on standard error.
    pub problems: Vec<String>,
}

/// A setting of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Its key.
    pub key: &'static str,
    /// The variable that wins over it.
    pub variable: &'static str,
    /// The value, as the variable would have it.
    pub value: String,
    /// The value, as the file has it.
    pub raw: String,
}

/// Looks into the text of a file. How values of OpenTelemetry's transport are taken depends on the features that the
/// program is built with, and is not looked at.
#[must_use]
pub fn look(name: &str, text: &str) -> Look {
    let mut problems = Vec::new();
    let file = File::parse(name, text, &mut problems);
    Config::default().apply(|variable| file.get(variable).cloned(), &mut problems);
    let looked = file.settings().iter().map(|taken| Looked {
        key: taken.setting.key,
        variable: taken.setting.variable,
        value: taken.said.value.to_string_lossy().into_owned(),
        raw: taken.raw.clone(),
    });
    Look { settings: looked.collect(), problems }
}

/// What the layer would say of an environment on standard error, each beginning with the name of a variable. As for
/// [`look`], what depends on the features that a program is built with is that of this one.
#[must_use]
pub fn look_around(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    Config::new(&File::default(), |name| variable(name).map(OsString::from), &mut problems);
    TraceContext::from_variables(&variable, &mut problems);
    Identity::resolve(Given::default(), &variable, &mut problems);
    problems
}

//! Lists to which each step adds: closures that are called at the end, and errors that are told at the end.

use std::error::Error;
use std::fmt;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

type Hook = Box<dyn Fn() -> u64>;

/// Hooks are attached in each step and never taken away.
pub fn closures(mut sizes: Sizes) -> Box<dyn Program> {
    let mut hooks: Vec<Hook> = Vec::new();
    Box::new(move |number| {
        attach(&mut hooks, number, &sizes.step());
        call(&hooks);
    })
}

#[tracing::instrument(skip_all)]
fn attach(hooks: &mut Vec<Hook>, number: u64, sizes: &[usize]) {
    for _ in sizes {
        let weights = [number; 48];
        let hook = planted!(size_of_val(&weights), Box::new(move || weights.iter().sum()));
        hooks.push(hook);
    }
}

#[tracing::instrument(skip_all)]
fn call(hooks: &[Hook]) {
    std::hint::black_box(hooks.iter().rev().take(8).map(|hook| hook()).sum::<u64>());
}

/// Errors of samples, each with the sample.
pub fn errors(mut sizes: Sizes) -> Box<dyn Program> {
    let mut errors: Vec<Box<dyn Error>> = Vec::new();
    Box::new(move |number| validate(&mut errors, number, &sizes.step()))
}

#[derive(Debug)]
struct BadSample {
    number: u64,
    sample: [u8; 632],
}

impl fmt::Display for BadSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sample {} of {} bytes is bad", self.number, self.sample.len())
    }
}

impl Error for BadSample {}

#[tracing::instrument(skip_all)]
fn validate(errors: &mut Vec<Box<dyn Error>>, number: u64, sizes: &[usize]) {
    for _ in sizes {
        let error = BadSample { number, sample: [7; 632] };
        errors.push(planted!(size_of::<BadSample>(), Box::new(error)));
    }
}

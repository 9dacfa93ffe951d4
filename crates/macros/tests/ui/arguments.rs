//! Arguments that are none, and values that do not fit.
use stepscope::profile;

#[profile(colour = "red")]
fn unknown() {}

#[profile("name")]
fn unnamed() {}

#[profile(name = "a", name = "b")]
fn twice() {}

#[profile(name)]
fn valueless() {}

#[profile(name = 3)]
fn number() {}

#[profile(name = "")]
fn empty() {}

#[profile(phase = 3)]
fn numbered() {}

#[profile(phase = "")]
fn nameless() {}

#[profile(phase = r"mine")]
fn raw() {}

#[profile(phase)]
fn phaseless() {}

#[profile(phase = Forward name = "a")]
fn comma() {}

#[profile(fields(3))]
fn keyless() {}

#[profile(fields(a = ))]
fn empty_field() {}

#[profile(skip, name = "a")]
fn both() {}

#[profile(crate = "")]
fn nowhere() {}

#[profile(crate = stepscope)]
fn bare() {}

#[profile(fields(a = 1))]
impl Model {}

struct Model;

fn main() {}

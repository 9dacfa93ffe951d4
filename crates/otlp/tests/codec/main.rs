//! Tests of the codecs from outside: against `opentelemetry-proto`, against fixtures, against damage.

mod behind;
mod common;
mod damage;
mod detect;
mod differential;
mod expected_keys;
mod foreign_json;
mod golden;
mod prepared;
mod round_trip;
mod same_attributes;

//! What the attribute refuses, and how it says so. After a change of a message: `TRYBUILD=overwrite cargo test -p
//! stepscope-macros --test ui`, and a look at the difference.

#[test]
fn refused() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

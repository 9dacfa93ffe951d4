//! Partials as bytes.

use stepscope_analyze::{Config, PARTIAL_VERSION, Partial, PartialError};

use crate::build::{Build, bare_step, fold};

fn partial() -> Partial {
    let mut build = Build::new(9);
    build.step(1, 0, 100).thread(1);
    build.span(1, "forward", 10, 60);
    build.custom("own");
    build.value(1, "loss", 0.5);
    let mut wait = Build::new(10);
    wait.span(0, "data_wait", 100, 150).thread(1);
    fold(&[build.trace(), wait.trace(), bare_step(2, 2, 200, 300)])
}

#[test]
fn what_is_written_is_read() {
    let partial = partial();
    let bytes = partial.to_bytes().unwrap();
    let read = Partial::from_bytes(&bytes, Config::default()).unwrap();
    assert_eq!(read.to_bytes().unwrap(), bytes);
    assert_eq!(read.finish(None), partial.finish(None));
}

#[test]
fn versions_are_told() {
    let mut bytes = partial().to_bytes().unwrap();
    let version = |bytes: &mut [u8], version: u32| bytes[16..20].copy_from_slice(&version.to_le_bytes());
    let read = |bytes: &[u8]| Partial::from_bytes(bytes, Config::default()).unwrap_err();
    version(&mut bytes, 0);
    assert_eq!(read(&bytes), PartialError::TooOld { found: 0, oldest: PARTIAL_VERSION });
    version(&mut bytes, PARTIAL_VERSION + 1);
    let error = read(&bytes);
    assert_eq!(error, PartialError::TooNew { found: PARTIAL_VERSION + 1, newest: PARTIAL_VERSION });
    assert!(error.to_string().contains("use a newer stepscope"));
    assert_eq!(read(b"{}"), PartialError::NotAPartial);
    assert_eq!(read(b"stepscopepartial"), PartialError::NotAPartial);
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let bytes = partial().to_bytes().unwrap();
    for cut in 0..bytes.len() {
        assert!(Partial::from_bytes(&bytes[..cut], Config::default()).is_err(), "{cut}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(matches!(Partial::from_bytes(&longer, Config::default()), Err(PartialError::Damaged(_))));
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            if let Ok(mut read) = Partial::from_bytes(&damaged, Config::default()) {
                read.add(&bare_step(2, 2, 200, 300));
                read.merge(&partial());
                let _ = read.finish(None);
            }
        }
    }
}

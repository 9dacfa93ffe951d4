//! Streams that unpack to far more than they are: blank lines behind one good line.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{analyze, line, repeat};

/// Two GiB of blank lines behind one good line.
fn blanks(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(line(1, "first").as_bytes())?;
    repeat(out, b"\n", 2 << 30)
}

fn gzip(level: u32, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    write(&mut encoder).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

/// One zstd frame whose blocks are each four bytes and unpack to 128 KiB.
fn zstd_bomb(blocks: usize) -> Vec<u8> {
    const BLOCK: u32 = 128 << 10;
    const RUN: u32 = 1;
    // No checksum, no size; a window of 2 MiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    let text = line(1, "first");
    let raw = (text.len() as u32) << 3;
    frame.extend_from_slice(&raw.to_le_bytes()[..3]);
    frame.extend_from_slice(text.as_bytes());
    for block in 0..blocks {
        let head = u32::from(block + 1 == blocks) | RUN << 1 | BLOCK << 3;
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.push(b'\n');
    }
    frame
}

#[test]
fn bombs_are_read_to_their_bound() {
    let gzip_bomb = gzip(9, blanks);
    let ended = analyze("gzip, 2 GiB of blank lines", |out| out.write_all(&gzip_bomb));
    assert!(ended.issue("limit_reached")["reason"].as_str().is_some_and(|text| text.contains("1000 times")));
    assert_eq!(ended.spans(), 1, "what came before the bound was read");

    let nested = gzip(9, |out| out.write_all(&gzip_bomb));
    let ended = analyze("gzip in gzip, 2 GiB of blank lines", |out| out.write_all(&nested));
    assert_eq!(ended.spans(), 1);
    ended.issue("limit_reached");

    let zstd = zstd_bomb(32 << 10);
    let ended = analyze("zstd, 4 GiB of blank lines", |out| out.write_all(&zstd));
    assert_eq!(ended.spans(), 1);
    ended.issue("limit_reached");

    let both = gzip(9, |out| out.write_all(&zstd));
    let ended = analyze("zstd in gzip, 4 GiB of blank lines", |out| out.write_all(&both));
    assert_eq!(ended.spans(), 1);
    ended.issue("limit_reached");
}

#[test]
fn many_small_bombs_are_one() {
    // Each record is a frame of its own that unpacks to 32 MiB of an unknown field.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    let size: u32 = 32 << 20;
    // Field 15, bytes, of that size.
    let head = [0x7a, 0x80, 0x80, 0x80, 0x10];
    frame.extend_from_slice(&((head.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend_from_slice(&head);
    let blocks = size / (128 << 10);
    for block in 0..blocks {
        let head = u32::from(block + 1 == blocks) | 1 << 1 | (128 << 10) << 3;
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.push(b' ');
    }
    let ended = analyze("10,000 records, each a zstd frame of 32 MiB", |out| {
        for _ in 0..10_000 {
            out.write_all(&(frame.len() as u32).to_be_bytes())?;
            out.write_all(&frame)?;
        }
        Ok(())
    });
    assert!(ended.code == Some(3) || !ended.issues("limit_reached").is_empty(), "{}", ended.stderr);
}

#[test]
fn endless_layers_are_not_undone() {
    let mut layered = line(1, "first").into_bytes();
    for _ in 0..1_000 {
        layered = gzip(1, |out| out.write_all(&layered));
    }
    let ended = analyze("1,000 layers of gzip", |out| out.write_all(&layered));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("none of the formats"), "{}", ended.stderr);
}

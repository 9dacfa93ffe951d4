//! Tests of the window and of decompression.

use super::*;
use std::io::Write;

fn all(input: &mut Input<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    while input.fill(1) > 0 {
        out.extend_from_slice(input.data());
        input.consume(input.data().len());
    }
    out
}

fn bytes() -> Vec<u8> {
    // Six random bits a byte: it compresses, but not well.
    (0..1_000_000u64).map(|i| (stepscope_core::identity::mix(i) & 63) as u8).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn the_window_slides_over_the_whole_stream() {
    let bytes = bytes();
    let mut input = Input::new(bytes.as_slice(), Vec::new());
    let mut seen = Vec::new();
    let mut step = 1;
    while input.fill(step) > 0 {
        assert_eq!(input.offset(), seen.len() as u64);
        let take = step.min(input.data().len());
        seen.extend_from_slice(&input.data()[..take]);
        input.consume(take);
        step = step * 3 % 300_007 + 1;
    }
    assert!(input.has_ended() && input.damage().is_none());
    assert!(seen == bytes);
}

#[test]
fn compressed_streams_of_several_members_and_layers_are_unpacked() {
    let bytes = bytes();
    let (left, right) = bytes.split_at(300_000);
    let skippable = [&[0x52, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let forms = [
        bytes.clone(),
        [gzip(left), gzip(right)].concat(),
        [skippable.clone(), zstd(left), skippable, zstd(right)].concat(),
        gzip(&zstd(&bytes)),
    ];
    for (index, form) in forms.iter().enumerate() {
        let mut input = Input::new(form.as_slice(), Vec::new());
        let got = all(&mut input);
        assert!(input.damage().is_none(), "{index}: {:?}", input.damage());
        assert!(got == bytes, "{index}");
        assert_eq!(input.stored_bytes(), form.len() as u64);
    }
}

#[test]
fn a_cut_compressed_stream_gives_what_came_before() {
    let bytes = bytes();
    for form in [gzip(&bytes), zstd(&bytes)] {
        let mut input = Input::new(&form[..form.len() - 200_000], Vec::new());
        let got = all(&mut input);
        assert!(got.len() > 500_000 && bytes.starts_with(&got), "{}", got.len());
        assert_eq!(input.damage().unwrap().kind, IssueKind::Truncated);
    }
}

#[test]
fn a_damaged_compressed_stream_says_so() {
    let bytes = bytes();
    let mut form = gzip(&bytes);
    let last = form.len() - 6;
    form[last] ^= 0x40;
    let mut input = Input::new(form.as_slice(), Vec::new());
    all(&mut input);
    assert_eq!(input.damage().unwrap().kind, IssueKind::BadCompression);
}

/// A frame of zeros as RLE blocks of 128 KiB in four bytes each.
fn bomb(blocks: u32) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for block in 1..=blocks {
        let header = (128 << 10) << 3 | 1 << 1 | u32::from(block == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

#[test]
fn many_small_bombs_are_one_bomb() {
    let frame = bomb(64);
    let mut decoder = zstd::MessageDecoder::default();
    let mut out = Vec::new();
    let results: Vec<bool> = (0..60).map(|_| decoder.decode(&frame, 64 << 20, &mut out).is_ok()).collect();
    // 8 MiB each: 32 of them fill what is free.
    assert_eq!(results.iter().filter(|&&fine| fine).count(), 32);
    assert!(results[..32].iter().all(|&fine| fine));
    let error = decoder.decode(&frame, 64 << 20, &mut out).unwrap_err();
    assert_eq!(error.kind, IssueKind::LimitReached);
}

#[test]
fn a_bomb_ends_at_its_bound() {
    // 600 MB.
    let bomb = bomb(4_600);
    let mut input = Input::new(bomb.as_slice(), Vec::new());
    let mut total = 0u64;
    while input.fill(1) > 0 {
        total += input.data().len() as u64;
        input.consume(input.data().len());
    }
    assert!(total < FREE_BYTES + (2 << 20), "{total}");
    assert_eq!(input.damage().unwrap().kind, IssueKind::LimitReached);
}

#[test]
fn an_error_of_the_file_is_told_from_damage() {
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("bad sector"));
            }
            let count = buffer.len().min(self.0);
            buffer[..count].fill(b'x');
            self.0 -= count;
            Ok(count)
        }
    }
    for len in [0, 2, 10_000] {
        let mut input = Input::new(Broken(len), Vec::new());
        assert_eq!(all(&mut input).len(), len);
        assert_eq!(input.damage().unwrap().kind, IssueKind::Unreadable);
    }
}

#[test]
fn newlines_are_found_across_reads() {
    let mut bytes = vec![b'x'; 700_000];
    bytes[3] = b'\n';
    bytes[600_000] = b'\n';
    let mut input = Input::new(bytes.as_slice(), Vec::new());
    assert_eq!(input.find_newline(0, 1 << 20), Some(3));
    assert_eq!(input.find_newline(4, 1 << 20), Some(600_000));
    assert_eq!(input.find_newline(600_001, 1 << 20), None);
    let mut input = Input::new(bytes.as_slice(), Vec::new());
    assert_eq!(input.find_newline(4, 300_000), None);
}

#[test]
fn newlines_at_the_start_are_counted() {
    for count in [0, 1, 63, 64, 65, 128, 200] {
        let mut bytes = vec![b'\n'; count];
        assert_eq!(newlines_at_start(&bytes), count);
        bytes.extend_from_slice(b"{}\n\n");
        assert_eq!(newlines_at_start(&bytes), count);
    }
}

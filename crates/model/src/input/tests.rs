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

/// What was read, and what is said of the damage.
fn broken(form: &[u8]) -> (Vec<u8>, Damage) {
    let mut input = Input::new(form, Vec::new());
    let got = all(&mut input);
    (got, input.damage().unwrap().clone())
}

/// Lines of text as traces have them: they compress well, so that little of what is packed is much of what it holds.
fn text() -> Vec<u8> {
    let line =
        |i: u64| format!("{{\"spanId\":\"{:016x}\",\"name\":\"step\"}}\n", stepscope_core::identity::mix(i));
    (0..40_000).flat_map(|i| line(i).into_bytes()).collect()
}

#[test]
fn everything_unpacked_before_a_checksum_that_does_not_match_is_read() {
    let bytes = text();
    for from_end in [8, 6, 4, 1] {
        let mut form = gzip(&bytes);
        let at = form.len() - from_end;
        form[at] ^= 0x40;
        let (got, damage) = broken(&form);
        assert!(got == bytes, "{}", got.len());
        assert_eq!(damage.kind, IssueKind::BadCompression);
        let expected = format!(
            "the gzip stream is damaged before byte {} of the file (a checksum does not match); the {} bytes unpacked before \
             were read, but may be wrong; if this is a copy, copy it again",
            form.len(),
            bytes.len()
        );
        assert_eq!(damage.reason, expected);
    }
}

#[test]
fn everything_unpacked_before_an_invalid_block_is_read() {
    // Three members; the last one: half of the text, then a block of the type that does not exist.
    let bytes = text();
    let (before, last) = bytes.split_at(bytes.len() / 2);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(last).unwrap();
    // Ends the block at a whole byte.
    encoder.flush().unwrap();
    let member = [encoder.get_ref().as_slice(), &[0x07; 5_000]].concat();
    let (first, second) = before.split_at(100_000);
    let form = [gzip(first), gzip(second), member.clone()].concat();
    let (got, damage) = broken(&form);
    assert!(got == bytes, "{} of {}", got.len(), bytes.len());
    assert_eq!(damage.kind, IssueKind::BadCompression);
    let said = format!("the {} bytes unpacked before were read", bytes.len());
    assert!(damage.reason.contains(&said), "{}", damage.reason);
    let place: usize =
        damage.reason.split("byte ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let broken_at = form.len() - 5_000;
    assert!((broken_at..broken_at + 16).contains(&place), "{place} for {broken_at}");
    // Inside of another layer the place is one of what that holds.
    let (got, damage) = broken(&zstd(&form));
    assert!(got == bytes);
    let said = format!("before byte {place} of what the zstd stream holds");
    assert!(damage.reason.contains(&said), "{}", damage.reason);
    let (got, damage) = broken(&gzip(&member));
    assert!(got == last, "{} of {}: {}", got.len(), last.len(), damage.reason);
}

#[test]
fn flipped_bytes_cost_nothing_of_what_the_stream_held_before() {
    let bytes = text();
    let sound = gzip(&bytes);
    // Where the text stands that is packed up to a place: what another decompressor makes of that part.
    let before = |at: usize| {
        let mut decoder = flate2::Decompress::new(false);
        let mut out = Vec::with_capacity(bytes.len());
        decoder.decompress_vec(&sound[10..at], &mut out, flate2::FlushDecompress::None).unwrap();
        out.len()
    };
    for part in 1..8 {
        let at = sound.len() * part / 8;
        let mut form = sound.clone();
        form[at] ^= 0xff;
        form[at + 1] ^= 0x55;
        let (got, damage) = broken(&form);
        let expected = before(at);
        assert!(expected > bytes.len() * (part - 1) / 8, "{expected}");
        assert!(got.get(..expected) == bytes.get(..expected), "{part}: {} of {expected}", got.len());
        assert_eq!(damage.kind, IssueKind::BadCompression);
        assert!(damage.reason.contains(&format!("the {} bytes", got.len())), "{}", damage.reason);
        // Cut off there: exactly so much.
        let (got, damage) = broken(&sound[..at]);
        assert!(got == bytes[..expected], "{part}: {} of {expected}", got.len());
        assert_eq!(damage.kind, IssueKind::Truncated);
        assert!(
            damage.reason.contains(&format!("behind byte {at} of the file; the {expected} bytes")),
            "{}",
            damage.reason
        );
    }
}

#[test]
fn headers_of_members_may_hold_a_name_and_more() {
    let bytes = text();
    let mut builder =
        flate2::GzBuilder::new().filename("traces.jsonl").comment("of run 7").extra(vec![7; 300]);
    builder = builder.mtime(1_700_000_000);
    let mut encoder = builder.write(Vec::new(), flate2::Compression::best());
    encoder.write_all(&bytes).unwrap();
    let form = encoder.finish().unwrap();
    // As `gzip -n`, and with a checksum of the header.
    let plain = gzip(&bytes);
    let checked = [&plain[..3], &[2], &plain[4..10], &[0, 0], &plain[10..]].concat();
    let all_of = [form.clone(), checked, plain].concat();
    let mut input = Input::new(all_of.as_slice(), Vec::new());
    assert!(all(&mut input) == [bytes.clone(), bytes.clone(), bytes].concat());
    assert!(input.damage().is_none(), "{:?}", input.damage());
    for cut in [4, 10, 11, 200, 320, 330] {
        let (got, damage) = broken(&form[..cut]);
        assert_eq!((got.len(), damage.kind), (0, IssueKind::Truncated), "{cut}");
        let said =
            format!("is cut off at its start, behind byte {cut} of the file; nothing of it could be read");
        assert!(damage.reason.contains(&said), "{}", damage.reason);
    }
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
    // Below compression, too, whatever its decompressor makes of it.
    for form in [gzip(&bytes()), zstd(&bytes())] {
        let mut input = Input::new(form[..300_000].chain(Broken(0)), Vec::new());
        let got = all(&mut input);
        assert!(got.len() > 200_000 && bytes().starts_with(&got), "{}", got.len());
        let damage = input.damage().unwrap();
        assert_eq!(damage.kind, IssueKind::Unreadable, "{}", damage.reason);
        assert!(damage.reason.contains("bad sector"), "{}", damage.reason);
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

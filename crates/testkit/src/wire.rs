//! What clients put on the wire, made by hand and without a protocol library: requests of HTTP/1.1, and calls as
//! frames of HTTP/2. Sending it, and what is answered, lives with the tests.

/// Frames of HTTP/2 are at most this long where nobody has said otherwise.
const FRAME_BYTES: usize = 16 << 10;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What a connection of HTTP/2 begins with, empty settings included.
#[must_use]
pub fn http2_preface() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    frame(&mut bytes, SETTINGS, 0, 0, &[]);
    bytes
}

/// A call of gRPC on a connection that has begun: `stream` is odd and larger than those before, `body` is cut into
/// frames of `piece` bytes.
#[must_use]
pub fn http2_call(stream: u32, path: &str, headers: &[(&str, &str)], body: &[u8], piece: usize) -> Vec<u8> {
    // Indexed: `:method: POST`, `:scheme: http`; by indexed names: `:path`, `:authority`, `content-type`.
    let mut block = vec![0x83, 0x86, 0x04];
    text(&mut block, path);
    block.push(0x01);
    text(&mut block, "x");
    block.extend_from_slice(&[0x0f, 0x10]);
    text(&mut block, "application/grpc");
    for (name, value) in headers {
        block.push(0x00);
        text(&mut block, name);
        text(&mut block, value);
    }
    let mut bytes = Vec::new();
    frame(&mut bytes, HEADERS, END_HEADERS, stream, &block);
    for piece in body.chunks(piece.clamp(1, FRAME_BYTES)) {
        frame(&mut bytes, DATA, 0, stream, piece);
    }
    frame(&mut bytes, DATA, END_STREAM, stream, &[]);
    bytes
}

/// A POST of HTTP/1.1 that says how long its body is.
#[must_use]
pub fn http1_post(path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = http1_head(path, headers);
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The same in chunks of `piece` bytes.
#[must_use]
pub fn http1_chunked(path: &str, headers: &[(&str, &str)], body: &[u8], piece: usize) -> Vec<u8> {
    let mut bytes = http1_head(path, headers);
    bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    for piece in body.chunks(piece.max(1)) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn http1_head(path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.into_bytes()
}

/// A message of gRPC behind its flag and length.
#[must_use]
pub fn grpc_message(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![flag];
    bytes.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

fn frame(bytes: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    bytes.extend_from_slice(&length[1..]);
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
}

/// A string of HPACK, as it is; what is 127 bytes and longer is written as a longer number.
fn text(block: &mut Vec<u8>, text: &str) {
    match u8::try_from(text.len()) {
        Ok(length) if length < 0x7f => block.push(length),
        _ => {
            let mut rest = text.len() - 0x7f;
            block.push(0x7f);
            while rest >= 0x80 {
                block.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            block.push(rest as u8);
        }
    }
    block.extend_from_slice(text.as_bytes());
}

//! Headers of OTLP requests, as OpenTelemetry's variables have them: `name=value` pairs, percent-encoded.

/// Headers, percent-encoded as the variables have them. Those that no request can have are left out.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let decoded = pairs.map(|(name, value)| (name.trim().to_owned(), decoded(value.trim())));
    let is_sound = |(name, value): &(String, String)| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
            && !value.contains(|letter: char| letter.is_control())
    };
    decoded.filter(is_sound).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

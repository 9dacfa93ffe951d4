//! How texts of environment variables are read: whole numbers, percent-encoding.

/// The whole number that `name` says with `text`, from `least` on, or why it is none.
pub(crate) fn number_from(name: &str, text: &str, least: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number| number >= least);
    number.ok_or_else(|| {
        let from =
            if least > 0 || text.starts_with('-') { format!(" from {least} on") } else { String::new() };
        format!("{name}={text} is not a whole number{from}")
    })
}

/// The text with each `%` and two hexadecimal digits taken for the byte that they stand for.
pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match digits.and_then(|pair| u8::from_str_radix(pair, 16).ok()).filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

//! Names in sentences: those that are empty say so.

/// What stands for a name that is empty.
pub(crate) const NO_NAME: &str = "(no name)";

/// A path whose empty names say so: `step/(no name)`.
pub(crate) fn path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut is_empty = true;
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        if letter == '/' && is_empty {
            out.push_str(NO_NAME);
        }
        is_empty = letter == '/';
        out.push(letter);
        // A slash or a backslash inside of a name.
        out.extend(Some(letter).filter(|letter| *letter == '\\').and_then(|_| letters.next()));
    }
    if is_empty {
        out.push_str(NO_NAME);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_say_so() {
        let cases = [
            ("", "(no name)"),
            ("step/a", "step/a"),
            ("step/", "step/(no name)"),
            ("/a", "(no name)/a"),
            ("a//b", "a/(no name)/b"),
            ("a\\/", "a\\/"),
            ("a\\//b", "a\\//b"),
            ("a\\\\/", "a\\\\/(no name)"),
        ];
        for (one, shown) in cases {
            assert_eq!(path(one), shown, "{one}");
        }
    }
}

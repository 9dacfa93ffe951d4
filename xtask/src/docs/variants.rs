//! The documentation of an enumeration's values, which exists in the source alone: a `///` text followed by
//! `Variant = "name",`.

/// The text above the value called `name`, lines joined by spaces.
pub(super) fn doc(source: &str, name: &str) -> Option<String> {
    let end = format!("= \"{name}\",");
    let mut text: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            text.push(doc.trim());
        } else if line.ends_with(&end) && !text.is_empty() {
            return Some(text.join(" "));
        } else {
            text.clear();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_above_a_value_is_its_own() {
        let source = "/// Enumeration.\nE {\n /// First\n /// value.\n First = \"first\",\n /// Other.\n B = \"b\",\n C = \"c\",\n";
        assert_eq!(doc(source, "first").as_deref(), Some("First value."));
        assert_eq!(doc(source, "b").as_deref(), Some("Other."));
        assert_eq!(doc(source, "c"), None);
        assert_eq!(doc(source, "d"), None);
    }
}

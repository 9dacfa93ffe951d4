//! Reading the text of `cargo tree`.

use crate::Outcome;
use crate::process::{capture, cargo};
use std::collections::BTreeMap;

/// One line of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// Whether it is in this workspace.
    pub(super) local: bool,
}

/// Everything that `package` is built from by edges of these kinds, itself included, each once.
pub(super) fn whole(package: &str, edges: &str, flags: &[&str]) -> Outcome<Vec<Package>> {
    let arguments =
        [&["tree", "-p", package, "-e", edges, "--prefix", "none", "--no-dedupe"], flags].concat();
    let mut packages: Vec<_> = capture(cargo(&arguments))?.lines().filter_map(parse).collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    packages.dedup();
    if packages.is_empty() { Err(format!("`cargo tree -p {package}` gave nothing")) } else { Ok(packages) }
}

/// For each crate of the workspace those that it uses directly, with all features.
pub(super) fn direct() -> Outcome<BTreeMap<String, Vec<String>>> {
    let arguments =
        ["tree", "--workspace", "-e", "normal", "--depth", "1", "--prefix", "depth", "--all-features"];
    Ok(group(&capture(cargo(&arguments))?))
}

fn group(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut members = BTreeMap::<String, Vec<String>>::new();
    let mut member = String::new();
    for line in text.lines() {
        match (line.as_bytes().first(), line.get(1..).and_then(parse)) {
            (Some(b'0'), Some(package)) => {
                member.clone_from(&package.name);
                members.entry(package.name).or_default();
            }
            (Some(b'1'), Some(package)) if package.local => {
                members.entry(member.clone()).or_default().push(package.name);
            }
            _ => (),
        }
    }
    members
}

/// `name v1.2.3 (proc-macro) (*)`, or `name v1.2.3 (/a/path)` for a crate of the workspace.
fn parse(line: &str) -> Option<Package> {
    let (name, rest) = line.split_once(' ')?;
    let mut words = rest.split(" (");
    let version = words.next()?.strip_prefix('v')?;
    let local = words.any(|word| !matches!(word, "*)" | "proc-macro)"));
    Some(Package { name: name.to_owned(), version: version.to_owned(), local })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tree_are_read() {
        let package =
            |name: &str, version: &str, local| Package { name: name.into(), version: version.into(), local };
        assert_eq!(parse("http v1.5.0"), Some(package("http", "1.5.0", false)));
        assert_eq!(parse("http v1.5.0 (*)"), Some(package("http", "1.5.0", false)));
        assert_eq!(
            parse("derive v2.0.1-rc.1 (proc-macro) (*)"),
            Some(package("derive", "2.0.1-rc.1", false))
        );
        assert_eq!(parse("ours v0.1.0 (/a path/ours)"), Some(package("ours", "0.1.0", true)));
        assert_eq!(parse("macros v0.1.0 (proc-macro) (/a)"), Some(package("macros", "0.1.0", true)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("[dev-dependencies]"), None);
    }

    #[test]
    fn direct_dependencies_are_grouped_by_crate() {
        let text = "0a v0.1.0 (/w/a)\n1b v0.1.0 (/w/b)\n1serde v1.0.0\n\n0b v0.1.0 (/w/b)\n\n0c v0.1.0 (/w/c)\n1a v0.1.0 (/w/a) (*)\n1b v0.1.0 (/w/b)\n";
        let expected = [("a", vec!["b"]), ("b", vec![]), ("c", vec!["a", "b"])];
        let expected =
            expected.map(|(name, uses)| (name.to_owned(), uses.into_iter().map(str::to_owned).collect()));
        assert_eq!(group(text), BTreeMap::from(expected));
    }
}

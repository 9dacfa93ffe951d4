//! Which file imports which: in the crates of [`CHECKED`] no circle of files, but for a module and those inside of it; in
//! the layer rooms use only those below them. Paths in `use` and in the code count, those of tests do not.

use std::collections::{BTreeMap, BTreeSet};

use super::text::File;

/// Sources whose files are held to have no circles.
const CHECKED: &[&str] = &["crates/analyze/src/"];

/// The layer's sources, and its rooms, from the lowest to the highest.
const LAYER: &str = "crates/stepscope/src/";
const ROOMS: [&str; 9] = ["os", "context", "config", "shared", "hot", "export", "worker", "process", "api"];

/// The modules that each module of a crate names.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// What is wrong with the imports of these files.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let circles = CHECKED.iter().flat_map(|source| {
        let complain =
            move |circle: Vec<String>| format!("{source}: a circle of imports: {}", circle.join(" → "));
        circles(&imports(files, source)).into_iter().map(complain)
    });
    circles.chain(rooms(&imports(files, LAYER))).collect()
}

/// Imports from a room to one that is not below it.
fn rooms(imports: &Imports) -> Vec<String> {
    let room = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let height = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut complaints = Vec::new();
    for (module, targets) in imports.iter().filter(|(module, _)| !module.is_empty()) {
        let from = room(module);
        let Some(own) = height(&from) else {
            complaints.push(format!("{LAYER}: `{module}` is in none of the rooms {}", ROOMS.join(", ")));
            continue;
        };
        for target in targets {
            let to = room(target);
            if to != from && height(&to).is_none_or(|other| other > own) {
                complaints.push(format!(
                    "{LAYER}: `{module}` uses `crate::{target}`, but `{from}` is below `{to}`"
                ));
            }
        }
    }
    complaints
}

/// The imports of the modules below `source`; `""` is the crate's root.
fn imports(files: &[File], source: &str) -> Imports {
    let mut texts = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        let Some(path) = file.path.strip_prefix(source).and_then(|path| path.strip_suffix(".rs")) else {
            continue;
        };
        let module = path.strip_suffix("/mod").unwrap_or(if path == "lib" { "" } else { path });
        let code = file.product_lines().map(|(_, line)| line.split("//").next().unwrap_or_default());
        texts.insert(module.replace('/', "::"), code.collect::<Vec<_>>().join("\n"));
    }
    let known: BTreeSet<String> = texts.keys().cloned().collect();
    let of_module = |(module, text): (String, String)| {
        let own: Vec<&str> = module.split("::").filter(|name| !name.is_empty()).collect();
        let targets = paths(&text).into_iter().filter_map(|path| target(&own, &path, &known));
        let targets = targets.filter(|target| *target != module).collect();
        (module, targets)
    };
    texts.into_iter().map(of_module).collect()
}

/// All paths that begin with `crate`, `super` or `self`, those in braces one by one.
fn paths(text: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let mut paths = Vec::new();
    for word in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(word) {
            let starts = text.get(..at).and_then(|before| before.chars().next_back());
            if !starts.is_some_and(|before| is_part(before) || before == ':') {
                tree(&mut text.get(at..).unwrap_or_default(), &mut Vec::new(), &mut paths);
            }
        }
    }
    paths
}

/// Reads a path, or several with a common beginning, off the front of `text`.
fn tree(text: &mut &str, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let depth = before.len();
    loop {
        *text = text.trim_start();
        if let Some(inside) = text.strip_prefix('{') {
            *text = inside;
            while !text.is_empty() && !text.starts_with('}') {
                tree(text, before, paths);
                // Up to the next one, whatever it is renamed to.
                *text = text.trim_start_matches(|letter: char| letter != ',' && letter != '}');
                *text = text.trim_start_matches(',').trim_start();
            }
            *text = text.strip_prefix('}').unwrap_or(text);
            break;
        }
        let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        // Macros are the crate's, wherever they are written.
        if !rest.starts_with('!') && !name.is_empty() {
            before.push(name.to_owned());
        }
        *text = rest;
        match rest.strip_prefix("::").filter(|_| !name.is_empty()) {
            Some(rest) => *text = rest,
            None => {
                paths.push(before.clone());
                break;
            }
        }
    }
    before.truncate(depth);
}

/// The module that a path in the module `own` leads to, or the name at the root that is none.
fn target(own: &[&str], path: &[String], known: &BTreeSet<String>) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let up = path.iter().take_while(|name| *name == "super").count();
    let (base, rest) = match first.as_str() {
        "crate" => (&own[..0], rest),
        "self" => (own, rest),
        _ => (own.get(..own.len().checked_sub(up)?)?, &path[up..]),
    };
    let full: Vec<&str> = base.iter().copied().chain(rest.iter().map(String::as_str)).collect();
    let module =
        (1..=full.len()).rev().map(|len| full[..len].join("::")).find(|module| known.contains(module));
    module.or_else(|| full.first().map(|name| (*name).to_owned()))
}

/// One circle for each group of modules that reach each other, without the steps from a module into what is inside of it.
fn circles(imports: &Imports) -> Vec<Vec<String>> {
    let next = |module: &str| {
        let inside = format!("{module}::");
        let targets = imports.get(module).into_iter().flatten();
        targets.filter(move |target| !target.starts_with(&inside) && imports.contains_key(*target))
    };
    // The shortest way from a module back to itself.
    let circle = |start: &String| {
        let mut ways = vec![vec![start.clone()]];
        let mut seen = BTreeSet::new();
        while let Some(way) = (!ways.is_empty()).then(|| ways.remove(0)) {
            for target in next(way.last()?) {
                let longer: Vec<String> = way.iter().chain([target]).cloned().collect();
                if target == start {
                    return Some(longer);
                }
                if seen.insert(target.clone()) {
                    ways.push(longer);
                }
            }
        }
        None
    };
    let mut found: Vec<Vec<String>> = Vec::new();
    for module in imports.keys().filter(|module| !module.is_empty()) {
        if let Some(circle) = circle(module)
            && !found.iter().any(|other| other.iter().any(|name| circle.contains(name)))
        {
            found.push(circle);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::text::file;
    use super::*;

    #[test]
    fn circles_are_found_but_not_of_a_module_and_its_parts() {
        let one = "//! a\nuse crate::b::{C as D, x::Y};\n#[cfg(test)]\nmod tests {\n    use crate::d;\n}\n";
        let files = [
            file("s/a/mod.rs", one),
            file("s/a/part.rs", "use super::Z; // crate::d\n"),
            file("s/b/mod.rs", "fn f() { crate::a::part::g(); }\n"),
            file("s/b/x.rs", "fn f() { super::super::a::g(); }\n"),
            file("s/d.rs", "use crate::{a, b};\n"),
            file("s/a/tests.rs", "use crate::d;\n"),
        ];
        assert_eq!(circles(&imports(&files, "s/")), [["a", "b::x", "a"].map(str::to_owned).to_vec()]);
    }

    #[test]
    fn rooms_use_what_is_below_them() {
        let at = |path: &str, text: &str| file(&format!("{LAYER}{path}"), text);
        let files =
            [at("hot/a.rs", "use crate::os::b;\nuse crate::{export::c, Root};\n"), at("x.rs", "//! x\n")];
        let complaints = check(&files);
        assert_eq!(complaints.len(), 3, "{complaints:?}");
    }
}

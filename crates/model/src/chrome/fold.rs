//! Names that are one: those that differ in addresses alone, and those of many siblings that differ in numbers alone. A
//! report has one row for each. What slices are inside of each other is decided elsewhere.

use std::collections::{HashMap, HashSet};

use stepscope_core::identity::hash_parts;

/// Siblings from which on numbers tell calls apart rather than parts of a model: few models have as many layers.
const SIBLINGS: u32 = 100;
/// Names that are told apart to count them.
const MAX_NAMES: usize = 1 << 20;
/// Digits of the shortest address.
const ADDRESS_DIGITS: usize = 5;
/// What stands for an address, and for a number.
const ADDRESS: &str = "0x…";
const NUMBER: char = '#';

/// Names of one scope that are equal but for addresses and numbers.
#[derive(Debug, Default, Clone, Copy)]
struct Group {
    /// As written.
    names: u32,
    /// Different ones once addresses are gone.
    bases: u32,
    /// Of the names, those with addresses, and what they become.
    addressed: u32,
    addressed_bases: u32,
}

/// What a name is without its addresses, and without its numbers as well, by their hashes.
#[derive(Debug, Clone, Copy)]
struct Masks {
    base: u64,
    bare: u64,
    has_address: bool,
}

/// The names of one file.
#[derive(Debug, Default)]
pub(super) struct Folds {
    /// By the hash of the name.
    masks: HashMap<u64, Masks>,
    /// Scope and name, and scope and base.
    met: HashSet<(u64, u64)>,
    groups: HashMap<(u64, u64), Group>,
    has_folded: bool,
    has_address: bool,
}

fn hash(name: &str) -> u64 {
    hash_parts(&[name.as_bytes()])
}

fn has_digit(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_digit())
}

/// Where the first address of a text begins and ends.
fn address(text: &str) -> Option<(usize, usize)> {
    text.match_indices("0x").find_map(|(at, prefix)| {
        let digits = text.bytes().skip(at + prefix.len()).take_while(u8::is_ascii_hexdigit).count();
        let is_word =
            !text.get(..at).is_some_and(|before| before.ends_with(|letter: char| letter.is_alphanumeric()));
        (digits >= ADDRESS_DIGITS && is_word).then_some((at, at + prefix.len() + digits))
    })
}

/// The name without its addresses; nothing where it has none.
fn without_addresses(name: &str) -> Option<String> {
    let mut rest = name;
    let mut out = String::new();
    while let Some((from, to)) = address(rest) {
        out.push_str(rest.get(..from).unwrap_or_default());
        out.push_str(ADDRESS);
        rest = rest.get(to..).unwrap_or_default();
    }
    (!out.is_empty()).then(|| out + rest)
}

/// The name with one sign for each number, addresses left as they are.
fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        let len = if rest.starts_with(ADDRESS) {
            out.push_str(ADDRESS);
            ADDRESS.len()
        } else if letter.is_ascii_digit() {
            out.push(NUMBER);
            rest.bytes().take_while(u8::is_ascii_digit).count()
        } else {
            out.push(letter);
            letter.len_utf8()
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    out
}

impl Masks {
    fn of(name: &str, name_hash: u64) -> Self {
        let base = without_addresses(name);
        let bare = without_numbers(base.as_deref().unwrap_or(name));
        Self { base: base.as_deref().map_or(name_hash, hash), bare: hash(&bare), has_address: base.is_some() }
    }
}

impl Folds {
    /// What a name is to those inside of it: the same for all that may be one. `name_hash` is that of the name.
    pub(super) fn scope(&mut self, name: &str, name_hash: u64) -> u64 {
        if has_digit(name) { self.masks(name, name_hash).bare } else { name_hash }
    }

    fn masks(&mut self, name: &str, name_hash: u64) -> Masks {
        if let Some(&known) = self.masks.get(&name_hash) {
            return known;
        }
        let masks = Masks::of(name, name_hash);
        if self.masks.len() < MAX_NAMES {
            self.masks.insert(name_hash, masks);
        }
        masks
    }

    /// Notes a name among its siblings: all that are inside of the same `scope`.
    pub(super) fn note(&mut self, scope: u64, name: &str, name_hash: u64) {
        if !has_digit(name) || self.met.contains(&(scope, name_hash)) {
            return;
        }
        let masks = self.masks(name, name_hash);
        let is_new =
            |met: &mut HashSet<(u64, u64)>, key: u64| met.len() < 2 * MAX_NAMES && met.insert((scope, key));
        let is_name = is_new(&mut self.met, name_hash);
        let is_base = if masks.has_address { is_new(&mut self.met, masks.base) } else { is_name };
        let group = self.groups.entry((scope, masks.bare)).or_default();
        group.names = group.names.saturating_add(u32::from(is_name));
        group.bases = group.bases.saturating_add(u32::from(is_base));
        if masks.has_address {
            group.addressed = group.addressed.saturating_add(u32::from(is_name));
            group.addressed_bases = group.addressed_bases.saturating_add(u32::from(is_base));
        }
        self.has_address |= masks.has_address;
        self.has_folded |= group.bases >= SIBLINGS;
    }

    /// What a name becomes, once all have been noted; nothing where it stays.
    pub(super) fn fold(&mut self, scope: u64, name: &str, name_hash: u64) -> Option<String> {
        if !(self.has_folded || self.has_address) || !has_digit(name) {
            return None;
        }
        let masks = self.masks(name, name_hash);
        let is_many = |group: &Group| group.bases >= SIBLINGS;
        if self.groups.get(&(scope, masks.bare)).is_some_and(is_many) {
            let base = without_addresses(name);
            return Some(without_numbers(base.as_deref().unwrap_or(name)));
        }
        masks.has_address.then(|| without_addresses(name)).flatten()
    }

    /// How many names become how many others.
    pub(super) fn counts(&self) -> (u64, u64) {
        let of = |group: &Group| match group.bases >= SIBLINGS {
            true => (group.names, 1),
            false => (group.addressed, group.addressed_bases),
        };
        self.groups
            .values()
            .map(of)
            .fold((0, 0), |(from, to), (names, folded)| (from + u64::from(names), to + u64::from(folded)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the names of one scope become.
    fn folded(names: &[String]) -> Vec<String> {
        let mut folds = Folds::default();
        names.iter().for_each(|name| folds.note(7, name, hash(name)));
        names.iter().map(|name| folds.fold(7, name, hash(name)).unwrap_or_else(|| name.clone())).collect()
    }

    fn numbered(count: usize, name: impl Fn(usize) -> String) -> Vec<String> {
        (0..count).map(name).collect()
    }

    #[test]
    fn numbers_in_which_alone_many_siblings_differ_are_one_name() {
        let layers = numbered(96, |number| format!("layer.{number}"));
        assert_eq!(folded(&layers), layers);
        let requests = numbered(100, |number| format!("request {number} of v2"));
        assert!(folded(&requests).iter().all(|name| name == "request # of v#"));
        // Those that differ in more than numbers stay.
        let mut mixed = requests;
        mixed.push("request of v2".into());
        assert_eq!(folded(&mixed).last().map(String::as_str), Some("request of v2"));
    }

    #[test]
    fn siblings_are_those_inside_of_one_scope() {
        let mut folds = Folds::default();
        for scope in 0..10 {
            for number in 0..50 {
                let name = format!("block {}", scope * 50 + number);
                folds.note(scope, &name, hash(&name));
            }
        }
        assert_eq!(folds.fold(3, "block 150", hash("block 150")), None);
        assert_eq!(folds.counts(), (0, 0));
    }

    #[test]
    fn addresses_are_no_part_of_a_name_and_other_hexadecimals_are() {
        for (name, expected) in [
            ("<method f of T object at 0x7f12ab340010>", "<method f of T object at 0x…>"),
            ("0xdeadbeef0 and 0x7ffe12345", "0x… and 0x…"),
            ("flags 0x1f", "flags 0x1f"),
            ("conv10x10240", "conv10x10240"),
            ("tile_0x12", "tile_0x12"),
        ] {
            assert_eq!(folded(&[name.into()]), [expected], "{name}");
        }
    }

    #[test]
    fn it_is_told_how_many_names_become_how_many() {
        let mut folds = Folds::default();
        let mut names = numbered(150, |number| format!("request {number}"));
        names.extend(numbered(30, |number| format!("<f at 0x7f00{number:08x}>")));
        names.extend(numbered(20, |number| format!("layer.{number}")));
        for name in names.iter().chain(&names) {
            folds.note(1, name, hash(name));
        }
        assert_eq!(folds.counts(), (180, 2));
    }
}

//! The registry of memory sources: what a profile can read about the process' memory. One file a source, one
//! line in [`SOURCES`].

pub mod allocator;
pub mod rss;

/// Every source.
pub const SOURCES: &[Source] = &[allocator::SOURCE, rss::SOURCE];

/// Something that knows how much memory the process uses.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Its name, that of its file.
    pub name: &'static str,
    /// The metric that carries its present value.
    pub metric: &'static str,
    /// What it counts and what it does not, in sentences.
    pub doc: &'static str,
    /// Reads it, without allocating.
    pub read: fn() -> Reading,
}

/// What a source said; absent is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Bytes in use now.
    pub now_bytes: Option<u64>,
    /// Most bytes ever in use at once.
    pub peak_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_is_registered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/source");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().path().file_stem()?.to_str().map(str::to_owned))
            .filter(|name| name != "mod")
            .collect();
        let names: BTreeSet<String> = SOURCES.iter().map(|source| source.name.to_owned()).collect();
        assert_eq!(files, names);
        assert_eq!(names.len(), SOURCES.len(), "a source twice");
    }

    #[test]
    fn every_source_feeds_a_declared_metric() {
        for source in SOURCES {
            let row = stepscope_core::metric::TABLE.iter().find(|row| row.name == source.metric);
            assert_eq!(row.map(|row| row.unit), Some("By"), "{}", source.name);
            assert!(source.doc.ends_with('.'), "{}", source.name);
        }
    }
}

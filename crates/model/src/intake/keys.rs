//! Which attribute means what: a hash table over the vocabulary's keys and their aliases, built once. A
//! lookup hashes the key's length and its last eight bytes and compares at most a few strings.

use std::sync::LazyLock;

use stepscope_core::attr;

use crate::jaeger::tag;
use crate::{Figure, chrome};

/// What an attribute of a span is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKey {
    Figure(Figure),
    Phase,
    Kind,
    Mode,
    /// Name of the section, where it is not the span's.
    Name,
    ThreadName,
    ParentPath,
    Loader,
    ErrorType,
    Polls,
    Samples,
    /// The category of a trace event, however it came here.
    Category,
    /// What Jaeger says of a span that it changed.
    Repairs,
    /// The alias of a user metric; the name is what follows the last dot.
    Value,
}

/// What an attribute of a resource is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKey {
    RunId,
    Attempt,
    Rank,
    WorldSize,
    ServiceName,
    ServiceInstanceId,
    HostName,
    Pid,
    CreationTime,
    Cpus,
    Level,
    SchemaVersion,
    SdkName,
    SdkVersion,
}

/// A meaning, and how it was named: 0 by its own key, else the position among the aliases. Smaller wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<T> {
    pub(crate) meaning: T,
    pub(crate) rank: u8,
}

type Slot<T> = Option<(&'static str, Named<T>)>;

/// Open addressing over a power of two, at most half full.
#[derive(Debug)]
pub(crate) struct Keys<T> {
    slots: Vec<Slot<T>>,
    shift: u32,
}

fn hash(key: &str) -> u64 {
    let bytes = key.as_bytes();
    let word = match bytes.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    (word ^ (bytes.len() as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// `a == b` by words: keys are short, and a call to compare them costs more than comparing them.
#[inline]
fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let ((words, rest), (other_words, other_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    words.iter().zip(other_words).all(|(a, b)| u64::from_ne_bytes(*a) == u64::from_ne_bytes(*b))
        && rest.iter().zip(other_rest).all(|(a, b)| a == b)
}

impl<T: Copy> Keys<T> {
    fn new(meanings: &[(&'static str, T)]) -> Self {
        let names: Vec<(&'static str, Named<T>)> = meanings
            .iter()
            .flat_map(|&(key, meaning)| {
                let aliases = attr::find(key).map_or(&[][..], |row| row.aliases);
                std::iter::once(key)
                    .chain(aliases.iter().copied())
                    .zip(0u8..)
                    .map(move |(name, rank)| (name, Named { meaning, rank }))
            })
            .collect();
        let size = (names.len() * 2).next_power_of_two().max(2);
        let mut keys = Self { slots: vec![None; size], shift: 64 - size.trailing_zeros() };
        for (name, named) in names {
            let mut at = keys.start(name);
            while keys.slots.get(at).is_some_and(Option::is_some) {
                at = (at + 1) & (size - 1);
            }
            if let Some(slot) = keys.slots.get_mut(at) {
                *slot = Some((name, named));
            }
        }
        keys
    }

    fn start(&self, key: &str) -> usize {
        (hash(key) >> self.shift) as usize
    }

    /// What `key` means; `None` for keys that the model does not know.
    #[inline]
    pub(crate) fn find(&self, key: &str) -> Option<Named<T>> {
        let mut at = self.start(key);
        while let Some(Some((name, named))) = self.slots.get(at) {
            if same(name, key) {
                return Some(*named);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        None
    }
}

static SPAN: LazyLock<Keys<SpanKey>> = LazyLock::new(|| {
    let mut meanings: Vec<(&'static str, SpanKey)> =
        Figure::ALL.iter().map(|&figure| (figure.key(), SpanKey::Figure(figure))).collect();
    meanings.extend([
        (attr::PHASE, SpanKey::Phase),
        (attr::SECTION_KIND, SpanKey::Kind),
        (attr::MODE, SpanKey::Mode),
        (attr::SECTION_NAME, SpanKey::Name),
        (attr::THREAD_NAME, SpanKey::ThreadName),
        (attr::PARENT_PATH, SpanKey::ParentPath),
        (attr::BATCH_LOADER, SpanKey::Loader),
        (attr::ERROR_TYPE, SpanKey::ErrorType),
        (attr::POLLS, SpanKey::Polls),
        (attr::THREAD_SAMPLES, SpanKey::Samples),
        (chrome::CATEGORY, SpanKey::Category),
        (tag::WARNINGS, SpanKey::Repairs),
        (attr::VALUE_PREFIX, SpanKey::Value),
    ]);
    Keys::new(&meanings)
});

static RESOURCE: LazyLock<Keys<ResourceKey>> = LazyLock::new(|| {
    Keys::new(&[
        (attr::RUN_ID, ResourceKey::RunId),
        (attr::RUN_ATTEMPT, ResourceKey::Attempt),
        (attr::RANK, ResourceKey::Rank),
        (attr::WORLD_SIZE, ResourceKey::WorldSize),
        (attr::SERVICE_NAME, ResourceKey::ServiceName),
        (attr::SERVICE_INSTANCE_ID, ResourceKey::ServiceInstanceId),
        (attr::HOST_NAME, ResourceKey::HostName),
        (attr::PROCESS_PID, ResourceKey::Pid),
        (attr::PROCESS_CREATION_TIME, ResourceKey::CreationTime),
        (attr::HOST_CPUS, ResourceKey::Cpus),
        (attr::LEVEL, ResourceKey::Level),
        (attr::SCHEMA_VERSION, ResourceKey::SchemaVersion),
        (attr::TELEMETRY_SDK_NAME, ResourceKey::SdkName),
        (attr::TELEMETRY_SDK_VERSION, ResourceKey::SdkVersion),
    ])
});

/// The keys of spans.
pub(crate) fn span_keys() -> &'static Keys<SpanKey> {
    &SPAN
}

/// The keys of resources.
pub(crate) fn resource_keys() -> &'static Keys<ResourceKey> {
    &RESOURCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_found_by_all_its_names() {
        for &figure in Figure::ALL {
            let row = attr::find(figure.key()).unwrap();
            for (rank, name) in std::iter::once(&row.key).chain(row.aliases).enumerate() {
                let found = span_keys().find(name).unwrap();
                assert_eq!(found, Named { meaning: SpanKey::Figure(figure), rank: rank as u8 }, "{name}");
            }
        }
    }

    #[test]
    fn foreign_names_of_the_resource_are_found_and_others_are_not() {
        assert_eq!(resource_keys().find("nv.dl.rank"), Some(Named { meaning: ResourceKey::Rank, rank: 1 }));
        for name in ["", "x", "stepscope.", "stepscope.stepp", "http.method", "anystepscope.step"] {
            assert!(span_keys().find(name).is_none(), "{name}");
            assert!(resource_keys().find(name).is_none(), "{name}");
        }
    }
}

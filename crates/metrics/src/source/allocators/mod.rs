//! What the allocators of this process say: glibc's `mallinfo2`, jemalloc's `mallctl`, mimalloc's `mi_process_info`, where
//! the program has them. They take locks that allocations take, too: one that needs long again and again is left alone.

mod functions;

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::functions::Functions;
use crate::notes::Notes;
use crate::snapshot::Allocator;

/// Longer is long: allocations may have waited for it.
const LIMIT: Duration = Duration::from_millis(1);

/// An allocator that takes long so often in a row is left alone. Once it may have been the thread that had no processor.
const MOST_LONG: u32 = 3;

type Read = fn(&Functions) -> Option<Allocator>;

/// Those that are asked.
#[derive(Debug)]
pub(super) struct Allocators {
    functions: Functions,
    /// With how often in a row each took long.
    asked: Vec<(&'static str, Read, u32)>,
    notes: Arc<Notes>,
}

impl Allocators {
    /// Those of this process.
    pub(super) fn find(notes: &Arc<Notes>) -> Self {
        let all: [(&str, Read); 3] = [
            ("jemalloc", Functions::jemalloc),
            ("mimalloc", Functions::mimalloc),
            ("glibc", Functions::glibc),
        ];
        Self {
            functions: Functions::find(),
            asked: all.map(|(name, read)| (name, read, 0)).into(),
            notes: Arc::clone(notes),
        }
    }

    /// Asks each.
    pub(super) fn read(&mut self, found: &mut Vec<Allocator>) {
        found.clear();
        let Self { functions, asked, notes } = self;
        asked.retain_mut(|(name, read, long)| {
            let begun = Instant::now();
            let allocator = read(functions);
            let time = begun.elapsed();
            // With nothing of its own it is not the program's.
            found.extend(allocator.filter(|allocator| allocator.reserved_bytes != Some(0)));
            *long = if time > LIMIT { *long + 1 } else { 0 };
            if *long == MOST_LONG {
                notes.tell(
                    name,
                    &format!(
                        "{name} took {time:.1?} to tell its figures, and long the times before, which may hold up the program: it is not asked \
                         again"
                    ),
                );
            }
            allocator.is_some() && *long < MOST_LONG
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(_: &Functions) -> Option<Allocator> {
        let begun = Instant::now();
        while begun.elapsed() <= LIMIT {}
        Some(Allocator { name: "slow", live_bytes: Some(1), reserved_bytes: Some(4), arenas: None })
    }

    #[test]
    fn who_needs_long_again_and_again_is_left_alone_and_told() {
        let notes = Arc::default();
        let mut allocators = Allocators::find(&notes);
        allocators.asked = vec![("slow", slow as Read, 0)];
        let mut found = Vec::new();
        allocators.read(&mut found);
        allocators.read(&mut found);
        assert!(notes.take().is_empty());
        allocators.read(&mut found);
        assert_eq!(found.iter().map(Allocator::fragmentation).collect::<Vec<_>>(), [Some(0.75)]);
        allocators.read(&mut found);
        assert_eq!(found, []);
        let notes = notes.take();
        assert!(matches!(&notes[..], [note] if note.starts_with("slow took ")), "{notes:?}");
    }
}

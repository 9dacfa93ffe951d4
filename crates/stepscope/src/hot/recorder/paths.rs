//! The call paths and callsites of a run, as the background thread reads them by their numbers.

use std::collections::HashMap;

use stepscope_core::{PathId, PathTable, Phase, SectionKind};

use crate::hot::open::Spec;
use crate::shared::aggregate::MAX_PATHS;
use crate::shared::callsite::Source;

/// What the background thread knows of a path.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathInfo {
    pub text: String,
    /// What its sections say; none where they say different ones.
    pub phase: Option<Phase>,
    pub kind: Option<SectionKind>,
    /// Where the first of its sections began.
    #[cfg(feature = "mem")]
    pub source: Option<Source>,
    has_several_phases: bool,
}

/// The paths and callsites of a run, by their numbers.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) table: PathTable,
    pub(super) info: Vec<PathInfo>,
    pub(super) callsites: Vec<Source>,
    callsite_of: HashMap<usize, u32>,
}

impl Paths {
    pub(super) fn new() -> Self {
        Self {
            table: PathTable::new(MAX_PATHS),
            info: Vec::new(),
            callsites: Vec::new(),
            callsite_of: HashMap::new(),
        }
    }

    pub(super) fn path(&mut self, parent: PathId, source: Source, name: &str, spec: &Spec) -> (PathId, u32) {
        let path = self.table.child(parent, name);
        let index = path.0 as usize;
        if self.info.len() <= index {
            self.info.resize(index + 1, PathInfo::default());
        }
        if let Some(info) = self.info.get_mut(index) {
            if info.text.is_empty() {
                info.text = self.table.text(path);
            }
            info.has_several_phases |= info.phase.zip(spec.phase).is_some_and(|(one, other)| one != other);
            info.phase = info.phase.or(spec.phase).filter(|_| !info.has_several_phases);
            info.kind = info.kind.or(Some(spec.kind()));
            #[cfg(feature = "mem")]
            {
                info.source = info.source.or(Some(source));
            }
        }
        let callsites = &mut self.callsites;
        let callsite = *self.callsite_of.entry(source.address()).or_insert_with(|| {
            callsites.push(source);
            u32::try_from(callsites.len() - 1).unwrap_or(u32::MAX)
        });
        (path, callsite)
    }
}

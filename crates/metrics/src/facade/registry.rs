//! Everything that the program has recorded by the facade: one of it in a process, as the facade has one recorder. Bounded:
//! rows and names of labels are kept for good, handles over the bound do nothing, and are counted.

mod family;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, RwLockWriteGuard};

use metrics::{Key, SharedString, Unit};
use stepscope_core::metric;
use stepscope_core::vocabulary::Metric;

use self::family::{Cell, Family, Kind, QUANTILE, Series};
use super::cells::{GaugeCell, HistogramCell};
use super::name;
use crate::notes::Notes;
use crate::points::Value;
use crate::snapshot::{MAX_USER_LABELS, UserLabels, UserPoint};
use crate::view::names;

/// Handles of different names or labels; the half of what is published by default.
pub(crate) const MAX_HANDLES: usize = 1_000;
/// Descriptions that are remembered.
const MAX_DESCRIBED: usize = 1_000;

/// What was refused: handles over the bound, values of histograms that are no numbers.
static REFUSED: AtomicU64 = AtomicU64::new(0);
static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);

pub(crate) fn registry() -> &'static Registry {
    &REGISTRY
}

#[derive(Debug, Default)]
pub(crate) struct Registry {
    state: RwLock<State>,
    /// Of the exporter that was started last.
    notes: Mutex<Arc<Notes>>,
}

#[derive(Debug, Default)]
struct State {
    counters: HashMap<Key, Arc<AtomicU64>>,
    gauges: HashMap<Key, Arc<GaugeCell>>,
    histograms: HashMap<Key, Arc<HistogramCell>>,
    families: Vec<Family>,
    described: HashMap<String, (&'static str, String)>,
    /// Names of labels that were made to live for ever.
    labels: HashSet<&'static str>,
    /// Prometheus' names that are taken.
    names: HashSet<String>,
}

macro_rules! handle {
    ($method:ident, $map:ident, $kind:ident, $cell:ty, $new:expr) => {
        /// The cell of this key; `None` where there are too many.
        pub(super) fn $method(&self, key: &Key) -> Option<Arc<$cell>> {
            if let Some(known) = self.state.read().unwrap_or_else(PoisonError::into_inner).$map.get(key) {
                return Some(Arc::clone(known));
            }
            let mut state = self.room()?;
            if let Some(known) = state.$map.get(key) {
                return Some(Arc::clone(known));
            }
            let cell: Arc<$cell> = Arc::new($new);
            state.$map.insert(key.to_retained(), Arc::clone(&cell));
            self.add(&mut state, key, Kind::$kind, Cell::$kind(Arc::clone(&cell)));
            Some(cell)
        }
    };
}

impl Registry {
    handle!(counter, counters, Counter, AtomicU64, AtomicU64::new(0));
    handle!(gauge, gauges, Gauge, GaugeCell, GaugeCell::default());
    handle!(histogram, histograms, Histogram, HistogramCell, HistogramCell::new(&REFUSED));

    /// From now on `notes` has what there is to tell.
    pub(super) fn tell_by(&self, notes: &Arc<Notes>) {
        *self.notes.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(notes);
    }

    fn tell(&self, subject: &str, text: &str) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).tell(subject, text);
    }

    /// How often something was refused.
    pub(crate) fn refused() -> u64 {
        REFUSED.load(Ordering::Relaxed)
    }

    fn room(&self) -> Option<RwLockWriteGuard<'_, State>> {
        let is_full =
            |state: &State| state.counters.len() + state.gauges.len() + state.histograms.len() >= MAX_HANDLES;
        // Whoever asks in vain keeps nobody waiting.
        let looks = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let full = is_full(&looks);
        drop(looks);
        let state = (!full).then(|| self.state.write().unwrap_or_else(PoisonError::into_inner));
        let state = state.filter(|state| !is_full(state));
        if state.is_none() {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            self.tell(
                "handles",
                &format!(
                    "the program's own metrics have more than {MAX_HANDLES} series: further ones are not taken \
                     (does a label hold numbers or ids?)"
                ),
            );
        }
        state
    }

    /// What a metric is in, and what it means.
    pub(super) fn describe(&self, key: &str, unit: Option<Unit>, description: &SharedString) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.described.len() < MAX_DESCRIBED {
            let described = (unit.map_or("", name::unit), name::value(description).to_owned());
            state.described.insert(name::metric(key), described);
        }
    }

    fn add(&self, state: &mut State, key: &Key, kind: Kind, cell: Cell) {
        let name = name::metric(key.name());
        if name != key.name() {
            let text = format!(
                "the program's metric {:?} is called {name}: its name has other letters than \
                                names of metrics may",
                name::value(key.name())
            );
            self.tell(&name, &text);
        }
        let mut labels: Vec<(&'static str, Arc<str>)> = Vec::new();
        for label in key.labels() {
            let known = state.label(label.key());
            let is_twice = |(other, _): &(&str, _)| names::sanitized(other) == names::sanitized(known);
            let is_ours = kind == Kind::Histogram && known == QUANTILE;
            if labels.len() + 1 >= MAX_USER_LABELS || is_ours || labels.iter().any(is_twice) {
                let text = format!(
                    "labels of the program's metric {name} are left out: there are more than {}, or two with one name",
                    MAX_USER_LABELS - 1
                );
                self.tell(&format!("labels of {name}"), &text);
                continue;
            }
            labels.push((known, name::value(label.value()).into()));
        }
        let series = Series::new(labels, cell);
        match state.families.iter_mut().find(|family| family.name == name && family.kind == kind) {
            Some(family) => family.add(series),
            None => state.families.push(Family::new(name, kind, series)),
        }
    }

    /// Puts every value in place of those in `points`.
    pub(crate) fn read(&self, points: &mut Vec<UserPoint>) {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let state = if state.families.iter().any(|family| family.rows.is_none()) {
            drop(state);
            self.name(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
            self.state.read().unwrap_or_else(PoisonError::into_inner)
        } else {
            state
        };
        let mut length = 0;
        let mut put = |metric: &'static Metric, labels: &UserLabels, value: Value| {
            let point = UserPoint { metric, labels: Arc::clone(labels), value };
            match points.get_mut(length) {
                Some(slot) => *slot = point,
                None => points.push(point),
            }
            length += 1;
        };
        for family in &state.families {
            for (part, row) in family.rows.iter().flatten().enumerate() {
                for series in &family.series {
                    series.read(row, part, &mut put);
                }
            }
        }
        points.truncate(length);
    }

    /// Makes the rows of new families.
    fn name(&self, state: &mut State) {
        if state.names.is_empty() {
            state.names = metric::all().flat_map(|row| [names::family(row), names::sample(row)]).collect();
        }
        let State { families, described, names, .. } = state;
        for family in families.iter_mut().filter(|family| family.rows.is_none()) {
            let (unit, doc) = described.get(&family.name).cloned().unwrap_or_default();
            let candidates = [family.name.clone(), format!("user.{}", family.name)];
            let rows = candidates.into_iter().find_map(|name| family.claim(&name, (unit, &doc), names));
            if rows.as_ref().and_then(|rows| rows.first()).is_none_or(|row| row.name != family.name) {
                let what = match &rows {
                    Some(_) => format!("is called user.{}", family.name),
                    None => "is left out".to_owned(),
                };
                let text =
                    format!("the program's metric {} {what}: its name is that of another", family.name);
                self.tell(&format!("name of {}", family.name), &text);
            }
            family.rows = Some(rows.unwrap_or_default());
        }
    }
}

impl State {
    /// The name of a label, for ever.
    fn label(&mut self, name: &str) -> &'static str {
        let name = name::label(name);
        match self.labels.get(&*name) {
            Some(known) => known,
            None => {
                let kept: &'static str = Box::leak(name.into_boxed_str());
                self.labels.insert(kept);
                kept
            }
        }
    }
}

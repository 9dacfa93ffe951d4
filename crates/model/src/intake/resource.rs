//! Resources: attributes typed, one shared `Arc` for each process instance, and a number for all attributes
//! together, known or not, by which the spans of a trace are told apart by process.

use std::collections::HashMap;
use std::sync::Arc;

use stepscope_core::identity::hash_parts;
use stepscope_otlp::Value;

use super::keys::{Keys, Named, ResourceKey, resource_keys};
use super::value;
use crate::Resource;

/// Beyond this many different resources the table starts afresh; those in use live on.
const MAX_RESOURCES: usize = 4_096;
/// Texts of a resource are cut to this many bytes.
const MAX_TEXT: usize = 1_024;
/// Number of known attributes.
const KEYS: usize = ResourceKey::SdkVersion as usize + 1;

/// Gathers the attributes of a resource, and hands out the shared one that is equal.
#[derive(Debug)]
pub(crate) struct Resources {
    keys: &'static Keys<ResourceKey>,
    draft: Resource,
    sdk_version: String,
    /// Sum of the hashes of all attributes, so that their order does not matter.
    process: u64,
    /// How each attribute was named, plus one; 0 while absent.
    ranks: [u8; KEYS],
    last: Arc<Resource>,
    shared: HashMap<Arc<Resource>, ()>,
    /// The last one of another table, and the own one that is equal.
    other: Option<(Arc<Resource>, Arc<Resource>)>,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            keys: resource_keys(),
            draft: Resource::default(),
            sdk_version: String::new(),
            process: 0,
            ranks: [0; KEYS],
            last: Arc::default(),
            shared: HashMap::new(),
            other: None,
        }
    }
}

fn set(slot: &mut String, value: Value<'_>) {
    slot.clear();
    match value {
        Value::Str(text) => slot.push_str(value::bounded(text, MAX_TEXT)),
        Value::Int(number) => slot.push_str(&number.to_string()),
        _ => {}
    }
}

/// Nested values tell no processes apart.
fn hash(key: &str, value: Value<'_>) -> u64 {
    let key = key.as_bytes();
    match value {
        Value::Str(text) => hash_parts(&[key, b"s", text.as_bytes()]),
        Value::Int(number) => hash_parts(&[key, b"i", &number.to_le_bytes()]),
        Value::Bool(is_true) => hash_parts(&[key, b"b", &[u8::from(is_true)]]),
        Value::Double(number) => hash_parts(&[key, b"d", &number.to_le_bytes()]),
        _ => 0,
    }
}

impl Resources {
    /// Forgets the attributes gathered so far.
    pub(crate) fn clear(&mut self) {
        let draft = &mut self.draft;
        for text in [
            &mut draft.run_id,
            &mut draft.service_name,
            &mut draft.service_instance_id,
            &mut draft.host_name,
            &mut draft.creation_time,
            &mut draft.level,
            &mut draft.sdk,
            &mut self.sdk_version,
        ] {
            text.clear();
        }
        for number in [
            &mut draft.attempt,
            &mut draft.rank,
            &mut draft.world_size,
            &mut draft.pid,
            &mut draft.cpus,
            &mut draft.schema_version,
        ] {
            *number = None;
        }
        self.ranks = [0; KEYS];
        self.process = 0;
    }

    /// Takes one attribute; an attribute's own key wins over its aliases.
    pub(crate) fn attribute(&mut self, key: &str, value: Value<'_>) {
        self.process = self.process.wrapping_add(hash(key, value));
        let Some(Named { meaning, rank }) = self.keys.find(key) else { return };
        let Some(named) = self.ranks.get_mut(meaning as usize) else { return };
        if *named != 0 && rank + 1 > *named {
            return;
        }
        *named = rank + 1;
        let draft = &mut self.draft;
        match meaning {
            ResourceKey::RunId => set(&mut draft.run_id, value),
            ResourceKey::Attempt => draft.attempt = value::integer(value),
            ResourceKey::Rank => draft.rank = value::integer(value),
            ResourceKey::WorldSize => draft.world_size = value::integer(value),
            ResourceKey::ServiceName => set(&mut draft.service_name, value),
            ResourceKey::ServiceInstanceId => set(&mut draft.service_instance_id, value),
            ResourceKey::HostName => set(&mut draft.host_name, value),
            ResourceKey::Pid => draft.pid = value::integer(value),
            ResourceKey::CreationTime => set(&mut draft.creation_time, value),
            ResourceKey::Cpus => draft.cpus = value::integer(value),
            ResourceKey::Level => set(&mut draft.level, value),
            ResourceKey::SchemaVersion => draft.schema_version = value::integer(value),
            ResourceKey::SdkName => set(&mut draft.sdk, value),
            ResourceKey::SdkVersion => set(&mut self.sdk_version, value),
        }
    }

    /// The resource of the attributes gathered, which are forgotten, and the number of its process.
    pub(crate) fn finish(&mut self) -> (Arc<Resource>, u32) {
        let process = (self.process >> 32) as u32;
        if !self.sdk_version.is_empty() {
            if !self.draft.sdk.is_empty() {
                self.draft.sdk.push(' ');
            }
            self.draft.sdk.push_str(&self.sdk_version);
        }
        if *self.last != self.draft {
            self.last = match self.shared.get_key_value(&self.draft) {
                Some((shared, ())) => Arc::clone(shared),
                None => self.share(self.draft.clone()),
            };
        }
        self.clear();
        (Arc::clone(&self.last), process)
    }

    /// The shared resource that is equal to one that another table shares.
    pub(crate) fn own(&mut self, theirs: &Arc<Resource>) -> Arc<Resource> {
        if let Some((known, own)) = &self.other
            && Arc::ptr_eq(known, theirs)
        {
            return Arc::clone(own);
        }
        let own = self.share((**theirs).clone());
        self.other = Some((Arc::clone(theirs), Arc::clone(&own)));
        own
    }

    /// The shared resource that is equal to `resource`.
    pub(crate) fn share(&mut self, resource: Resource) -> Arc<Resource> {
        if let Some((shared, ())) = self.shared.get_key_value(&resource) {
            return Arc::clone(shared);
        }
        if self.shared.len() >= MAX_RESOURCES {
            self.shared.clear();
        }
        let shared = Arc::new(resource);
        self.shared.insert(Arc::clone(&shared), ());
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_core::attr;

    #[test]
    fn own_keys_win_over_aliases_in_any_order() {
        let mut resources = Resources::default();
        resources.attribute("rank", Value::Int(9));
        resources.attribute(attr::RANK, Value::Int(2));
        resources.attribute("nv.dl.rank", Value::Int(7));
        resources.attribute("mlflow.run_id", Value::Str("r"));
        resources.attribute("telemetry.sdk.version", Value::Str("1.2"));
        resources.attribute("telemetry.sdk.name", Value::Str("opentelemetry"));
        let (resource, _) = resources.finish();
        assert_eq!((resource.rank, resource.run_id.as_str()), (Some(2), "r"));
        assert_eq!(resource.sdk, "opentelemetry 1.2");
    }

    #[test]
    fn equal_resources_are_one() {
        let mut resources = Resources::default();
        let mut of = |rank| {
            resources.attribute(attr::RANK, Value::Int(rank));
            resources.finish().0
        };
        let (a, b, c) = (of(1), of(2), of(1));
        assert!(Arc::ptr_eq(&a, &c));
        assert!(!Arc::ptr_eq(&a, &b));
    }
    #[test]
    fn processes_are_told_apart_by_any_attribute_in_any_order() {
        let mut resources = Resources::default();
        let mut of = |attributes: &[(&str, i64)]| {
            attributes.iter().for_each(|&(key, value)| resources.attribute(key, Value::Int(value)));
            resources.finish().1
        };
        let pod = of(&[("k8s.pod", 1), (attr::RANK, 0)]);
        assert_eq!(pod, of(&[(attr::RANK, 0), ("k8s.pod", 1)]));
        assert_ne!(pod, of(&[("k8s.pod", 2), (attr::RANK, 0)]));
        assert_ne!(pod, of(&[("k8s.pod", 0), (attr::RANK, 1)]));
        assert_eq!(of(&[]), 0);
    }
}

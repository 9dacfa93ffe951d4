//! Who wrote a trace or a metric: the resource's known attributes, typed. Foreign names are understood
//! through the vocabulary's aliases.

use serde::{Deserialize, Serialize};

/// The known attributes of a resource. Two processes are the same instance when all of it is equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resource {
    /// `stepscope.run.id` or an alias; empty where absent.
    pub run_id: String,
    /// `stepscope.run.attempt`.
    pub attempt: Option<i64>,
    /// `stepscope.rank` or an alias.
    pub rank: Option<i64>,
    /// `stepscope.world_size` or an alias.
    pub world_size: Option<i64>,
    /// `service.name`; empty where absent.
    pub service_name: String,
    /// `service.instance.id`; empty where absent.
    pub service_instance_id: String,
    /// `host.name`; empty where absent.
    pub host_name: String,
    /// `process.pid`.
    pub pid: Option<i64>,
    /// `process.creation.time`; empty where absent.
    pub creation_time: String,
    /// `stepscope.host.cpus`.
    pub cpus: Option<i64>,
    /// `stepscope.level`; empty where absent.
    pub level: String,
    /// `stepscope.schema_version`.
    pub schema_version: Option<i64>,
    /// `telemetry.sdk.name`/`version` joined by a blank; empty where absent.
    pub sdk: String,
}

//! One OTLP message being filled, in either encoding, with the resource and scope in front.

use stepscope_core::{SCHEMA_VERSION, SCOPE_NAME, SEMCONV_URL, attr};
use stepscope_otlp::{ResourceHead, ScopeHead, Value, Visitor, json, proto};

use super::encode::Context;
use crate::config::Format;
use crate::context::identity::Identity;

/// The encoder of one signal.
#[derive(Debug)]
pub(crate) enum Encoder {
    Proto(Box<proto::Encoder>),
    Json(Box<json::Encoder>),
}

/// Runs `$body` with `$encoder` as the concrete encoder.
macro_rules! with_encoder {
    ($self:expr, $encoder:ident => $body:expr) => {
        match $self {
            $crate::export::message::Encoder::Proto($encoder) => $body,
            $crate::export::message::Encoder::Json($encoder) => $body,
        }
    };
}
pub(crate) use with_encoder;

impl Encoder {
    pub(crate) fn traces(format: Format) -> Self {
        match format {
            Format::Protobuf => Self::Proto(Box::new(proto::Encoder::traces())),
            Format::JsonLines => Self::Json(Box::new(json::Encoder::traces())),
        }
    }

    /// One for metrics, in the same encoding.
    #[cfg(feature = "mem")]
    pub(crate) fn fresh(&self) -> Self {
        match self {
            Self::Proto(_) => Self::metrics(Format::Protobuf),
            Self::Json(_) => Self::metrics(Format::JsonLines),
        }
    }

    pub(crate) fn metrics(format: Format) -> Self {
        match format {
            Format::Protobuf => Self::Proto(Box::new(proto::Encoder::metrics())),
            Format::JsonLines => Self::Json(Box::new(json::Encoder::metrics())),
        }
    }
}

/// A message with a number of items in it.
#[derive(Debug)]
pub(crate) struct Message {
    pub encoder: Encoder,
    pub items: u64,
    scope: &'static str,
}

impl Message {
    pub(crate) fn new(encoder: Encoder) -> Self {
        Self { encoder, items: 0, scope: SCOPE_NAME }
    }

    /// In another scope than the one for everything.
    #[cfg(feature = "mem")]
    pub(crate) fn in_scope(encoder: Encoder, scope: &'static str) -> Self {
        Self { encoder, items: 0, scope }
    }

    /// The encoder, with resource and scope written if they are not yet; counts one more item.
    #[inline]
    pub(crate) fn next(&mut self, context: &Context<'_>) -> &mut Encoder {
        if self.items == 0 {
            self.begin(context);
        }
        self.items += 1;
        &mut self.encoder
    }

    #[cold]
    fn begin(&mut self, context: &Context<'_>) {
        let scope = self.scope;
        with_encoder!(&mut self.encoder, encoder => write_header(encoder.as_mut(), context, scope));
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        with_encoder!(&self.encoder, encoder => encoder.len())
    }

    /// The finished message and its number of items; empty when there are none.
    pub(crate) fn finish(&mut self) -> (&[u8], u64) {
        let items = std::mem::take(&mut self.items);
        if items == 0 {
            return (&[], 0);
        }
        (with_encoder!(&mut self.encoder, encoder => encoder.finish()), items)
    }

    /// Makes room for the next message.
    pub(crate) fn clear(&mut self) {
        self.items = 0;
        with_encoder!(&mut self.encoder, encoder => encoder.clear());
    }
}

fn write_header(visitor: &mut impl Visitor, context: &Context<'_>, scope: &str) {
    write_resource(visitor, &context.recorder.identity, context);
    visitor.scope(&ScopeHead {
        name: scope,
        version: env!("CARGO_PKG_VERSION"),
        schema_url: SEMCONV_URL,
        dropped_attributes_count: 0,
    });
}

fn write_resource(visitor: &mut impl Visitor, identity: &Identity, context: &Context<'_>) {
    let number = |value: u64| Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
    let instance_id = identity.instance_id();
    let created = crate::os::clock::rfc3339(context.recorder.anchor.unix_ns(context.recorder.run_start_ns));
    let mut text = |key, value: &str| {
        if !value.is_empty() {
            visitor.resource_attribute(key, Value::Str(value));
        }
    };
    text(attr::SERVICE_NAME, &identity.service_name);
    text(attr::SERVICE_VERSION, identity.service_version.as_deref().unwrap_or_default());
    text(attr::SERVICE_INSTANCE_ID, &instance_id);
    text(attr::RUN_ID, &identity.run_id);
    text(attr::LEVEL, context.recorder.levels.started_at().as_str());
    text(attr::HOST_NAME, &identity.host);
    text(attr::HOST_ARCH, arch());
    text(attr::OS_TYPE, std::env::consts::OS);
    text(attr::PROCESS_EXECUTABLE_NAME, &identity.executable);
    text(attr::PROCESS_CREATION_TIME, &created);
    text(attr::TELEMETRY_SDK_NAME, SCOPE_NAME);
    text(attr::TELEMETRY_SDK_LANGUAGE, "rust");
    text(attr::TELEMETRY_SDK_VERSION, env!("CARGO_PKG_VERSION"));
    for (key, value) in &identity.attributes {
        text(key, value);
    }
    visitor.resource_attribute(attr::SCHEMA_VERSION, Value::Int(SCHEMA_VERSION));
    visitor.resource_attribute(attr::RUN_ATTEMPT, number(identity.attempt));
    visitor.resource_attribute(attr::RANK, number(identity.rank));
    visitor.resource_attribute(attr::WORLD_SIZE, number(identity.world_size));
    visitor.resource_attribute(attr::PROCESS_PID, number(u64::from(std::process::id())));
    if let Some(cpus) = context.cpus {
        visitor.resource_attribute(attr::HOST_CPUS, number(cpus));
    }
    visitor.resource(&ResourceHead { schema_url: SEMCONV_URL, dropped_attributes_count: 0 });
}

/// The architecture as the semantic conventions spell it.
fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "arm" => "arm32",
        other => other,
    }
}

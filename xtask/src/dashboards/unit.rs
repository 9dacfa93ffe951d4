//! Units, by Grafana's names.

pub(super) const SECONDS: &str = "s";
pub(super) const NANOSECONDS: &str = "ns";
pub(super) const BYTES: &str = "bytes";
pub(super) const BYTES_A_SECOND: &str = "Bps";
/// Of values from 0 to 1.
pub(super) const SHARE: &str = "percentunit";
pub(super) const COUNT: &str = "short";
pub(super) const OPERATIONS_A_SECOND: &str = "ops";
pub(super) const WATTS: &str = "watt";
pub(super) const JOULES: &str = "joule";
pub(super) const CELSIUS: &str = "celsius";
pub(super) const HERTZ: &str = "hertz";
pub(super) const SEVERITY: &str = "none";
/// Of milliseconds since the epoch.
pub(super) const TIME: &str = "dateTimeAsIso";

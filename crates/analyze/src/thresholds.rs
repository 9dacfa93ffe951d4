//! Thresholds of judgements: declared with documentation and default at one place, listed in help, and held within what
//! they can be. What they decide is the business of their subjects and rules.

/// Declares thresholds: a field, its documentation and its default at one place, from which the configuration, the
/// built-in help and its tests are made.
macro_rules! thresholds {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)+) => {
        /// The thresholds of one table of `stepscope.toml`.
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Thresholds { $($(#[doc = $doc])+ pub $name: $type),+ }

        impl Default for Thresholds {
            fn default() -> Self {
                Self { $($name: $default),+ }
            }
        }

        impl Thresholds {
            /// Every threshold with its value.
            #[must_use]
            pub fn table(&self) -> Vec<$crate::thresholds::Threshold> {
                vec![$($crate::thresholds::Threshold {
                    key: stringify!($name),
                    value: self.$name.to_string(),
                    doc: concat!($($doc),+).trim(),
                }),+]
            }
        }
    };
}

/// Names that a threshold lists.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Names(pub Vec<String>);

impl std::fmt::Display for Names {
    /// As in a `stepscope.toml`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A threshold as the help shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threshold {
    /// Its key in the rule's table of `stepscope.toml`.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// What it does.
    pub doc: &'static str,
}

/// Ends of keys whose values are parts of one, and what to say where one is not.
const PARTS_OF_ONE: [(&str, &str); 1] = [("_share", "a share is a part of one: 0.1 for 10 %")];

/// The end of keys that are severities, alone or after others.
const SEVERITY: &str = "severity";

/// What is wrong with the value of a threshold, and what is allowed; absent where it can be.
pub(crate) fn fault(threshold: &Threshold) -> Option<String> {
    // Names can be any.
    if threshold.value.starts_with('[') {
        return None;
    }
    let part = PARTS_OF_ONE.iter().find(|(end, _)| threshold.key.ends_with(end));
    let is_severity = threshold.key.rsplit('_').next() == Some(SEVERITY);
    let most = match part {
        Some(_) => 1.0,
        None if is_severity => 100.0,
        None => f64::MAX,
    };
    // What is no number is not within either.
    let is_within = threshold.value.parse().is_ok_and(|value: f64| (0.0..=most).contains(&value));
    let allowed = match part {
        Some((_, hint)) => format!("not within 0 and 1; {hint}"),
        None if is_severity => "not within 0 and 100, as severities are".into(),
        None => "not a number from 0 on".into(),
    };
    (!is_within).then(|| format!("`{} = {}` is {allowed}", threshold.key, threshold.value))
}

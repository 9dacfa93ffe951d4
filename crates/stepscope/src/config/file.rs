//! What a `stepscope.toml` says of a recording: which file it is, and its settings as texts, under the variables whose
//! place they take. What a text means is read where the environment's are. Which settings there are is a table in core.

use std::ffi::OsString;
use std::path::Path;

use stepscope_core::setting::{self, FILE, FILE_VARIABLE, SETTINGS, Setting, TABLE, Takes};

use super::toml::{self, Entry, Value};

/// What is wrong with a file is told so often; of more it is told how often.
const MAX_WARNINGS: usize = 8;

/// Longer files are no settings.
const MAX_BYTES: u64 = 1 << 20;

/// What one place says of a setting, and what to call it where it is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingValue {
    pub name: String,
    pub value: OsString,
}

impl SettingValue {
    /// Whether it says more than spaces.
    pub(crate) fn is_something(&self) -> bool {
        !self.value.to_string_lossy().trim().is_empty()
    }
}

/// The settings of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct File {
    settings: Vec<Taken>,
}

/// A setting of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    pub setting: &'static Setting,
    pub said: SettingValue,
    /// The value as it is written.
    pub raw: String,
}

impl File {
    /// The one that the environment names, else the one in the working directory, if there is one.
    pub(crate) fn find(raw: impl Fn(&str) -> Option<OsString>, warnings: &mut Vec<String>) -> Self {
        let named = raw(FILE_VARIABLE).filter(|path| !path.to_string_lossy().trim().is_empty());
        let path = Path::new(named.as_deref().unwrap_or(FILE.as_ref()));
        match read(path) {
            Ok(text) => Self::parse(&path.display().to_string(), &text, warnings),
            // Most programs have none, and say nothing of one.
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                let path = path.display();
                warnings.push(format!("{path} cannot be read: {error}; no settings are taken from it"));
                Self::default()
            }
        }
    }

    /// The settings in `text`; what of it is none is named in `warnings`.
    pub(crate) fn parse(name: &str, text: &str, warnings: &mut Vec<String>) -> Self {
        let entries = match toml::entries(text) {
            Ok(entries) => entries,
            Err(fault) => {
                let (line, what) = (fault.line, fault.what);
                warnings.push(format!("{name}:{line}: {what}: no settings are taken from this file"));
                return Self::default();
            }
        };
        let refused = |entry: &Entry, why: &str| {
            format!("{name}:{}: {why}: no settings are taken from this file", entry.line)
        };
        let mut heads = entries.iter().filter(|entry| entry.path == [TABLE]);
        if let Some(wrong) = heads.clone().find(|entry| entry.value.is_some()) {
            warnings.push(refused(wrong, &format!("{TABLE} is no table, which begins with [{TABLE}]")));
            return Self::default();
        }
        if let Some(second) = heads.nth(1) {
            // TOML has no such document; which of them is meant is not ours to guess.
            warnings.push(refused(second, &format!("[{TABLE}] is there twice")));
            return Self::default();
        }
        let (mut file, mut refused) = (Self::default(), 0);
        for entry in &entries {
            let at = format!("{name}:{}", entry.line);
            if let Err(why) = file.take(entry, &at) {
                let warning = format!("{at}: {why}");
                // A table with several keys is wrong once.
                if warnings.last() == Some(&warning) {
                    continue;
                }
                refused += 1;
                if refused <= MAX_WARNINGS {
                    warnings.push(warning);
                }
            }
        }
        if refused > MAX_WARNINGS {
            let more = refused - MAX_WARNINGS;
            warnings.push(format!(
                "{name}: {more} more keys are no settings, or have values that cannot be used: is it another program's file?"
            ));
        }
        file
    }

    fn take(&mut self, entry: &Entry, at: &str) -> Result<(), String> {
        let (key, value) = match (entry.path.as_slice(), &entry.value) {
            ([table], _) if table == TABLE => return Ok(()),
            // The analyzer's.
            ([table, ..], _) if table == "rules" => return Ok(()),
            ([table, key], Some(value)) if table == TABLE => (key, value),
            ([table, key, ..], _) if table == TABLE => {
                let Some(setting) = setting::by_key(key) else { return Err(unknown(key)) };
                return Err(format!("{key} is no table: ignored; an example is {key} = {}", setting.example));
            }
            ([first, ..], _) => {
                return Err(format!("there is no {first}: ignored; there is [{TABLE}] and [rules.NAME]"));
            }
            ([], _) => return Ok(()),
        };
        let setting = setting::by_key(key).ok_or_else(|| unknown(key))?;
        let value = text(setting.takes, value).ok_or_else(|| {
            let (takes, example) = (setting.takes.words(), setting.example);
            format!("{key} = {} is not {takes}: ignored; an example is {key} = {example}", entry.raw)
        })?;
        if self.settings.iter().any(|taken| taken.setting.key == key) {
            return Err(format!("{key} is set a second time: ignored"));
        }
        let said = SettingValue { name: format!("{at}: {key}"), value: value.into() };
        self.settings.push(Taken { setting, said, raw: entry.raw.clone() });
        Ok(())
    }

    /// What the file has in the place of a variable.
    pub(crate) fn get(&self, variable: &str) -> Option<&SettingValue> {
        self.settings.iter().find(|taken| taken.setting.variable == variable).map(|taken| &taken.said)
    }

    /// All that it has.
    pub(crate) fn settings(&self) -> &[Taken] {
        &self.settings
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;

    // To open a pipe would wait for somebody to write to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

fn unknown(key: &str) -> String {
    let known: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
    format!("there is no setting {key}: ignored; there is {}", known.join(", "))
}

/// The value as its variable has it.
fn text(takes: Takes, value: &Value) -> Option<String> {
    match (takes, value) {
        (Takes::Text | Takes::List, Value::Text(text)) => Some(text.clone()),
        (Takes::Number, Value::Number(number)) | (Takes::Positive, Value::Number(number @ 1..)) => {
            Some(number.to_string())
        }
        (Takes::Switch, Value::Switch(yes)) => Some(if *yes { "on" } else { "off" }.to_owned()),
        (Takes::List, Value::List(items)) => {
            let part = |item: &Value| match item {
                Value::Text(text) if !text.contains(',') => Some(text.clone()),
                _ => None,
            };
            Some(items.iter().map(part).collect::<Option<Vec<_>>>()?.join(","))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let mut warnings = Vec::new();
        let file = File::parse("s.toml", text, &mut warnings);
        let of = |Taken { setting, said, .. }: &Taken| {
            assert!(said.name.starts_with("s.toml:") && said.name.ends_with(&format!(": {}", setting.key)));
            (setting.variable.to_owned(), said.value.clone().into_string().unwrap())
        };
        (file.settings().iter().map(of).collect(), warnings)
    }

    #[test]
    fn settings_take_the_place_of_variables() {
        let (settings, warnings) = parse(
            "[rules.input_bound]\nlow = 0.05\n[recording]\nlevel = \"basic\"\nsums = false\nlocations = true\n\
             step_span = [\"a\", \"b\"]\nfilter = \"min=1us,depth=2\"\ndir_bytes = 5_000_000\n",
        );
        assert_eq!(warnings, [""; 0]);
        let expected = [
            ("STEPSCOPE_LEVEL", "basic"),
            ("STEPSCOPE_SUMS", "off"),
            ("STEPSCOPE_LOCATIONS", "on"),
            ("STEPSCOPE_STEP_SPAN", "a,b"),
            ("STEPSCOPE_FILTER", "min=1us,depth=2"),
            ("STEPSCOPE_DIR_BYTES", "5000000"),
        ];
        assert_eq!(settings, expected.map(|(variable, text)| (variable.to_owned(), text.to_owned())));
        // The examples of the table are what is taken.
        let examples: Vec<String> =
            SETTINGS.iter().map(|setting| format!("{} = {}\n", setting.key, setting.example)).collect();
        let (settings, warnings) = parse(&format!("[recording]\n{}", examples.concat()));
        assert_eq!((settings.len(), warnings.len()), (SETTINGS.len(), 0), "{warnings:?}");
    }

    #[test]
    fn what_is_no_setting_is_named_with_its_line_and_what_would_fit_and_the_others_hold() {
        for (line, said) in [
            (
                "levle = \"basic\"",
                "s.toml:3: there is no setting levle: ignored; there is level, max_level, ",
            ),
            ("rank = 3", "s.toml:3: there is no setting rank"),
            ("level = 3", "s.toml:3: level = 3 is not a string: ignored; an example is level = \"basic\""),
            ("level = { name = \"basic\" }", "s.toml:3: level is no table: ignored; an example is level = "),
            ("level.name = \"basic\"", "s.toml:3: level is no table"),
            ("sums = \"off\"", "s.toml:3: sums = \"off\" is not true or false"),
            ("dir_bytes = -1", "s.toml:3: dir_bytes = -1 is not a whole number, 0 or more"),
            (
                "aggregate_interval = -1",
                "s.toml:3: aggregate_interval = -1 is not a whole number, 1 or more: ignored; an example is ",
            ),
            ("timeout = 0", "s.toml:3: timeout = 0 is not a whole number, 1 or more"),
            ("dir_bytes = 1.5", "s.toml:3: dir_bytes = 1.5 is not a whole number"),
            ("step_span = [\"a,b\"]", "s.toml:3: step_span = [\"a,b\"] is not a string or a list"),
            ("step_span = [1]", "s.toml:3: step_span = [1] is not a string or a list"),
            ("ring_bytes = 7", "s.toml:3: ring_bytes is set a second time"),
            ("[recording.deep]", "s.toml:3: there is no setting deep"),
            ("[recordings]", "s.toml:3: there is no recordings: ignored; there is [recording]"),
        ] {
            let (settings, warnings) = parse(&format!("[recording]\nring_bytes = 65_536\n{line}\n"));
            assert_eq!(settings, [("STEPSCOPE_RING_BYTES".to_owned(), "65536".to_owned())], "{line}");
            let [warning] = warnings.as_slice() else { panic!("{line}: {warnings:?}") };
            assert!(warning.starts_with(said), "{line}: {warning}");
        }
    }

    #[test]
    fn of_another_programs_file_little_is_said() {
        let (settings, warnings) =
            parse(&format!("{}[recording]\nlevel = \"basic\"\n", "a = 1\n".repeat(100_000)));
        assert_eq!((settings.len(), warnings.len()), (1, MAX_WARNINGS + 1));
        assert!(warnings[MAX_WARNINGS - 1].starts_with("s.toml:8: there is no a"), "{warnings:?}");
        assert!(warnings[MAX_WARNINGS].contains("99992 more keys"), "{warnings:?}");
    }

    #[test]
    fn of_what_is_no_toml_nothing_is_taken() {
        for (text, said) in [
            ("[recording]\nlevel = \"basic\"\nsums = no\n", "s.toml:3: "),
            (
                "[recording]\nlevel = \"basic\"\n[recording]\nsums = false\n",
                "s.toml:3: [recording] is there twice",
            ),
            ("[[recording]]\nlevel = \"off\"\n", "s.toml:1: recording is no table"),
            ("recording = 3\n", "s.toml:1: recording is no table"),
        ] {
            let (settings, warnings) = parse(text);
            assert_eq!((settings.len(), warnings.len()), (0, 1), "{text}: {warnings:?}");
            assert!(warnings[0].starts_with(said), "{warnings:?}");
        }
    }

    #[test]
    fn a_file_that_is_named_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.toml");
        let mut warnings = Vec::new();
        let named = |name: &str| (name == "STEPSCOPE_CONFIG").then(|| path.clone().into_os_string());
        assert_eq!(File::find(named, &mut warnings), File::default());
        assert!(warnings[0].contains("other.toml cannot be read"), "{warnings:?}");
        std::fs::write(&path, "recording.level = \"basic\"").unwrap();
        let said = File::find(named, &mut warnings).get("STEPSCOPE_LEVEL").cloned().unwrap();
        assert_eq!((said.name, said.value), (format!("{}:1: level", path.display()), "basic".into()));
        std::fs::write(&path, " ".repeat(2 << 20)).unwrap();
        assert_eq!(File::find(named, &mut warnings), File::default());
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        // None here, and none named: nothing to say.
        File::find(|_| None, &mut warnings);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }
}

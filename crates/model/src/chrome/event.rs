//! One event in its text: its members found in one walk, nothing decoded but what is needed to sort it.

use std::borrow::Cow;

use stepscope_core::identity::hash_parts;

use super::number::nanoseconds;
use crate::json_cursor::Cursor;
use crate::record::MAX_TEXT;

/// What a span of OTLP that was written as an event is called in its arguments.
const OTLP: &[u8] = b"\"otlp\"";

/// An event; texts are bounded.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    /// `ph`.
    pub(super) phase: u8,
    pub(super) name: Cow<'a, str>,
    pub(super) category: Cow<'a, str>,
    /// `ts` in nanoseconds.
    pub(super) at_ns: Option<i128>,
    /// `dur` in nanoseconds.
    pub(super) duration_ns: Option<i128>,
    /// Numbers as their digits, whether they were written as numbers or as text.
    pub(super) pid: Cow<'a, str>,
    pub(super) tid: Cow<'a, str>,
    /// Hash of `id` or `id2` with the category and the scope; with the process where it is local.
    pub(super) id: u64,
    /// `args`, an object, as written; empty where there is none.
    pub(super) args: &'a [u8],
    /// Number by which Kineto ties a launch to what it launched.
    pub(super) correlation: Option<u64>,
    /// Trace and span in hex, where the event is (part of) a span of OTLP.
    pub(super) owner: Option<(String, String)>,
    /// Whether text had to be mended.
    pub(super) is_mended: bool,
}

/// The text of a JSON string in its quotes, or of a number as written.
fn text<'a>(value: &'a [u8], mended: &mut bool) -> Cow<'a, str> {
    let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value);
    let text = match std::str::from_utf8(inner) {
        Ok(text) if !inner.contains(&b'\\') => Cow::Borrowed(text),
        Ok(text) => match serde_json::from_slice(value) {
            Ok(unescaped) => Cow::Owned(unescaped),
            Err(_) => Cow::Borrowed(text),
        },
        Err(_) => {
            *mended = true;
            let lossy = String::from_utf8_lossy(value).into_owned();
            Cow::Owned(serde_json::from_str(&lossy).unwrap_or(lossy))
        }
    };
    bounded(text)
}

fn bounded(text: Cow<'_, str>) -> Cow<'_, str> {
    let cut = |text: &str| crate::intake::bounded(text, MAX_TEXT).len();
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..cut(text)).unwrap_or_default()),
        Cow::Owned(mut text) => {
            text.truncate(cut(&text));
            Cow::Owned(text)
        }
    }
}

/// The number in a value, whether it is in quotes or not.
fn number(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value)
}

/// `correlation` among the arguments.
fn correlation(args: &[u8]) -> Option<u64> {
    let mut found = None;
    let _ = Cursor::new(args).members(|cursor, key| {
        let range = cursor.value()?;
        if key == b"correlation" {
            let value = number(args.get(range)?);
            found = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
            return None;
        }
        Some(())
    });
    found
}

pub(super) fn owner(args: &[u8]) -> Option<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Args {
        otlp: Owner,
    }
    #[derive(serde::Deserialize)]
    struct Owner {
        trace_id: String,
        span_id: String,
    }
    let is_said = args.windows(OTLP.len()).any(|window| window == OTLP);
    let args: Args = is_said.then(|| serde_json::from_slice(args).ok()).flatten()?;
    let is_hex =
        |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Owner { trace_id, span_id } = args.otlp;
    (is_hex(&trace_id, 32) && is_hex(&span_id, 16)).then_some((trace_id, span_id))
}

impl<'a> Event<'a> {
    /// Reads the event that `bytes`, an object, are. `None` where it is no JSON, or says not what it is.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut event = Self::default();
        let (mut id, mut scope, mut is_local): (&[u8], &[u8], bool) = (b"", b"", false);
        let mut mended = false;
        Cursor::new(bytes).members(|cursor, key| {
            let value = bytes.get(cursor.value()?)?;
            match key {
                b"ph" => event.phase = number(value).first().copied().unwrap_or(0),
                b"name" => event.name = text(value, &mut mended),
                b"cat" => event.category = text(value, &mut mended),
                b"ts" => event.at_ns = nanoseconds(number(value)),
                b"dur" => event.duration_ns = nanoseconds(number(value)),
                b"pid" => event.pid = text(value, &mut mended),
                b"tid" => event.tid = text(value, &mut mended),
                b"id" => id = number(value),
                b"id2" => {
                    let _ = Cursor::new(value).members(|cursor, key| {
                        let inner = value.get(cursor.value()?)?;
                        is_local = key == b"local";
                        id = number(inner);
                        Some(())
                    });
                }
                b"scope" => scope = number(value),
                b"args" if value.first() == Some(&b'{') => event.args = value,
                _ => {}
            }
            Some(())
        })?;
        let process = if is_local { event.pid.as_bytes() } else { b"" };
        event.id = hash_parts(&[event.category.as_bytes(), id, scope, process]);
        if is_launch(&event.category) || is_on_device(&event.category) {
            event.correlation = correlation(event.args);
        }
        event.owner = owner(event.args);
        event.is_mended = mended;
        (event.phase != 0).then_some(event)
    }
}

/// Whether events of a category are calls of a device's runtime, in Kineto's words of any age.
pub(super) fn is_launch(category: &str) -> bool {
    matches!(category, "cuda_runtime" | "cuda_driver" | "hip_runtime" | "xpu_runtime" | "Runtime")
}

/// Whether events of a category are of threads of a process, in Kineto's words of any age.
pub(super) fn is_on_host(category: &str) -> bool {
    is_launch(category)
        || matches!(
            category,
            "cpu_op" | "user_annotation" | "python_function" | "cpu_instant_event" | "Operator" | "Python"
        )
}

/// The number of a step as JAX and TensorFlow say it among the arguments of a slice: `step_num`, with or without quotes.
/// Slices of Kineto, which have a category, say none so.
pub(super) fn step_number(category: &str, args: &[u8]) -> Option<i64> {
    const STEP_NUMBER: &[u8] = b"\"step_num\"";
    if !category.is_empty() || !args.windows(STEP_NUMBER.len()).any(|window| window == STEP_NUMBER) {
        return None;
    }
    let mut found = None;
    let _ = Cursor::new(args).members(|cursor, key| {
        let value = number(args.get(cursor.value()?)?);
        if key == b"step_num" {
            found = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
        }
        Some(())
    });
    found.filter(|&number: &i64| number >= 0)
}

/// Whether events of a category ran on a device, in Kineto's words of any age.
pub(super) fn is_on_device(category: &str) -> bool {
    matches!(category, "kernel" | "gpu_memcpy" | "gpu_memset" | "Kernel" | "Memcpy" | "Memset")
}

/// Whether events of a category lie on a device's streams: what ran there, and what annotates it.
pub(crate) fn is_of_device(category: &str) -> bool {
    is_on_device(category) || is_device_annotation(category)
}

/// Whether events of a category say on a device's stream which annotation of the program what runs there is for: from its
/// first kernel to its last.
pub(crate) fn is_device_annotation(category: &str) -> bool {
    category == "gpu_user_annotation"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_any_spelling() {
        let event = Event::parse(
            br#"{"args":{"x":[1,{"correlation":3}],"correlation":"17"},"ph":"X","cat":"kernel","name":"a\"\u00e9","ts":"5.5","dur":1,
                "pid":"7","tid":"stream 3","stack":[1]}"#,
        )
        .unwrap();
        assert_eq!(
            (event.phase, &*event.name, event.at_ns, event.duration_ns),
            (b'X', "a\"é", Some(5_500), Some(1_000))
        );
        assert_eq!((&*event.pid, &*event.tid, event.correlation), ("7", "stream 3", Some(17)));
        assert!(event.owner.is_none() && !event.is_mended);
        let number = Event::parse(br#"{"ph":"X","pid":7,"tid":3}"#).unwrap();
        assert_eq!((number.pid, number.at_ns), (event.pid, None));
    }

    #[test]
    fn steps_of_jax_say_their_number_among_their_arguments() {
        for (category, args, expected) in [
            ("", r#"{"step_num":"17","_r":"1"}"#, Some(17)),
            ("", r#"{"_r":1,"step_num":3}"#, Some(3)),
            ("", r#"{"note":"\"step_num\":4"}"#, None),
            ("", r#"{"step_num":-1}"#, None),
            ("", r#"{"step":5}"#, None),
            ("cpu_op", r#"{"step_num":"17"}"#, None),
        ] {
            assert_eq!(step_number(category, args.as_bytes()), expected, "{args}");
        }
    }

    #[test]
    fn what_is_no_event_is_none() {
        for text in [&b"{}"[..], b"[]", b"{\"ph\":\"X\"", b"{\"name\":\"x\"}", b"{\"ph\":\"X\",}"] {
            assert!(Event::parse(text).is_none());
        }
        let event = Event::parse(b"{\"ph\":\"X\",\"name\":\"\xff\"}").unwrap();
        assert_eq!((event.is_mended, &*event.name), (true, "\u{fffd}"));
    }

    #[test]
    fn ids_are_of_their_category_and_of_their_process_where_local() {
        let id = |text: &str| Event::parse(text.as_bytes()).unwrap().id;
        let global = id(r#"{"ph":"b","cat":"a","id":"0x1","pid":1}"#);
        assert_eq!(global, id(r#"{"ph":"e","cat":"a","id":"0x1","pid":2}"#));
        assert_ne!(global, id(r#"{"ph":"b","cat":"b","id":"0x1","pid":1}"#));
        let local = |pid: u8| id(&format!(r#"{{"ph":"b","cat":"a","id2":{{"local":"0x1"}},"pid":{pid}}}"#));
        assert_ne!(local(1), local(2));
    }
}

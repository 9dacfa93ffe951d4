//! Texts that W3C's own tests (`trace-context/test/test.py`, by hand) and its recommendations give, and any other text.

use proptest::prelude::*;

use super::*;

const TRACE: &str = "12345678901234567890123456789012";
const SPAN: &str = "1234567890123456";

fn parent(text: &str) -> Option<String> {
    Traceparent::parse(text).map(|parent| parent.to_string())
}

fn read(texts: [&str; 3]) -> (TraceContext, Vec<&'static str>) {
    let mut problems = Vec::new();
    let get = |name: &str| VARIABLES.iter().zip(texts).find(|(key, _)| **key == name).map(|(_, text)| text);
    let context = TraceContext::read(VARIABLES, get, |name| problems.push(name));
    (context, problems)
}

#[test]
fn a_traceparent_is_taken_in_its_version_and_in_later_ones() {
    let expected = Some(format!("00-{TRACE}-{SPAN}-01"));
    for text in ["00-T-S-01", "cc-T-S-01", "cc-T-S-01-what-the-future-will-be-like", "fe-T-S-01-"] {
        assert_eq!(parent(&text.replace('T', TRACE).replace('S', SPAN)), expected, "{text}");
    }
    for around in [" {}", "\t{}", "{} ", "{}\t", "\t {} \t"] {
        assert_eq!(parent(&around.replace("{}", &format!("00-{TRACE}-{SPAN}-01"))), expected, "{around:?}");
    }
}

#[test]
fn only_flags_that_have_a_meaning_are_passed_on() {
    for (flags, passed) in
        [("00", "00"), ("01", "01"), ("03", "03"), ("ff", "03"), ("fe", "02"), ("04", "00")]
    {
        let expected = Some(format!("00-{TRACE}-{SPAN}-{passed}"));
        assert_eq!(parent(&format!("00-{TRACE}-{SPAN}-{flags}")), expected);
        assert_eq!(parent(&format!("01-{TRACE}-{SPAN}-{flags}-more")), expected);
    }
}

#[test]
fn what_is_no_traceparent_is_refused() {
    let with =
        |version: &str, trace: &str, span: &str, flags: &str| format!("{version}-{trace}-{span}-{flags}");
    let mut texts = vec![
        String::new(),
        "00".into(),
        "é".repeat(40),
        with("00", TRACE, SPAN, "01."),
        with("00", TRACE, SPAN, "01-what-the-future-will-be-like"),
        with("00", TRACE, SPAN, "01-"),
        with("cc", TRACE, SPAN, "01.what-the-future-will-not-be-like"),
        with("ff", TRACE, SPAN, "01"),
        with("00", TRACE, SPAN, "01,00-x"),
        format!("00{TRACE}-{SPAN}-01"),
        format!("00-{TRACE}-{SPAN}"),
        with("00", &TRACE.replace('1', "+"), SPAN, "01"),
    ];
    texts.extend([".0", "0.", "000", "0000", "0", "", "CC"].map(|version| with(version, TRACE, SPAN, "01")));
    let traces = ["0".repeat(32), format!(".{}", &TRACE[1..]), format!("{TRACE}3"), TRACE[1..].into()];
    texts.extend(traces.iter().map(|trace| with("00", trace, SPAN, "01")));
    texts.push(with("00", &"A".repeat(32), SPAN, "01"));
    let spans =
        ["0".repeat(16), format!("{}.", &SPAN[1..]), format!("{SPAN}7"), SPAN[1..].into(), "A".repeat(16)];
    texts.extend(spans.iter().map(|span| with("00", TRACE, span, "01")));
    texts.extend([".0", "0.", "001", "0", "0A", ""].map(|flags| with("00", TRACE, SPAN, flags)));
    for text in texts {
        assert_eq!(parent(&text), None, "{text}");
    }
}

#[test]
fn a_tracestate_is_passed_on_as_it_is() {
    let all = "abcdefghijklmnopqrstuvwxyz0123456789_-*/";
    let visible: String = ('\x20'..='\x7e').filter(|c| !",=".contains(*c)).chain(['x']).collect();
    let longest = [
        format!("{}=1", "z".repeat(256)),
        format!("{}@{}=1", "t".repeat(241), "v".repeat(14)),
        format!("t@{}=1", "v".repeat(254)),
    ];
    let most = (0..32).map(|n| format!("bar{n}=0{n}")).collect::<Vec<_>>().join(",");
    for text in
        ["foo=1", "foo=1,bar=2", "1t@v=1", "1a=1,2=b", "foo= 1", "foo@=1", "foo@1bar=1", "foo@@bar@baz=1"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{all}=1"), format!("{all}@a{}=1", &all[27..]), format!("foo={visible}"), most])
            .chain(longest)
    {
        assert_eq!(tracestate::parse(&text).as_deref(), Some(text.as_str()));
    }
    for (text, expected) in [
        ("foo=1 \t , \t bar=2, \t baz=3", "foo=1,bar=2,baz=3"),
        ("foo=1\t,,bar=2\t, ,", "foo=1,bar=2"),
        ("foo=1,foo=1", "foo=1"),
        ("foo=2,bar=1,foo=1", "foo=2,bar=1"),
        (" , ", ""),
    ] {
        assert_eq!(tracestate::parse(text).as_deref(), Some(expected));
    }
}

#[test]
fn of_what_is_no_tracestate_nothing_counts() {
    let long = [
        format!("{}=1", "z".repeat(257)),
        format!("t@{}=1", "v".repeat(255)),
        format!("foo={}", "v".repeat(257)),
        (0..33).map(|n| format!("bar{n}=0{n}")).collect::<Vec<_>>().join(","),
    ];
    let wrong = [
        "foo =1",
        "FOO=1",
        "foo.bar=1",
        "@foo=1,bar=2",
        "foo=bar=baz",
        "foo=,bar=3",
        "foo",
        "=1",
        "_foo=1",
        "foo=é",
        "foo=a\x01b",
    ];
    for text in wrong.map(str::to_owned).into_iter().chain(long) {
        assert_eq!(tracestate::parse(&text), None, "{text}");
    }
}

#[test]
fn baggage_is_passed_on_in_whole_members_up_to_its_bounds() {
    for text in [
        "",
        "a=b",
        "a=",
        "a=b;p;q=1 , c = d%20e ;p",
        "userId=Am%C3%A9lie,serverNode=DF%2028,isProduction=false",
    ] {
        let expected: Vec<&str> = text.split(',').map(str::trim).collect();
        assert_eq!(baggage::parse(text), (expected.join(","), true), "{text}");
    }
    let wrong = ["a", "=b", "a b=c", "a=b c", "a=\"b\"", "a=b\\", "é=b", "a=é", "a=b;", "a=b;p q", "a(b)=c"];
    for text in wrong {
        assert_eq!(baggage::parse(&format!("x=1,{text},y=2")), ("x=1,y=2".to_owned(), false), "{text}");
    }
    let many = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
    assert_eq!(baggage::parse(&many(180)), (many(180), true));
    assert_eq!(baggage::parse(&many(181)), (many(180), false));
    let long = format!("a={}", "v".repeat(8190));
    assert_eq!(baggage::parse(&long), (long.clone(), true));
    assert_eq!(baggage::parse(&format!("{long}v")), (String::new(), false));
    assert_eq!(baggage::parse(&format!("{long},b=1")), (long, false));
}

#[test]
fn a_state_without_a_parent_is_not_looked_at_and_problems_are_told_once_a_variable() {
    let good = format!("00-{TRACE}-{SPAN}-01");
    assert_eq!(
        read(["", "foo=1", "a=b"]),
        (TraceContext { baggage: "a=b".into(), ..TraceContext::default() }, vec![])
    );
    let (context, problems) = read(["00-no", "foo==", "a=b,c"]);
    assert_eq!((context.ids(), context.trace_state(), context.baggage()), (None, "", "a=b"));
    assert_eq!(problems, ["TRACEPARENT", "BAGGAGE"]);
    let (context, problems) = read([&good, "foo==", ""]);
    assert_eq!((context.parent.is_some(), context.trace_state()), (true, ""));
    assert_eq!(problems, ["TRACESTATE"]);
}

#[test]
fn what_has_no_value_is_no_header_and_an_empty_variable() {
    let (context, _) = read([&format!("00-{TRACE}-{SPAN}-00"), "", "a=b"]);
    assert!(!context.is_sampled());
    let headers: Vec<_> = context.headers().map(|(name, _)| name).collect();
    assert_eq!(headers, ["traceparent", "baggage"]);
    let variables: Vec<_> = context.environment().collect();
    assert_eq!(variables[1], ("TRACESTATE", String::new()));
    let names: Vec<_> = variables.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, VARIABLES);
    let run = TraceContext { run: Some(("r".into(), 2)), ..context };
    let variables: Vec<_> = run.environment().skip(3).collect();
    assert_eq!(variables, [("STEPSCOPE_RUN_ID", "r".to_owned()), ("STEPSCOPE_RUN_ATTEMPT", "2".to_owned())]);
}

proptest! {
    #[test]
    fn what_was_written_is_read_back(trace in 1_u128.., span in 1_u64.., flags in 0_u8..4) {
        let ids = SpanIds { trace_id: trace.to_be_bytes(), span_id: span.to_be_bytes() };
        let parent = Traceparent { ids, flags };
        prop_assert_eq!(Traceparent::parse(&parent.to_string()), Some(parent));
    }

    #[test]
    fn any_texts_are_read_without_a_panic_and_once_read_stay_the_same(
        parent in "(.{0,60}|[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,8})?)",
        state in "(.{0,80}|([a-z0-9@,= \t_*/-]{0,12}=[ -~]{0,6},?){0,40})",
        baggage in "(.{0,80}|([a-z;,= \t%-]{0,8}=[ -~]{0,6},?){0,200})",
    ) {
        let (context, _) = read([&parent, &state, &baggage]);
        let texts = context.texts();
        let (again, problems) = read([&texts[0], &texts[1], &texts[2]]);
        prop_assert!(problems.is_empty());
        prop_assert_eq!(again, context);
    }
}

"""OTLP messages in JSON: traces and metrics, integers as strings or as numbers; of torn ones all that is whole."""

import json

import names
from records import Point, Process, Span


def integer(value):
    """A 64-bit integer, which OTLP/JSON writes as a string and some writers as a number."""
    return 0 if value is None or value == "" else int(value)


def floating(value):
    return None if value is None else float(value)


def any_value(value):
    if value is None:
        return None
    for key, read in (("intValue", int), ("stringValue", str), ("doubleValue", float), ("boolValue", bool)):
        if key in value:
            return read(value[key])
    if "arrayValue" in value:
        return tuple(any_value(item) for item in value["arrayValue"].get("values") or ())
    return None


def attributes_of(item):
    return {pair.get("key", ""): any_value(pair.get("value")) for pair in item.get("attributes") or ()}


def message(data, on_span, on_point):
    """Reads one parsed TracesData or MetricsData."""
    for resource in data.get("resourceSpans") or ():
        instance = instance_of(resource)
        for scope in resource.get("scopeSpans") or ():
            named = (scope.get("scope") or {}).get("name") or ""
            for item in scope.get("spans") or ():
                on_span(span(item, instance, named))
    for resource in data.get("resourceMetrics") or ():
        instance = instance_of(resource)
        for scope in resource.get("scopeMetrics") or ():
            for item in scope.get("metrics") or ():
                for point in metric(item, instance):
                    on_point(point)


def instance_of(resource):
    attributes = attributes_of(resource.get("resource") or {})
    return Process(*(attributes.get(key) for key in names.PROCESS), attributes.get("service.name"))


ROLES = {f"SPAN_KIND_{name}": number for number, name in enumerate("UNSPECIFIED INTERNAL SERVER CLIENT PRODUCER CONSUMER".split())}


def span(item, instance, scope):
    role = item.get("kind") or 0
    links = tuple(
        (bytes.fromhex(link.get("traceId", "")), bytes.fromhex(link.get("spanId", "")))
        for link in item.get("links") or ()
    )
    return Span(
        bytes.fromhex(item.get("traceId") or ""),
        bytes.fromhex(item.get("spanId") or ""),
        bytes.fromhex(item.get("parentSpanId") or ""),
        item.get("name") or "",
        integer(item.get("startTimeUnixNano")),
        integer(item.get("endTimeUnixNano")),
        attributes_of(item),
        links,
        instance,
        (item.get("status") or {}).get("code") in (2, "STATUS_CODE_ERROR"),
        scope,
        ROLES.get(role, role),
    )


def metric(item, instance):
    name = item.get("name") or ""
    for kind in ("gauge", "sum"):
        for point in (item.get(kind) or {}).get("dataPoints") or ():
            value = int(point["asInt"]) if "asInt" in point else floating(point.get("asDouble"))
            yield Point(instance, name, attributes_of(point), integer(point.get("timeUnixNano")), value)
    for point in (item.get("exponentialHistogram") or {}).get("dataPoints") or ():
        time = integer(point.get("timeUnixNano"))
        yield Point(instance, name, attributes_of(point), time, exponential(point))


def exponential(point):
    positive = point.get("positive") or {}
    offset = integer(positive.get("offset"))
    counts = [integer(count) for count in positive.get("bucketCounts") or ()]
    return {
        "count": integer(point.get("count")),
        "sum": floating(point.get("sum")),
        "scale": integer(point.get("scale")),
        "zero_count": integer(point.get("zeroCount")),
        "min": floating(point.get("min")),
        "max": floating(point.get("max")),
        "buckets": {offset + i: count for i, count in enumerate(counts) if count},
    }


def whole_part(line):
    """What of a message that was cut off is whole: every span, every point, every metric."""
    closing, within, is_text, at, whole = [], [], False, 0, None
    while at < len(line):
        letter = line[at]
        if is_text:
            at += letter == "\\"
            is_text = letter != '"'
        elif letter == '"':
            is_text = True
        elif letter in "{[":
            closing.append("}" if letter == "{" else "]")
            within.append(letter == "[" and line.endswith(('"spans":', '"dataPoints":', '"metrics":'), 0, at))
        elif letter in "}]":
            closing.pop()
            within.pop()
            if letter == "}" and within and within[-1]:
                whole = at + 1, closing[::-1]
        at += 1
    return json.loads(line[: whole[0]] + "".join(whole[1])) if whole else None

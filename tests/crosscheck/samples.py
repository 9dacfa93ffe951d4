"""Tiny hand-made spans for the tests, and the same in both wire formats."""

import struct

import traces
from records import Span

TRACE = bytes(15) + b"\x01"


def span(id, parent, name, start, end, **attributes):
    """Ids are small numbers (0: no parent); `__` in attribute names stands for a dot."""
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return Span(TRACE, bytes([id]) * 8, bytes([parent]) * 8 if parent else b"", name, start, end, named)


def by_path(spans):
    """{path: node} of a trace without repeated paths."""
    return {node.path: node for node in traces.trees(spans)[1]}


def json_value(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, tuple):
        return {"arrayValue": {"values": [json_value(item) for item in value]}}
    return {"stringValue": value}


def json_attributes(attributes):
    return [{"key": key, "value": json_value(value)} for key, value in attributes.items()]


def json_traces(spans, resource):
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": json_attributes(resource)},
                "scopeSpans": [
                    {
                        "spans": [
                            {
                                "traceId": span.trace.hex(),
                                "spanId": span.id.hex(),
                                "parentSpanId": span.parent.hex(),
                                "name": span.name,
                                "kind": span.role or 1,
                                "startTimeUnixNano": str(span.start),
                                "endTimeUnixNano": str(span.end),
                                "attributes": json_attributes(span.attributes),
                                "links": [{"traceId": t.hex(), "spanId": s.hex()} for t, s in span.links],
                                "status": {"code": 2, "message": "no"} if span.is_error else {},
                            }
                            for span in spans
                        ]
                    }
                ],
            }
        ]
    }


def varint(value):
    out = b""
    value &= 0xFFFFFFFFFFFFFFFF
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def length(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(field, value):
    return varint(field << 3) + varint(value)


def fixed64(field, value):
    return varint(field << 3 | 1) + value.to_bytes(8, "little")


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def proto_attributes(field, attributes):
    out = b""
    for key, value in attributes.items():
        content = number(3, value) if isinstance(value, int) else length(1, value.encode())
        out += length(field, length(1, key.encode()) + length(2, content))
    return out


def proto_message(items, resource):
    scope = b"".join(length(2, item) for item in items)
    return length(1, length(1, proto_attributes(1, resource)) + length(2, scope))


def proto_span(span):
    links = b"".join(length(13, length(1, t) + length(2, s)) for t, s in span.links)
    return (
        length(1, span.trace)
        + length(2, span.id)
        + (length(4, span.parent) if span.parent else b"")
        + length(5, span.name.encode())
        + number(6, 1)
        + fixed64(7, span.start)
        + fixed64(8, span.end)
        + proto_attributes(9, span.attributes)
        + links
        + (length(15, length(2, b"no") + number(3, 2)) if span.is_error else b"")
    )

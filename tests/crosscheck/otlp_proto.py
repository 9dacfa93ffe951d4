"""OTLP messages in protobuf: traces and metrics. Field numbers are those of opentelemetry-proto."""

import struct

import names
from protobuf import BYTES, FIXED64, fields, packed_varints, signed, zigzag
from records import Point, Process, Span


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def text(data, value):
    return data[value[0] : value[1]].decode("utf-8", "replace")


def any_value(data, at, end):
    value = None
    for number, _, field in fields(data, at, end):
        if number == 1:
            value = text(data, field)
        elif number == 2:
            value = bool(field)
        elif number == 3:
            value = signed(field)
        elif number == 4:
            value = double(field)
        elif number == 5:
            value = tuple(any_value(data, *item) for number, _, item in fields(data, *field) if number == 1)
        elif number == 7:
            value = bytes(data[field[0] : field[1]])
    return value


def key_value(data, at, end, into):
    key, value = "", None
    for number, _, field in fields(data, at, end):
        if number == 1:
            key = text(data, field)
        elif number == 2:
            value = any_value(data, *field)
    into[key] = value


def message(data, on_span, on_point, torn=False):
    """Reads one TracesData or MetricsData: both nest resource > scope > item in fields 1 > 2 > 2. Of a torn one
    every span and point that is whole."""
    for number, wire, field in fields(data, torn=torn):
        if number == 1 and wire == BYTES:
            resource_items(data, field[0], min(field[1], len(data)), on_span, on_point, torn)


def resource_items(data, at, end, on_span, on_point, torn):
    attributes, scopes = {}, []
    for number, wire, field in fields(data, at, end, torn):
        if wire != BYTES:
            continue
        if number == 1:
            for inner, _, value in fields(data, field[0], min(field[1], end)):
                if inner == 1:
                    key_value(data, *value, attributes)
        elif number == 2:
            scopes.append(field)
    instance = Process(*(attributes.get(key) for key in names.PROCESS), attributes.get("service.name"))
    for scope in scopes:
        named = ""
        for number, wire, field in fields(data, scope[0], min(scope[1], end), torn):
            if number == 1 and wire == BYTES:
                named = next((text(data, name) for inner, _, name in fields(data, field[0], min(field[1], end)) if inner == 1), "")
            if number != 2 or wire != BYTES:
                continue
            item = (field[0], min(field[1], end))
            if not is_span(data, *item, torn):
                for point in metric(data, *item, instance, torn):
                    on_point(point)
            elif item == field:
                on_span(span(data, *field, instance, named))


def is_span(data, at, end, torn):
    """A span has its kind as a varint in field 6 and its times as fixed64 in 7 and 8; no metric has."""
    for number, wire, _ in fields(data, at, end, torn):
        if number == 6 or (number in (7, 8) and wire == FIXED64):
            return True
    return False


def span(data, at, end, instance, scope):
    trace = id = parent = b""
    name, start, stop, is_error, role = "", 0, 0, False, 0
    attributes, links = {}, []
    for number, _, field in fields(data, at, end):
        if number == 1:
            trace = bytes(data[field[0] : field[1]])
        elif number == 2:
            id = bytes(data[field[0] : field[1]])
        elif number == 4:
            parent = bytes(data[field[0] : field[1]])
        elif number == 5:
            name = text(data, field)
        elif number == 6:
            role = field
        elif number == 7:
            start = field
        elif number == 8:
            stop = field
        elif number == 9:
            key_value(data, *field, attributes)
        elif number == 13:
            linked = [b"", b""]
            for inner, _, value in fields(data, *field):
                if inner in (1, 2):
                    linked[inner - 1] = bytes(data[value[0] : value[1]])
            links.append(tuple(linked))
        elif number == 15:
            is_error = any(inner == 3 and code == 2 for inner, _, code in fields(data, *field))
    return Span(trace, id, parent, name, start, stop, attributes, tuple(links), instance, is_error, scope, role)


def metric(data, at, end, instance, torn):
    name, bodies = "", []
    for number, _, field in fields(data, at, end, torn):
        if number == 1:
            name = text(data, field)
        elif number in (5, 7, 10):
            bodies.append((number, field))
    for kind, body in bodies:
        for number, _, field in fields(data, body[0], min(body[1], end), torn):
            if number == 1 and field[1] <= end:
                read = exponential_point if kind == 10 else number_point
                yield read(data, *field, instance, name)


def number_point(data, at, end, instance, name):
    attributes, time, value = {}, 0, None
    for number, _, field in fields(data, at, end):
        if number == 3:
            time = field
        elif number == 4:
            value = double(field)
        elif number == 6:
            value = signed(field)
        elif number == 7:
            key_value(data, *field, attributes)
    return Point(instance, name, attributes, time, value)


def exponential_point(data, at, end, instance, name):
    attributes, time = {}, 0
    histogram = {"count": 0, "sum": None, "scale": 0, "zero_count": 0, "min": None, "max": None, "buckets": {}}
    for number, wire, field in fields(data, at, end):
        if number == 1:
            key_value(data, *field, attributes)
        elif number == 3:
            time = field
        elif number in (4, 7):
            histogram["count" if number == 4 else "zero_count"] = field
        elif number in (5, 12, 13):
            histogram[{5: "sum", 12: "min", 13: "max"}[number]] = double(field)
        elif number == 6:
            histogram["scale"] = zigzag(field)
        elif number == 8:
            histogram["buckets"] = buckets(data, *field)
    return Point(instance, name, attributes, time, histogram)


def buckets(data, at, end):
    offset, counts = 0, []
    for number, wire, field in fields(data, at, end):
        if number == 1:
            offset = zigzag(field)
        elif number == 2:
            counts += packed_varints(data, *field) if wire == BYTES else [field]
    return {offset + i: count for i, count in enumerate(counts) if count}

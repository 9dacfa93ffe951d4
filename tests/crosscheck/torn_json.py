"""What is whole in a line of OTLP/JSON that was cut off: every span, every point."""

import json
import re

START = re.compile(r'"(resource|scope|spans|metrics)":')
POINTS = re.compile(r'"(gauge|sum|exponentialHistogram)":\{.*?"dataPoints":')
DECODER = json.JSONDecoder()


def whole_part(line):
    """The message without what is cut off. Quotes inside strings are escaped, so keys are found by their text."""
    parts = []
    for match in START.finditer(line):
        key = match[1]
        if key == "resource":
            resource, _ = value_at(line, match.end())
            parts.append({"resource": resource or {}, "scope": {}, "spans": [], "metrics": []})
        elif key == "scope" and parts:
            parts[-1]["scope"] = value_at(line, match.end())[0] or {}
        elif parts:
            items, rest = items_at(line, match.end())
            parts[-1][key] += items
            if key == "metrics" and rest is not None:
                parts[-1][key] += cut_metric(line[rest:])
    return {
        "resourceSpans": [{"resource": p["resource"], "scopeSpans": [{"scope": p["scope"], "spans": p["spans"]}]} for p in parts],
        "resourceMetrics": [{"resource": p["resource"], "scopeMetrics": [{"metrics": p["metrics"]}]} for p in parts],
    }


def value_at(line, at):
    try:
        return DECODER.raw_decode(line, at)
    except ValueError:
        return None, None


def items_at(line, at):
    """The whole items of the list at `at`, and where one that is cut off begins, if one is."""
    items = []
    if line[at : at + 1] != "[":
        return items, None
    at += 1
    while line[at : at + 1] not in ("]", ""):
        item, end = value_at(line, at)
        if end is None:
            return items, at
        items.append(item)
        at = end + (line[end : end + 1] == ",")
    return items, None


def cut_metric(text):
    """The metric that is cut off, with its whole points."""
    name, _ = value_at(text, len('{"name":')) if text.startswith('{"name":') else (None, None)
    match = POINTS.search(text)
    if name is None or match is None:
        return []
    points, _ = items_at(text, match.end())
    return [{"name": name, match[1]: {"dataPoints": points}}]

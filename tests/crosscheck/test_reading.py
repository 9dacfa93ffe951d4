"""Both wire formats, framings, damage, and the aggregates of the program."""

import gzip
import json
import os
import tempfile
import unittest

import aggregates
import comparison
import figures
import files
import samples
from records import Process
from samples import span

RESOURCE = {
    "service.instance.id": "run-rank0", "process.pid": 17, "stepscope.rank": 2, "stepscope.level": "basic",
    "host.name": "vm",
}
PROCESS = Process("run-rank0", 17, 2, "basic")
SPANS = [
    span(1, 0, "step", 1_700_000_000_000_000_001, 1_700_000_000_000_000_101, stepscope__step=3, thread__id=9),
    span(2, 1, "é/", 1_700_000_000_000_000_010, 1_700_000_000_000_000_020, stepscope__value__x=-5),
]
SPANS[0].is_error = True
SPANS[1].links = ((bytes(range(16)), bytes(range(8))),)


class Reading(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def read(self, *paths):
        spans, points = [], []
        notes = files.read(paths or [self.folder.name], spans.append, points.append)
        return spans, points, notes

    def check(self, spans):
        self.assertEqual(len(spans), 2)
        for got, expected in zip(spans, SPANS):
            for field in ("trace", "id", "parent", "name", "start", "end", "attributes", "is_error"):
                self.assertEqual(getattr(got, field), getattr(expected, field), field)
            self.assertEqual(got.instance, PROCESS)
        self.assertEqual(spans[1].links, SPANS[1].links)

    def json(self):
        return json.dumps(samples.json_traces(SPANS, RESOURCE), separators=(",", ":")).encode() + b"\n"

    def proto(self):
        message = samples.proto_message([samples.proto_span(s) for s in SPANS], RESOURCE)
        return len(message).to_bytes(4, "big") + message

    def test_json_lines(self):
        self.write("a", self.json())
        self.check(self.read()[0])

    def test_framed_protobuf(self):
        self.write("a", self.proto())
        self.check(self.read()[0])

    def test_gzip(self):
        self.write("a", gzip.compress(self.proto()))
        self.check(self.read()[0])
        self.write("a", gzip.compress(self.json()))
        self.check(self.read()[0])

    def test_torn_ends_are_noted(self):
        for content in (self.json(), self.proto()):
            path = self.write("a", content + content[:-20])
            spans, _, notes = self.read(path)
            # The torn record holds the first of its two spans whole.
            self.check(spans[:2])
            self.assertEqual([span.id for span in spans[2:]], [SPANS[0].id])
            self.assertEqual(len(notes), 1, notes)

    def test_whatever_is_whole_is_read(self):
        for content in (self.json(), self.proto()):
            counts = []
            for length in range(1, len(content)):
                spans, _, _ = self.read(self.write("a", content[:length]))
                counts.append(len(spans))
            self.assertEqual(sorted(counts), counts)
            self.assertEqual({*counts} | {2}, {0, 1, 2})
        content = self.metrics(20, 5, 1, 1)
        counts = [len(self.read(self.write("a", content[:length]))[1]) for length in range(1, len(content))]
        self.assertEqual(sorted(counts), counts)
        self.assertEqual({*counts}, {0, 1, 2, 3})

    def metrics(self, time, count, low, high):
        attributes = samples.proto_attributes(7, {"stepscope.path": "step"})
        point = fixed(3, time) + varint_fixed(6, count) + attributes
        squares = [fixed(3, time) + varint_fixed(6, word) + attributes for word in (low, high)]
        positive = samples.number(1, 767) + samples.length(2, bytes([2, 0, 1]))  # zigzag(767) = -384
        histogram = (
            samples.proto_attributes(1, {"stepscope.path": "step"})
            + fixed(3, time) + fixed(4, 4) + samples.double(5, 3.5) + samples.number(6, 12) + fixed(7, 1)
            + samples.length(8, positive) + samples.double(12, 0.0) + samples.double(13, 64.0)
        )
        items = [
            metric("stepscope.section.count", 7, point),
            metric("stepscope.section.squares.low", 7, squares[0]),
            metric("stepscope.section.squares.high", 7, squares[1]),
            metric("stepscope.section.duration", 10, histogram),
        ]
        message = samples.proto_message(items, RESOURCE)
        return len(message).to_bytes(4, "big") + message

    def test_metrics_and_the_latest_point_wins(self):
        self.write("a", self.metrics(20, 5, 1, 1))
        self.write("b", self.metrics(10, 3, 7, 7))
        _, points, notes = self.read()
        self.assertEqual((len(points), notes), (8, []))
        sums = aggregates.Aggregates()
        for point in points:
            sums.add(point)
        section = sums.sections()["step"]
        self.assertEqual(section["stepscope.section.count"], 5)
        histogram = section["stepscope.section.duration"]
        self.assertEqual((histogram["scale"], histogram["zero_count"]), (6, 1))
        self.assertEqual(histogram["buckets"], {-384: 2, -382: 1})
        self.assertEqual((histogram["min"], histogram["max"]), (0.0, 64.0))

    def test_json_metrics(self):
        point = {"timeUnixNano": "5", "asInt": "12", "attributes": samples.json_attributes({"stepscope.path": "p"})}
        scope = {"metrics": [{"name": "stepscope.section.total", "sum": {"dataPoints": [point]}}]}
        resource = {"attributes": samples.json_attributes(RESOURCE)}
        line = {"resourceMetrics": [{"resource": resource, "scopeMetrics": [scope]}]}
        self.write("m", json.dumps(line).encode())
        _, [point], _ = self.read()
        self.write("m", json.dumps(line, separators=(",", ":")).encode()[:-5])
        _, [again], notes = self.read()
        self.assertEqual((again.value, again.instance, len(notes)), (12, PROCESS, 1))
        self.assertEqual((point.value, point.time, point.attributes), (12, 5, {"stepscope.path": "p"}))


def fixed(field, value):
    return samples.fixed64(field, value)


def varint_fixed(field, value):
    """`as_int` is an sfixed64."""
    return samples.fixed64(field, value & 0xFFFFFFFFFFFFFFFF)


def metric(name, kind, point):
    return samples.length(1, name.encode()) + samples.length(kind, samples.length(1, point))


class Agreement(unittest.TestCase):
    def test_a_wrong_sum_is_named(self):
        run = figures.Run()
        run.add([span(1, 0, "step", 0, 100), span(2, 1, "a", 10, 20)])
        sums = aggregates.Aggregates()
        for path, count, total in (("step", 1, 100), ("step/a", 1, 11)):
            for name, value in (("count", count), ("total", total)):
                attributes = {"stepscope.path": path}
                sums.add(aggregates_point(f"stepscope.section.{name}", attributes, value))
        compare = comparison.Comparison()
        aggregates.against_spans(sums, run, compare)
        self.assertEqual(compare.figures, 4)
        self.assertEqual(compare.differences, ["aggregates of step/a: total: report 11, spans 10"])


def aggregates_point(name, attributes, value):
    from records import Point

    return Point(("i", 1), name, attributes, 1, value)


if __name__ == "__main__":
    unittest.main()

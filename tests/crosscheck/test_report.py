"""The report by hand is equal as it stands, and different whatever figure of it is changed; and every figure that a
report can have is either compared or known not to be."""

import copy
import json
import pathlib
import types
import unittest

import aggregates
import comparison
import figures
import handmade
import not_computed
import report
import test_changes
import test_memory
import test_periods
import test_sums
import traces

SCHEMA = pathlib.Path(__file__).parents[2] / "crates/analyze/schema/report.schema.json"


def numeric_fields(node, definitions, at=""):
    """Paths of a schema's numbers: names joined by dots, `[]` for the items of a list."""
    if "$ref" in node:
        yield from numeric_fields(definitions[node["$ref"].rpartition("/")[2]], definitions, at)
    for choice in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        yield from numeric_fields(choice, definitions, at)
    types = node.get("type", ())
    if {"integer", "number"} & set([types] if isinstance(types, str) else types):
        yield at
    for name, inner in node.get("properties", {}).items():
        yield from numeric_fields(inner, definitions, f"{at}.{name}" if at else name)
    for item in (node.get("items"), *node.get("prefixItems", ())):
        if isinstance(item, dict):
            yield from numeric_fields(item, definitions, at + "[]")


def places(value, at=()):
    """Where in a report numbers and nothings are."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        yield at, value


def other(value, is_rounded):
    """A value that is not this one, by as little as the comparison can tell."""
    if value is None:
        return 1
    if isinstance(value, float):
        return value + 5 if is_rounded else value * (1 + 1e-6) + 1e-6
    return value + (5 if is_rounded else 1)


def field(place):
    return "".join("[]" if isinstance(key, int) else f".{key}" for key in place).lstrip(".")


class Report(unittest.TestCase):
    def setUp(self):
        self.run_, self.sums = figures.Run(), aggregates.Aggregates()
        self.assembler = traces.Assembler(self.run_.add)
        for point in handmade.points():
            self.sums.add(point)
        for span in handmade.spans():
            self.assembler.add(span)
        self.assembler.finish()
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        self.fields = set(numeric_fields(schema, schema["$defs"]))

    def differences(self, changed):
        compare = comparison.Comparison()
        report.against_spans(changed, self.run_, self.sums, self.assembler, compare)
        return compare

    def test_the_report_by_hand_is_equal(self):
        compare = self.differences(handmade.report())
        self.assertEqual(compare.differences, [])
        self.assertGreater(compare.figures, 450)

    def test_every_number_counts(self):
        unnoticed = []
        for place, value in places(handmade.report()):
            if field(place) not in self.fields:
                continue
            inner = changed = copy.deepcopy(handmade.report())
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = other(value, isinstance(inner, dict) and inner.get("is_exact") is False)
            if not self.differences(changed).differences:
                unnoticed.append(place)
        self.assertEqual(unnoticed, [])

    def test_every_number_of_the_schema_is_compared_or_known_not_to_be(self):
        reports = (handmade.report(), {"summary": {"phase_sums": test_sums.PHASE_SUMS}}, {key: test_memory.leaking()[key] for key in ("memory", "leaks", "findings")}, {"memory": test_memory.beginning_late()["memory"]}, {"detailed_metrics": {"changes": [change for report in (test_changes.slower_by_every_fourth(), test_changes.slower_by_input(), test_changes.slower_by_bursts()) for change in report["detailed_metrics"]["changes"]], "periodic": test_periods.periodic()["detailed_metrics"]["periodic"]}})
        compared = {field(place) for report in reports for place, value in places(report) if value is not None}
        # Each rule has evidence of its own.
        compared = {at for at in compared if not at.startswith("findings[].evidence.")}
        self.assertEqual(compared - self.fields, set(), "not in the schema")
        left_out = set(not_computed.FIELDS)
        self.assertEqual(left_out - self.fields, set(), "listed, and not in the schema")
        self.assertEqual(left_out & compared, set(), "listed, and compared")
        self.assertEqual(self.fields - compared - left_out, set(), "neither compared nor listed in not_computed.py")

    def test_sections_that_end_within_the_warm_up_or_begin_after_the_last_step_are_not_between_steps(self):
        span, thread, phase, shares = self.run_.outside[0]
        steady = sorted(step.start for step in self.run_.steps_of("train") if step.instance == span.instance)[1]
        last = max(step.end for step in self.run_.steps_of("train") if step.instance == span.instance)
        ids = {"instance": span.instance, "trace": span.trace, "id": span.id}
        ids["get"] = span.get
        early = types.SimpleNamespace(**ids, start=steady - 5, end=steady, duration=5)
        late = types.SimpleNamespace(**ids, start=last, end=last + 5, duration=5)
        self.run_.outside += [(one, thread, phase, shares) for one in (early, late)]
        self.assertEqual(self.differences(handmade.report()).differences, [])
        # What reaches into a step is there beside it, and what reaches out of it is between steps.
        early.end, late.start = steady + 1, last - 1
        self.assertEqual(self.differences(handmade.report()).differences, [])
        early.start, early.end = steady + 118, steady + 121
        self.assertNotEqual(self.differences(handmade.report()).differences, [])
        early.end, late.start = steady, last - 101
        self.assertNotEqual(self.differences(handmade.report()).differences, [])

    def test_steps_in_another_bucket_are_found(self):
        changed = handmade.report()
        buckets = changed["detailed_metrics"]["modes"][0]["distribution"]
        buckets[0]["count"] += 1
        buckets[2]["count"] -= 1
        found = self.differences(changed).differences
        self.assertIn("train steps: steps of 80 to 80 ns: report 2, spans 1", found)
        self.assertIn("train steps: steps of 120 to 121 ns: report 0, spans 1", found)

    def test_a_bucket_left_out_is_found(self):
        changed = handmade.report()
        del changed["detailed_metrics"]["modes"][0]["distribution"][1]
        self.assertIn("train steps: steps of the distribution: report 2, spans 3", self.differences(changed).differences)

    def test_missing_and_invented_sections_are_named(self):
        changed = handmade.report()
        changed["sections"][3]["path"] = "step/invented"
        found = self.differences(changed).differences
        self.assertIn("section step/invented: only in the report", found)
        self.assertIn("section step/model/part: not in the report", found)


if __name__ == "__main__":
    unittest.main()

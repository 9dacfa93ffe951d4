"""Each edit of the report by hand, and of one with a leak, is noticed; the program's own reports are edited by the
end-to-end tests."""

import types
import unittest

import aggregates
import comparison
import edits
import evidence
import figures
import handmade
import test_memory
import traces


class Edits(unittest.TestCase):
    def test_of_the_report_by_hand(self):
        run, sums = figures.Run(), aggregates.Aggregates()
        assembler = traces.Assembler(run.add)
        for point in handmade.points():
            sums.add(point)
        for span in handmade.spans():
            assembler.add(span)
        assembler.finish()
        made, missed = edits.unnoticed(handmade.report(), run, sums, assembler)
        self.assertEqual(missed, [])
        absent = {"another_section_holds", "leak_elsewhere", "no_most_variable_sections", "end_is_not_known"}
        self.assertEqual({edit.__name__ for edit in edits.EDITS} - set(made), absent)

    def test_of_a_leak_in_another_section(self):
        edited = test_memory.leaking()
        self.assertEqual(test_memory.differences(edited), [])
        self.assertTrue(edits.leak_elsewhere(edited))
        self.assertEqual([line.partition(":")[0] for line in test_memory.differences(edited)], ["finding memory_growth"])

    def test_shares_in_words(self):
        shown = [evidence.percent(share) for share in (0, 0.00001, 0.0012, 0.0543, 0.0995, 0.471)]
        self.assertEqual(shown, ["0 %", "< 0.01 %", "0.12 %", "5.4 %", "10 %", "47 %"])

    def test_verdicts(self):
        steps = types.SimpleNamespace(mode={}, total=1000, exposed=lambda phases: {"data_wait": 300, "data_loading": 100}.get(phases[0], 0))
        kinds = (("data_wait",), ("data_loading",))
        finding = {"type": "recording", "title": "Half is lost.", "severity": 50}
        for verdict, state, findings, is_right in (
            ("Input bound: 40 % of the step time is input, 30 % waiting for batches.", "high", [], True),
            ("Input bound: 40 % of the step time is input, 31 % waiting for batches.", "high", [], False),
            ("Input bound: 30 % of the step time is spent waiting for batches.", "high", [], False),
            ("Half is lost; input bound, too: 40 % of the step time is input, 30 % waiting for batches.", "high", [finding], True),
            ("Not input bound, but: half is lost.", "no", [finding], True),
            ("Not input bound, but: Half is lost.", "no", [finding], False),
            ("Not input bound: 40 % of the step time is input.", "no", [finding], False),
            ("Too few steps to judge: 7 after warm-up, 20 are needed.", "unknown", [], True),
            ("Too few steps to judge: 8 after warm-up, 20 are needed.", "unknown", [], False),
        ):
            compare = comparison.Comparison()
            summary = {"verdict": verdict, "input": {"verdict": state, "share": 0.4, "steps": 7, "min_steps": 20}}
            evidence.compare_verdict({"summary": summary, "findings": findings}, steps, kinds, compare)
            self.assertEqual(compare.differences == [], is_right, verdict)


if __name__ == "__main__":
    unittest.main()

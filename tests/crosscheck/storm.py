#!/usr/bin/env python3
"""Storms: random traces of steps, of sections that wait for each other (in circles as well), that are suspended and polled,
that overlap their parents, on several threads, with batches and other traces that are linked to; every fourth is of
programs of others, two of them, which know no steps and send each other messages. Each storm is analysed by
the program and compared with the second implementation.

    storm.py --stepscope target/debug/stepscope [--storms 200] [--first 1]

Exits 1 with the seeds of the storms that differ.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import comparison
import crosscheck
import report
import samples
from records import Span

PHASES = (None, None, "forward", "backward", "data_wait", "data_loading", "communication", "synchronization", "io", "checkpoint", "own")
NAMES = ("a", "b", "c", "d", "take", "put", "receive orders", "poll")
ROLES = (1, 1, 1, 2, 3, 4, 5)
BASE = 1_700_000_000_000_000_000
OURS = {"service.instance.id": "storm-rank0", "stepscope.rank": 0, "stepscope.level": "detailed"}
OTHERS = {"service.instance.id": "one", "service.name": "one"}, {"service.instance.id": "two", "service.name": "two"}


class Storm:
    """The spans of one run: of a few steps, or of programs of others."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.is_ours = seed % 4 != 0
        # How long one unit takes: bounds of nanoseconds and of shares both matter.
        self.unit = self.random.choice((1, 7, 1_000, 20_000))
        self.steps = self.random.randint(1, 8)
        self.numbers = 0
        self.spans = []
        batches = [self.trace_id() for _ in range(self.random.randint(0, 4))]
        clock = 0
        for number in range(self.steps):
            length = self.random.randint(20, 120)
            step = {"stepscope.section.kind": "step", "stepscope.step": number} if self.is_ours else {}
            self.trace(batches, "step", clock, clock + length, **step)
            clock += length + self.random.randint(0, 10)
        for own in batches:
            begin = self.random.randint(0, clock)
            is_batch = self.random.random() < 0.7
            kind = {"stepscope.section.kind": "batch"} if is_batch else {}
            name = "load" if is_batch else "write"
            self.trace(batches, name, begin, begin + self.random.randint(1, 60), own, **kind)

    def trace_id(self):
        """Of the process, the number of the trace, and what is drawn."""
        self.numbers += 1
        return bytes([7] * 5) + self.numbers.to_bytes(4, "big") + self.random.randbytes(7)

    def trace(self, batches, name, begin, end, own=None, **attributes):
        pick, trace = self.random, own or self.trace_id()
        spans = [self.span(trace, 1, None, name, begin, end, attributes | {"thread.id": 1 if own is None else 9})]
        for id in range(2, pick.randint(2, 24)):
            parent = pick.choice(spans)
            start = pick.randint(begin - 5, end)
            more = self.more()
            spans.append(self.span(trace, id, parent, pick.choice(NAMES), start, start + pick.randint(0, end - begin), more))
        for span in spans:
            others = [(trace, pick.choice(spans).id) for _ in range(pick.randint(1, 3)) if pick.random() < 0.4]
            others += [(batch, bytes(7) + b"\1") for batch in batches if pick.random() < 0.15]
            span.links = tuple(others)
            self.polls(span)
        if self.is_ours:
            spans[0].attributes["stepscope.trace.spans"] = len(spans)
        self.spans += spans

    def more(self):
        """What a section says of itself."""
        pick = self.random
        said = {"thread.id": pick.choice((1, 1, 1, 2, 3))} if pick.random() < 0.9 else {}
        phase = pick.choice(PHASES)
        if phase:
            said["stepscope.phase"] = phase
        if phase == "data_wait" and pick.random() < 0.5:
            said["stepscope.batch.loader"] = pick.choice(("images", "words"))
            said |= {"stepscope.batch.produce_ns": pick.randint(0, 50) * self.unit, "stepscope.batch.queue_ns": 3 * self.unit}
        if pick.random() < 0.2:
            said["stepscope.cpu_ns"] = pick.randint(0, 40) * self.unit
        return said

    def polls(self, span):
        """Says of some when they were entered, of a few wrongly: beyond their ends."""
        pick, numbers = self.random, []
        if pick.random() < 0.7:
            return
        span.attributes["stepscope.idle_ns"] = pick.randint(1, 9)
        for _ in range(pick.randint(0, 4)):
            after, length = pick.randint(0, 60) * self.unit, pick.randint(0, 20) * self.unit
            numbers += [pick.choice((0, 1, 1, 2)), after, length, pick.choice((1, 1, 1, 2))]
        if numbers and pick.random() < 0.05:
            numbers[pick.randrange(len(numbers))] = pick.choice((-1, 1 << 62))
        if numbers and pick.random() < 0.02:
            numbers.pop()
        if numbers:
            span.attributes["stepscope.polls"] = tuple(numbers)

    def span(self, trace, id, parent, name, start, end, attributes):
        jitter = lambda: self.random.choice((0, 0, 0, 1, -1)) if self.unit > 7 else 0
        begin = BASE + start * self.unit + jitter()
        finish = max(begin, BASE + end * self.unit + jitter())
        above = parent.id if parent else b""
        role = 1 if self.is_ours else self.random.choice(ROLES)
        return Span(trace, id.to_bytes(8, "big"), above, name, begin, finish, attributes, role=role)

    def text(self):
        """The run as lines of OTLP/JSON, its spans in any order."""
        spans = self.random.sample(self.spans, len(self.spans))
        if not self.is_ours:
            halves = [span for span in spans if span.id[-1] % 3 == 1], [span for span in spans if span.id[-1] % 3 != 1]
            return "".join(json.dumps(samples.json_traces(*half)) + "\n" for half in zip(halves, OTHERS) if half[0])
        message = samples.json_traces(spans, OURS)
        message["resourceSpans"][0]["scopeSpans"][0]["scope"] = {"name": "stepscope"}
        return json.dumps(message) + "\n"


def differences(program, storm, folder):
    """What the program's report on a storm and the second implementation do not agree on."""
    file = pathlib.Path(folder) / "storm.jsonl"
    file.write_text(storm.text(), encoding="utf-8")
    command = [program, "--quiet", "analyze", "--format", "json", str(file)]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    run, sums, assembler, notes = crosscheck.compute([str(file)])
    compare = comparison.Comparison()
    report.against_spans(said, run, sums, assembler, compare)
    return compare


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stepscope", required=True, help="the program")
    parser.add_argument("--storms", type=int, default=200)
    parser.add_argument("--first", type=int, default=1, help="seed of the first storm")
    options = parser.parse_args(arguments)
    figures, unequal = 0, []
    for seed in range(options.first, options.first + options.storms):
        with tempfile.TemporaryDirectory() as folder:
            compare = differences(options.stepscope, Storm(seed), folder)
        figures += compare.figures
        if compare.differences:
            unequal.append(seed)
            print(f"DIFFERENT storm {seed}:", *compare.differences[:8], sep="\n  ")
    print(f"compared {figures} figures of {options.storms} storms: {f'storms {unequal} differ' if unequal else 'all equal'}")
    return 1 if unequal else 0


if __name__ == "__main__":
    sys.exit(main())

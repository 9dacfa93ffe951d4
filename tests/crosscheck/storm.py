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

PHASES = (None, None, "forward", "backward", "data_wait", "data_loading", "communication", "synchronization", "io", "own")
NAMES = ("a", "b", "c", "d", "take", "put", "receive orders", "poll")
ROLES = (1, 1, 1, 2, 3, 4, 5)
BASE = 1_700_000_000_000_000_000
OURS = {"service.instance.id": "storm-rank0", "stepscope.rank": 0, "stepscope.level": "detailed"}
OTHERS = {"service.instance.id": "one", "service.name": "one"}, {"service.instance.id": "two", "service.name": "two"}


class Storm:
    """The spans of one run, as JSON has them: of a few steps, or of programs of others."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.is_ours = seed % 4 != 0
        # How long one unit takes: bounds of nanoseconds and of shares both matter.
        self.unit = self.random.choice((1, 7, 1_000, 20_000))
        self.spans, self.numbers = [], 0
        batches = [self.trace_id() for _ in range(self.random.randint(0, 4))]
        clock = 0
        for number in range(self.random.randint(1, 8)):
            length = self.random.randint(20, 120)
            step = {"stepscope.section.kind": "step", "stepscope.step": number} if self.is_ours else {}
            self.trace(batches, "step", clock, clock + length, self.trace_id(), 1, step)
            clock += length + self.random.randint(0, 10)
        for own in batches:
            begin = self.random.randint(0, clock)
            name, kind = self.random.choice((("load", {"stepscope.section.kind": "batch"}), ("write", {})))
            self.trace(batches, name, begin, begin + self.random.randint(1, 60), own, 9, kind)

    def trace_id(self):
        """Of the process, the number of the trace, and what is drawn."""
        self.numbers += 1
        return (bytes([7] * 5) + self.numbers.to_bytes(4, "big") + self.random.randbytes(7)).hex()

    def trace(self, batches, name, begin, end, trace, thread, said):
        pick, root = self.random, f"{1:016x}"
        more = {id: self.said_of_itself() for id in range(2, pick.randint(2, 24))}
        ids = [root] + [f"{id:016x}" for id in more]
        count = {"stepscope.trace.spans": len(ids)} if self.is_ours else {}
        self.spans.append(self.span(trace, root, "", name, begin, end, said | count | {"thread.id": thread}, ids, batches))
        for id, said in more.items():
            parent, start = pick.choice(ids[: id - 1]), pick.randint(begin - 5, end)
            stop, name = start + pick.randint(0, end - begin), pick.choice(NAMES)
            self.spans.append(self.span(trace, f"{id:016x}", parent, name, start, stop, said, ids, batches))

    def span(self, trace, id, parent, name, start, end, said, ids, batches):
        jitter = lambda: self.random.choice((0, 0, 0, 1, -1)) if self.unit > 7 else 0
        start = BASE + start * self.unit + jitter()
        links = [(trace, self.random.choice(ids)) for _ in range(2) if self.random.random() < 0.4]
        links += [(batch, f"{1:016x}") for batch in batches if self.random.random() < 0.15]
        return {
            "traceId": trace,
            "spanId": id,
            "parentSpanId": parent,
            "name": name,
            "kind": 1 if self.is_ours else self.random.choice(ROLES),
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(max(start, BASE + end * self.unit + jitter())),
            "attributes": attributes(said | self.polls()),
            "links": [{"traceId": trace, "spanId": span} for trace, span in links],
        }

    def said_of_itself(self):
        pick = self.random
        said = {"thread.id": pick.choice((1, 1, 1, 2, 3))} if pick.random() < 0.9 else {}
        phase = pick.choice(PHASES)
        said |= {"stepscope.phase": phase} if phase else {}
        if phase == "data_wait" and pick.random() < 0.5:
            said["stepscope.batch.loader"] = pick.choice(("images", "words"))
            said |= {"stepscope.batch.produce_ns": pick.randint(0, 50) * self.unit, "stepscope.batch.queue_ns": 3 * self.unit}
        return said | ({"stepscope.cpu_ns": pick.randint(0, 40) * self.unit} if pick.random() < 0.2 else {})

    def polls(self):
        """When a section was entered, of a few wrongly: beyond its end."""
        pick, numbers = self.random, []
        if pick.random() < 0.7:
            return {}
        for _ in range(pick.randint(0, 4)):
            after, length = pick.randint(0, 60) * self.unit, pick.randint(0, 20) * self.unit
            numbers += [pick.choice((0, 1, 1, 2)), after, length, pick.choice((1, 1, 1, 2))]
        if numbers and pick.random() < 0.05:
            numbers[pick.randrange(len(numbers))] = pick.choice((-1, 1 << 62))
        return {"stepscope.idle_ns": pick.randint(1, 9)} | ({"stepscope.polls": numbers} if numbers else {})

    def text(self):
        """The run as lines of OTLP/JSON, its spans in any order."""
        spans = self.random.sample(self.spans, len(self.spans))
        of = (lambda span: 0) if self.is_ours else (lambda span: int(span["spanId"], 16) % 3 != 1)
        lines = []
        for number, resource in enumerate([OURS] if self.is_ours else OTHERS):
            scope = {"scope": {"name": "stepscope" if self.is_ours else ""}, "spans": [s for s in spans if of(s) == number]}
            lines.append({"resourceSpans": [{"resource": {"attributes": attributes(resource)}, "scopeSpans": [scope]}]})
        return "".join(json.dumps(line) + "\n" for line in lines)


def attributes(said):
    return [{"key": key, "value": value_of(value)} for key, value in said.items()]


def value_of(value):
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(item) for item in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def compared(program, storm, folder):
    """The program's report on a storm beside the second implementation."""
    file = pathlib.Path(folder) / "storm.jsonl"
    file.write_text(storm.text(), encoding="utf-8")
    command = [program, "--quiet", "analyze", "--format", "json", str(file)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    run, sums, assembler, _ = crosscheck.compute([str(file)])
    compare = comparison.Comparison()
    crosscheck.compare_report(report, run, sums, assembler, compare)
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
            compare = compared(options.stepscope, Storm(seed), folder)
        figures += compare.figures
        if compare.differences:
            unequal.append(seed)
            print(f"DIFFERENT storm {seed}:", *compare.differences[:8], sep="\n  ")
    verdict = f"storms {unequal} differ" if unequal else "all equal"
    print(f"compared {figures} figures of {options.storms} storms: {verdict}")
    return 1 if unequal else 0


if __name__ == "__main__":
    sys.exit(main())

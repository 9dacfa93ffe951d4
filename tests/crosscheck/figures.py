"""Folds traces into the figures of a run: sections by call path, steps, waits for batches."""

from array import array

import exposure
import names
import stats
import traces


class Section:
    """All sections of one call path."""

    def __init__(self):
        self.durations = array("Q")
        self.total = 0
        self.self_ns = 0
        self.alloc_bytes = self.free_bytes = self.alloc_count = None

    def add(self, node):
        span = node.span
        self.durations.append(span.duration)
        if not node.collapsed:
            self.total += span.duration
        self.self_ns += self_time(node)
        self.alloc_bytes = plus(self.alloc_bytes, span.get(names.ALLOC_BYTES))
        self.free_bytes = plus(self.free_bytes, span.get(names.FREE_BYTES))
        self.alloc_count = plus(self.alloc_count, span.get(names.ALLOC_COUNT))

    @property
    def count(self):
        return len(self.durations)


class Step:
    """One step; exposed time by phase over its root."""

    __slots__ = ("instance", "mode", "number", "start", "duration", "samples", "tokens", "exposed")

    def __init__(self, root, nodes):
        span = root.span
        self.instance = span.instance
        self.mode = span.get(names.MODE, names.DEFAULT_MODE)
        self.number = span.get(names.STEP)
        self.start = span.start
        self.duration = span.duration
        self.samples = work(nodes, names.SAMPLES)
        self.tokens = work(nodes, names.TOKENS)
        self.exposed = exposure.exposed(root, nodes)


class Run:
    """Everything computed from the spans."""

    def __init__(self):
        self.sections = {}
        self.steps = []
        self.waits = []
        self.phase_total, self.phase_self = {}, {}
        self.spans = 0
        self.roots = 0
        self.unplaced = 0

    def add(self, spans):
        roots, nodes = traces.trees(spans)
        markers = sum(map(traces.is_marker, spans))
        self.spans += len(nodes)
        self.roots += len(roots)
        self.unplaced += len(spans) - markers - len(nodes)
        for node in nodes:
            section = self.sections.get(node.path)
            if section is None:
                section = self.sections[node.path] = Section()
            section.add(node)
            self.add_phase(node)
            self.add_wait(node)
        for root in roots:
            if root.kind == "step":
                self.steps.append(Step(root, nodes))

    def add_phase(self, node):
        phase = node.phase
        if phase is None:
            return
        self.phase_self[phase] = self.phase_self.get(phase, 0) + self_time(node)
        # A section inside one of the same phase is already in its time.
        if node.parent is None or node.parent.phase != phase:
            self.phase_total[phase] = self.phase_total.get(phase, 0) + node.span.duration

    def add_wait(self, node):
        span = node.span
        produce, queue = span.get(names.BATCH_PRODUCE_NS), span.get(names.BATCH_QUEUE_NS)
        if produce is not None or queue is not None or node.phase == names.DATA_WAIT:
            self.waits.append((span.duration, produce, queue, span.get(names.BATCH_QUEUE_DEPTH)))

    def steps_of(self, mode):
        return [step for step in self.steps if step.mode == mode]


def self_time(node):
    """Duration minus the union of the children, each cut to the section."""
    start, end = node.span.start, node.span.end
    covered = stats.union((max(start, c.span.start), min(end, c.span.end)) for c in node.children)
    return node.span.duration - covered


def work(nodes, key):
    """Samples or tokens of a step: of the outermost sections that say so."""
    total, counted = None, set()
    for node in nodes:
        if node.parent in counted:
            counted.add(node)
        elif node.span.get(key) is not None:
            counted.add(node)
            total = plus(total, node.span.get(key))
    return total


def plus(total, value):
    """Sum in which nothing plus nothing stays nothing."""
    return total if value is None else value if total is None else total + value

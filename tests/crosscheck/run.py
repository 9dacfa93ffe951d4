"""Folds traces into the figures of a run, and compares what the report says of the run, its processes, and its losses."""

import critical
import exposure
import linked
import loaders
import names
import traces
from sections import Section
from steps import Step, mode_of, process_of


class Run:
    """Everything computed from the spans."""

    def __init__(self):
        self.sections, self.steps, self.batches = {}, [], []
        # Sections of threads outside of steps: (span, thread, phase, {phase: exposed time}).
        self.outside = []
        self.waits = loaders.Waits()
        self.linked = linked.Linked()
        # {mode: [windows, their time, their own time on the critical path]}
        self.windows = {}
        # Paths of which some sections are in further traces.
        self.continued = []
        self.traces = self.spans = self.missing = self.dropped = self.errors = self.unplaced = 0
        self.has_basic = False
        self.processes, self.spans_of = {}, {}
        # Processes that ended, and {process: the signal that ended it}.
        self.ended, self.signals = set(), {}
        # Sections whose parent was not read, by trace and parent, and how many of them belong to one of several paths.
        self.families, self.homeless = [], 0
        self.markers = {"run": 0, "epoch": 0}

    def add(self, spans):
        roots, nodes = traces.trees(spans)
        self.traces += 1
        self.spans += len(spans)
        self.missing += traces.missing(spans, roots)
        self.dropped += sum(traces.said(roots, names.TRACE_DROPPED))
        self.errors += sum(span.is_error for span in spans)
        is_whole = traces.is_whole(spans, roots)
        self.add_process(spans)
        marked = [span for span in spans if traces.is_marker(span)]
        for span in marked:
            self.markers[span.get(names.SECTION_KIND)] += 1
        self.unplaced += len(spans) - len(marked) - len(nodes)
        families = {}
        for node in nodes:
            if traces.is_orphan(node.root):
                families.setdefault(node.root.span.parent, []).append(node)
            else:
                self.add_section(node, is_whole)
        self.families += [(family, is_whole) for family in families.values()]
        for root in roots:
            if root.span.get(names.PARENT_PATH):
                self.continued.append(root.span.get(names.PARENT_PATH))
            self.add_root(root, [node for node in nodes if node.root is root], is_whole)

    def add_root(self, root, inside, is_whole):
        exposed, mode = None, root.span.get(names.MODE)
        mode = names.MODES_OF_PHASES.get(root.phase, mode if mode in names.MODES_OF_PHASES.values() else None)
        if root.kind == "step":
            mode = mode_of(root)
            exposed = exposure.exposed(root, inside) if is_whole else None
            self.steps.append(Step(root, inside, exposed or {}, is_whole))
            if is_whole:
                self.add_to_sections(mode, inside, exposed)
                self.add_critical(root, inside, mode)
        elif root.kind == "batch":
            self.batches.append(loaders.Batch(root, inside))
            self.linked.add_batch(root)
        elif traces.is_outside(root):
            self.linked.add_other(root)
            exposed = exposure.exposed(root, inside)
            self.outside.append((root.span, root.thread, root.phase, exposure.by_phase(exposed)))
            # Of programs of others each trace is a window, unless its root came after another span of it.
            if not root.is_ours and not critical.follows(root):
                self.add_critical(root, inside, None)
        elif root.kind == "request":
            self.linked.add_other(root)
        for node in inside:
            self.waits.add(node, exposed, mode)

    def add_section(self, node, is_whole):
        if node.path not in self.sections:
            self.sections[node.path] = Section(node)
        self.sections[node.path].add(node, is_whole)

    def add_process(self, spans):
        instance = spans[0].instance
        self.has_basic |= instance is not None and instance.level == names.BASIC
        process = self.processes.setdefault(instance, {"traces": 0, "first_ns": spans[0].start, "last_ns": 0})
        process["traces"] += 1
        process["first_ns"] = min(process["first_ns"], *(span.start for span in spans))
        process["last_ns"] = max(process["last_ns"], *(span.end for span in spans))
        self.spans_of[instance] = self.spans_of.get(instance, 0) + len(spans)
        ends = [span for span in spans if span.get(names.SECTION_KIND) == "run" and not traces.is_marker(span)]
        if ends:
            self.ended.add(instance)
            signals = {span.get(names.ERROR_TYPE) for span in ends}
            self.signals |= {instance: signal for signal in sorted(signals & names.SIGNALS)}

    def add_to_sections(self, mode, nodes, exposed):
        calls = {}
        for node in nodes:
            self.sections[node.path].add_to_step(mode, node, exposed.get(node, 0))
            if not node.collapsed:
                calls[node.path] = calls.get(node.path, 0) + 1
        for path, count in calls.items():
            part = self.sections[path].in_steps[mode]
            part.steps += 1
            part.max_calls = max(part.max_calls, count)

    def add_critical(self, root, nodes, mode):
        pieces = []
        times, slacks = critical.path(root, pieces)
        self.linked.add_step(pieces, mode)
        window = self.windows.setdefault(mode, [0, 0, 0])
        # The root of a trace without steps is a section as those below it.
        for position, length in enumerate((1, root.span.duration, times.get(root, 0) if mode else 0)):
            window[position] += length
        for node in nodes:
            if (node is root and mode) or (node not in times and node not in slacks):
                continue
            part = self.sections[node.path].critical.setdefault(mode, [0, 0, []])
            part[0] += times.get(node, 0)
            if not node.collapsed:
                part[1] += node in times
                part[2] += [slacks[node]] if node in slacks else []

    def close(self, sums):
        """To be called when all traces are there. Sections whose parent was not read are parts of the only path that
        has sections of the names of all that are directly in that parent; where no path has, theirs is a path of its
        own, and where several have, nobody knows."""
        known = set(self.sections) | set(sums.sections())
        for family, is_whole in self.families:
            tops = {traces.escape(node.span.name) for node in family if node.parent is None}
            some = "/" + min(tops)
            around = {path[: -len(some)] for path in known if path.endswith(some)}
            around = {path for path in around if all(f"{path}/{name}" in known for name in tops)}
            if len(around) > 1:
                self.homeless += len(family)
                continue
            for node in family:
                traces.put_inside(node, min(around, default=""))
                self.add_section(node, is_whole)
        for path in self.continued:
            if path in self.sections:
                self.sections[path].selfless += 1

    def knows_self(self, path):
        """Whether spans alone tell what the sections of a path did themselves: none of them holds parts that are in other
        traces, neither named ones nor steps, batches or requests that may have run inside, as it is as long as the
        shortest of these."""
        section = self.sections[path]
        shortest = self.shortest(("step", "batch", "request"))
        if section.selfless or section.outside is not None and shortest is not None and section.outside >= shortest:
            return False
        drivers = self.drivers()
        if not section.in_steps or not any((batch.instance, batch.thread) in drivers for batch in self.batches):
            return True
        return max(section.durations, default=0) < self.shortest(("batch",))

    def shortest(self, kinds):
        of_kind = [section for section in self.sections.values() if section.kind in kinds and section.durations]
        return min((min(section.durations) for section in of_kind), default=None)

    def drivers(self):
        """The threads that drive steps."""
        return {(step.instance, step.thread) for step in self.steps}

    def steps_of(self, mode):
        return [step for step in self.steps if step.mode == mode]


def compare_run(report, run, compare):
    where, got = "run", report["run"]
    levels = {process.level for process in run.processes if process is not None and process.level}
    if len(levels) == 1:
        compare.equal(where, "level", got["level"], *levels)
    first = min(process["first_ns"] for process in run.processes.values())
    last = max(process["last_ns"] for process in run.processes.values())
    for figure, expected in (
        ("traces", run.traces),
        ("spans", run.spans),
        ("errors", run.errors),
        ("ranks", len(run.processes)),
        # SIGTERM where processes name several.
        ("ended_by", max(run.signals.values(), default=None)),
        # Foreign input says neither that a run began nor that it ended.
        ("ended", len(run.ended) >= len(report["ranks"]) if run.markers["run"] or run.ended else None),
        ("epochs_started", run.markers["epoch"]),
        ("epochs_ended", sum(section.count for section in run.sections.values() if section.kind == "epoch")),
        ("started_ns", first),
        ("last_ns", last),
        ("elapsed_ns", last - first),
    ):
        compare.equal(where, figure, got[figure], expected)
    with_spans = sum(row["traces"] > 0 for row in report["ranks"])
    compare.equal("ranks", "number of processes with spans", with_spans, len(run.processes))
    for row in report["ranks"]:
        process = process_of(row["resource"])
        where, mine = f"process {process.id}", run.processes.get(process, {"traces": 0})
        compare.equal(where, "ended_by", row["ended_by"], run.signals.get(process))
        compare.equal(where, "ended", row["ended"], process in run.ended)
        for figure, expected in mine.items():
            compare.equal(where, figure, row[figure], expected)


def compare_losses(got, run, sums, assembler, compare):
    where = "losses"
    exported = {(item["sink"], None): item["spans"] for item in got["exported"] if item["spans"]}
    compare.equal(where, "exported", exported, sums.spans_by(names.SPANS_EXPORTED))
    dropped = {(item["sink"] or None, item["reason"]): item["spans"] for item in got["dropped"]}
    expected = sums.spans_by(names.SPANS_DROPPED)
    absent = [absent_of(process, run, sums) for process in sums.processes()]
    absent = sum(absent) if absent else None
    compare.equal(where, "dropped", dropped, expected)
    for figure, value in (
        ("dropped_total", sum(expected.values())),
        ("absent", absent),
        ("lost", lost(expected, absent, run)),
        ("missing_spans", run.missing),
        ("unplaced", run.homeless),
        ("emitted", sums.latest(names.SPANS_EMITTED)),
        ("incomplete_traces", assembler.incomplete),
    ):
        compare.equal(where, figure, got[figure], value)


def absent_of(process, run, sums):
    """Spans of a process that ended and were not read. One that was killed has not sent its last count: what it
    counted as lost is missing all the same, at the least what the best of its sinks has lost."""
    read, emitted = run.spans_of.get(process, 0), sums.latest(names.SPANS_EMITTED, process)
    if process in run.ended and emitted is not None and emitted >= read:
        return emitted - read
    before, by_sink = of_sinks(sums.spans_by(names.SPANS_DROPPED, process))
    for sink, _ in sums.spans_by(names.SPANS_EXPORTED, process):
        by_sink.setdefault(sink, 0)
    return max((emitted or 0) - read, before + min(by_sink.values(), default=0))


def of_sinks(dropped):
    """Spans lost before any sink, and {sink: spans lost on the way there}."""
    by_sink = {}
    for (sink, _), spans in dropped.items():
        by_sink[sink] = by_sink.get(sink, 0) + spans
    return by_sink.pop(None, 0), by_sink


def lost(dropped, absent, run):
    """Lost spans that are not among those read, without those that were left out on purpose: lost before any
    sink, or by the sink whose losses come closest to what is absent. No fewer than traces themselves lack."""
    before, by_sink = of_sinks(dropped)
    after = max(0, (absent or 0) - before)
    source = min(sorted(by_sink), key=lambda sink: abs(by_sink[sink] - after), default=None) if after else None
    lacking = {key: spans for key, spans in dropped.items() if key[0] in (None, source)}
    left_out = sum(spans for (_, reason), spans in lacking.items() if reason in names.ON_PURPOSE)
    counted = sum(lacking.values()) - left_out
    at_most = counted if absent is None else max(0, absent - left_out)
    return max(min(counted, at_most), run.missing, run.dropped - left_out)

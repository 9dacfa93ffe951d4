"""Folds traces into the figures of a run: sections by call path, steps, batches and the waits for them."""

from array import array

import critical
import examples
import exposure
import held
import linked
import names
import stats
import traces

# Figures that are summed over the sections that carry them, under the report's names.
SUMS = {
    "busy_ns": names.BUSY_NS,
    "idle_ns": names.IDLE_NS,
    "cpu_ns": names.CPU_NS,
    "run_queue_ns": names.RUN_QUEUE_NS,
    "samples": names.SAMPLES,
    "tokens": names.TOKENS,
    "bytes": names.BYTES,
    "flops": names.FLOPS,
    "alloc_bytes": names.ALLOC_BYTES,
    "free_bytes": names.FREE_BYTES,
    "alloc_count": names.ALLOC_COUNT,
}


class Section:
    """All sections of one call path."""

    def __init__(self, node):
        self.name = node.span.name if node.depth <= traces.MAX_DEPTH else traces.DEEPER
        self.depth = node.depth
        self.kind = node.kind
        self.durations = array("Q")
        self.total = 0
        self.self_ns = 0
        self.collapsed = 0
        self.steps = 0
        self.orphans = 0
        self.errors = self.on_device = 0
        # Spans in traces that are not whole, and those whose parts are in other traces: what their children took is
        # not known.
        self.selfless = 0
        # The longest outside of steps.
        self.outside = None
        self.sums = {}
        self.self_alloc = self.self_free = 0
        self.peak = None
        self.in_steps = {}
        # {mode: [time on critical paths, calls on them, slack of each call beside them]}
        self.critical = {}

    def add(self, node, is_whole):
        span = node.span
        self.self_ns += node.self_ns if is_whole else 0
        self.selfless += not is_whole or traces.is_long(span)
        if node.root.is_ours and traces.is_outside(node.root):
            self.outside = max(self.outside or 0, span.duration)
        self.errors += span.is_error
        # Its path begins where the trace was cut off.
        self.orphans += bool(node.root.span.parent)
        if span.get(names.ALLOC_BYTES) is not None:
            self.self_alloc += own(node, names.ALLOC_BYTES)
            self.self_free += own(node, names.FREE_BYTES)
        if node.collapsed:
            # A part of the section around it, which has the same path: no call of its own.
            self.collapsed += 1
            return
        self.durations.append(span.duration)
        self.on_device += span.get(names.CATEGORY) in names.DEVICE_CATEGORIES
        self.steps += node.kind == "step"
        self.total += span.duration
        for name, key in SUMS.items():
            value = span.get(key)
            if value is not None:
                spans, total = self.sums.get(name, (0, 0))
                self.sums[name] = (spans + 1, total + value)
        peak = span.get(names.PEAK_BYTES)
        if peak is not None:
            self.peak = peak if self.peak is None else max(self.peak, peak)

    @property
    def count(self):
        return len(self.durations)

    def sum(self, name):
        return self.sums[name][1] if name in self.sums else None


class InSteps:
    """A call path's part in the steps of one mode."""

    def __init__(self):
        self.steps = self.calls = self.max_calls = self.total = self.driving = self.exposed = 0


class Step:
    """One step, and what its phases took of it: {phase: (exposed, union over threads, self, sections)}. Where it is
    not whole nobody knows: it has a duration and no phases."""

    __slots__ = (
        "trace", "id", "root", "instance", "thread", "mode", "epoch", "number", "offset", "start", "duration", "work", "live", "rss", "run_queue", "input_before", "values",
        "phases", "unattributed", "is_whole", "wait", "spent", "parts", "longest", "own",
    )

    def __init__(self, root, nodes, exposed, is_whole):
        span = root.span
        self.trace, self.id = span.trace, span.id
        # Its sections, where they are kept.
        self.root = None
        self.instance = span.instance
        self.thread = root.thread
        self.mode = mode_of(root)
        self.epoch, self.number = span.get(names.EPOCH), span.get(names.STEP)
        # What numbering adds to the number where that begins anew.
        self.offset = 0
        self.start = span.start
        self.duration = span.duration
        # Of a step whose sections were not all read, what it says itself.
        self.work = {key: work(nodes if is_whole else [root], SUMS[key]) for key in ("samples", "tokens", "bytes")}
        self.run_queue, self.input_before = span.get(names.RUN_QUEUE_NS), span.get(names.INPUT_BEFORE_NS)
        self.live, self.rss = span.get(names.LIVE_BYTES), span.get(names.RSS_BYTES)
        prefix = names.VALUE_PREFIX
        self.values = {key[len(prefix) :]: value for key, value in span.attributes.items() if key.startswith(prefix)}
        self.wait = sum(waited(node, exposed if is_whole else None) for node in nodes if is_wait(node) and node.is_driving)
        self.is_whole = is_whole
        shares = exposure.by_phase(exposed)
        self.unattributed = shares.get(None, 0)
        # {path: exposed time} of its sections, those aside of which nobody knows where they belong.
        self.spent = {}
        for node, length in exposed.items():
            self.spent[node.path] = self.spent.get(node.path, 0) + length
        # {path: [calls, time, that on the steps' thread, exposed time]}, {path: longest call}, and its own time on the
        # critical path.
        self.parts, self.longest, self.own = {}, {}, 0
        self.phases = {}
        for phase in {node.phase for node in nodes if is_whole} - {None}:
            inside = [node for node in nodes if node.phase == phase]
            end = max(span.start, span.end)
            union = stats.union((max(span.start, n.span.start), min(end, n.span.end)) for n in inside)
            self.phases[phase] = (shares.get(phase, 0), union, sum(n.self_ns for n in inside), len(inside))

    @property
    def end(self):
        return self.start + self.duration


class Run:
    """Everything computed from the spans."""

    def __init__(self):
        self.sections = {}
        self.steps = []
        self.whole_steps = 0
        # Those of threads that drive their step, and outside of steps by (process, thread) of who waited: (wait, span).
        self.waits_in_steps, self.waits_outside = [], {}
        # All by the loader that they name, and {loader: {mode: [waits, time]}} of those on the thread that drives a
        # step, by its mode, or what is outside of steps, under None.
        self.named_waits = {}
        # {loader: [(start, time)]} of these, and {loader: [(end, time for which the batch lay ready, depth)]}.
        self.when_named, self.ahead_named = {}, {}
        self.held_up = {}
        # Of those inside of batches, {loader: {the loader of these: [waits, time]}}.
        self.waited_by = {}
        # Paths of which some sections are in further traces.
        self.continued = []
        self.windows = {}
        self.linked = linked.Linked()
        # What sections left allocated, and of which of them spans do not tell it.
        self.held = held.Held()
        self.untold = set()
        self.batches = []
        self.outside = []
        self.traces = 0
        self.spans = 0
        self.missing = 0
        self.dropped = 0
        self.errors = 0
        self.has_basic = False
        self.processes = {}
        self.spans_of = {}
        self.ended = set()
        # {process: the signal that ended it}
        self.signals = {}
        self.unplaced = 0
        # Sections whose parent was not read, by trace and parent, and how many of them belong to one of several paths.
        self.families = []
        self.homeless = 0
        self.markers = {"run": 0, "epoch": 0}
        self.first = self.last = None

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
        self.first = min([span.start for span in spans] + ([self.first] if self.first is not None else []))
        self.last = max([span.end for span in spans] + ([self.last] if self.last is not None else []))
        self.held.add(nodes)
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
            inside, exposed = [node for node in nodes if node.root is root], None
            if root.kind == "step":
                exposed = exposure.exposed(root, inside) if is_whole else None
                self.add_step(root, inside, exposed)
            elif root.kind == "batch":
                self.batches.append(Batch(root, inside))
                self.linked.add_batch(root)
            elif traces.is_outside(root):
                self.linked.add_other(root)
                exposed = exposure.exposed(root, inside)
                shares = exposure.by_phase(exposed)
                self.outside.append((root.span, root.thread, root.phase, shares))
                # Of programs of others each trace is a window, unless its root came after another span of it.
                if not root.is_ours and not critical.follows(root):
                    self.add_critical(root, inside, None)
            elif root.kind == "request":
                self.linked.add_other(root)
            for node in inside:
                self.add_wait(node, exposed)

    def add_section(self, node, is_whole):
        section = self.sections.get(node.path)
        if section is None:
            section = self.sections[node.path] = Section(node)
        section.add(node, is_whole)

    def add_process(self, spans):
        instance = spans[0].instance
        self.has_basic |= instance is not None and instance.level == names.BASIC
        process = self.processes.setdefault(instance, {"traces": 0, "first_ns": None, "last_ns": None})
        process["traces"] += 1
        self.spans_of[instance] = self.spans_of.get(instance, 0) + len(spans)
        if any(span.get(names.SECTION_KIND) == "run" and not traces.is_marker(span) for span in spans):
            self.ended.add(instance)
            signals = {span.get(names.ERROR_TYPE) for span in spans if span.get(names.SECTION_KIND) == "run"}
            self.signals |= {instance: signal for signal in sorted(signals & names.SIGNALS)}
        known = [process[bound] for bound in ("first_ns", "last_ns") if process[bound] is not None]
        process["first_ns"] = min([span.start for span in spans] + known)
        process["last_ns"] = max([span.end for span in spans] + known)

    def add_wait(self, node, exposed):
        span = node.span
        produce, queue = span.get(names.BATCH_PRODUCE_NS), span.get(names.BATCH_QUEUE_NS)
        # What one inside another such wait says of its batch counts; its time is the outer one's.
        length = waited(node, exposed) if is_wait(node) else None
        wait = (length, produce, queue, span.get(names.BATCH_QUEUE_DEPTH))
        if node.kind != "batch" and any(figure is not None for figure in wait):
            if node.root.kind != "step":
                self.waits_outside.setdefault((span.instance, node.thread), []).append((wait, span))
            elif node.is_driving:
                self.waits_in_steps.append((wait, span))
            self.add_named_wait(node, wait)

    def add_named_wait(self, node, wait):
        root, loader = node.root, node.span.get(names.BATCH_LOADER)
        if not loader or node.kind == "batch":
            return
        self.named_waits.setdefault(loader, []).append(wait)
        if wait[2:] != (None, None):
            self.ahead_named.setdefault(loader, []).append((node.span.end, *wait[2:]))
        batch = maker(node)
        if is_wait(node):
            self.when_named.setdefault(loader, []).append((node.span.start, wait[0]))
        if is_wait(node) and batch is not None:
            self.add_to(self.waited_by, loader, loader_of(batch), wait[0])
        is_step = root.kind == "step"
        if is_wait(node) and node.is_driving and (is_step or traces.is_outside(root)):
            said = root.span.get(names.MODE)
            other = said if said in names.MODES_OF_PHASES.values() else None
            mode = mode_of(root) if is_step else names.MODES_OF_PHASES.get(root.phase, other)
            self.add_to(self.held_up, loader, mode, wait[0])

    def add_to(self, sums, loader, key, length):
        held = sums.setdefault(loader, {}).setdefault(key, [0, 0])
        held[0] += 1
        held[1] += length

    def add_step(self, root, nodes, exposed):
        is_whole = exposed is not None
        step = Step(root, nodes, exposed or {}, is_whole)
        self.steps.append(step)
        if not is_whole:
            return
        self.whole_steps += 1
        if self.whole_steps <= examples.KEPT:
            step.root = root
        step.own = self.add_critical(root, nodes, step.mode)
        calls = {}
        for node in nodes:
            part = self.sections[node.path].in_steps.setdefault(step.mode, InSteps())
            part.exposed += exposed.get(node, 0)
            mine = step.parts.setdefault(node.path, [0, 0, 0, 0])
            mine[3] += exposed.get(node, 0)
            # As everywhere, a section inside one of the same path is a part of that.
            if not node.collapsed:
                calls[node.path] = calls.get(node.path, 0) + 1
                part.calls += 1
                part.total += node.span.duration
                part.driving += node.span.duration if node.is_driving else 0
                mine[0] += 1
                mine[1] += node.span.duration
                mine[2] += node.span.duration if node.is_driving else 0
                step.longest[node.path] = max(step.longest.get(node.path, 0), node.span.duration)
        for path, count in calls.items():
            part = self.sections[path].in_steps[step.mode]
            part.steps += 1
            part.max_calls = max(part.max_calls, count)

    def add_critical(self, root, nodes, mode):
        pieces = []
        times, slacks = critical.path(root, pieces)
        self.linked.add_step(pieces, mode)
        window = self.windows.setdefault(mode, [0, 0, 0])
        # The root of a trace without steps is a section as those below it.
        own = times.get(root, 0) if mode else 0
        for position, length in enumerate((1, root.span.duration, own)):
            window[position] += length
        for node in nodes:
            if (node is root and mode) or (node not in times and node not in slacks):
                continue
            part = self.sections[node.path].critical.setdefault(mode, [0, 0, []])
            part[0] += times.get(node, 0)
            if not node.collapsed:
                part[1] += node in times
                part[2] += [slacks[node]] if node in slacks else []
        return own

    def close(self, sums):
        """To be called when all traces are there. Sections whose parent was not read are parts of the only path that
        has sections of the names of all that are directly in that parent; where no path has, theirs is a path of its
        own, and where several have, nobody knows."""
        # By the sections whose beginning was read.
        self.untold = held.untold(self, sums.sections())
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
        """Whether spans alone tell what the sections of a path did themselves: none of them holds parts that are in
        other traces. A section that is shorter than all steps, batches and requests holds none."""
        return not self.sections[path].selfless and not self.may_hold_others(path)

    def may_hold_others(self, path):
        """Whether a step, a batch or a request may run inside a section of the path, so that spans count it there too."""
        section = self.sections[path]
        shortest = self.shortest(("step", "batch", "request"))
        if section.outside is not None and shortest is not None and section.outside >= shortest:
            return True
        driving = self.drivers()
        if not section.in_steps or not any((batch.instance, batch.thread) in driving for batch in self.batches):
            return False
        return max(section.durations, default=0) >= self.shortest(("batch",))

    def driving_waits(self):
        """The waits of the threads that drive steps, with their spans; where none does, those of all threads."""
        driving = self.drivers()
        outside = [waits for thread, waits in self.waits_outside.items() if thread in driving or not driving]
        return self.waits_in_steps + [wait for waits in outside for wait in waits]

    @property
    def waits(self):
        return [wait for wait, _ in self.driving_waits()]

    def when_waited(self):
        """(start, time) of the same."""
        return [(span.start, wait[0]) for wait, span in self.driving_waits() if wait[0] is not None]

    def ahead(self):
        """(end, time for which the batch lay ready, depth of the queue) of the same."""
        return [(span.end, *wait[2:]) for wait, span in self.driving_waits() if wait[2:] != (None, None)]

    def wait_parts(self):
        """Number of waits that know when their batch was made, and the parts of their time."""
        found = [0, 0, 0, 0]
        for (length, produce, queue, _), span in self.driving_waits():
            if length is not None and produce is not None and queue is not None:
                parts = 1, *critical.parts_of_wait(span, produce, queue)
                found = [sum(pair) for pair in zip(found, parts)]
        return found

    def drivers(self):
        """The threads that drive steps."""
        return {(step.instance, step.thread) for step in self.steps}

    def shortest(self, kinds):
        of_kind = [section for section in self.sections.values() if section.kind in kinds and section.durations]
        return min((min(section.durations) for section in of_kind), default=None)

    def steps_of(self, mode):
        return [step for step in self.steps if step.mode == mode]


class Batch:
    """One batch that a loader made."""

    __slots__ = ("loader", "instance", "thread", "start", "duration", "busy", "computing", "samples", "slot_wait", "waits")

    def __init__(self, root, nodes):
        span = root.span
        self.loader = loader_of(root)
        # (start, time) of what its thread waited for batches of others.
        self.waits = [
            (node.span.start, node.span.duration)
            for node in nodes
            if is_wait(node) and node.kind != "batch" and node.thread == root.thread and maker(node) is root
        ]
        self.instance, self.thread = span.instance, root.thread
        self.start, self.duration, self.samples = span.start, span.duration, span.get(names.SAMPLES)
        self.slot_wait = span.get(names.BATCH_SLOT_WAIT_NS)
        # What was not measured is taken to be work.
        self.busy = span.get(names.BUSY_NS, span.duration)
        self.computing = span.get(names.CPU_NS, self.busy)

    @property
    def end(self):
        return self.start + self.duration

    @property
    def waiting(self):
        return sum(time for _, time in self.waits)


def mode_of(root):
    """What a step names, else training; but that of its sections where all of these evaluate or all infer, input aside, and
    take half of it."""
    named = root.span.get(names.MODE, names.DEFAULT_MODE)
    if named in ("eval", "inference"):
        return named
    said = names.MODES_OF_PHASES
    working = [child for child in root.children if child.phase not in names.INPUTS]
    modes = {said.get(child.phase) for child in working}
    duration = root.span.end - root.span.start
    is_most = 2 * sum(child.span.end - child.span.start for child in working) >= duration
    return modes.pop() if is_most and len(modes) == 1 and None not in modes else names.DEFAULT_MODE


def loader_of(batch):
    return batch.span.get(names.BATCH_LOADER) or batch.span.name


def maker(node):
    """The batch that a section is part of."""
    while node.parent is not None:
        node = node.parent
        if node.kind == "batch":
            return node
    return None


def is_wait(node):
    """Whether the section waits for a batch, makes none, and is no part of another such wait."""
    is_inner = node.parent is not None and node.parent.phase == names.DATA_WAIT
    return node.own_phase == names.DATA_WAIT and node.kind != "batch" and not is_inner


def waited(node, exposed):
    """How long a wait took: one on the step's thread that says when it ran, for as long as it was exposed, with what is inside
    of it. Of others, and where exposure is not known, all of it."""
    if exposed is None or not node.is_driving or not critical.runs_of(node):
        return node.span.duration
    return sum(length for one, length in exposed.items() if node in critical.with_above(one))


def own(node, key):
    """Without what sections inside did on the same thread: counters are the threads'."""
    inside = sum(child.span.get(key) or 0 for child in node.children if child.thread == node.thread)
    return max(0, (node.span.get(key) or 0) - inside)


def work(nodes, key):
    """Samples, tokens or bytes of a step: of the outermost sections that say so."""
    total, counted = None, set()
    for node in nodes:
        if node.parent in counted:
            counted.add(node)
        elif node.span.get(key) is not None:
            counted.add(node)
            total = (total or 0) + node.span.get(key)
    return total

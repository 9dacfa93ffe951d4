"""Spans to traces to trees: de-duplication by span id, closing by the root's count, call paths."""

import critical
import names
import stats

MAX_DEPTH, MAX_NAME_BYTES = 64, 4096
# No trace announces more spans; a count beyond is damage.
MAX_SPANS = 1_000_000
# Clocks count in 63 bits: what is beyond is no time.
LATEST = 2**63 - 1
# A start of 0 that was not set, unless times count from there.
FIRST_DAY = 86_400 * 10**9
DEEPER = "…"


class Assembler:
    """Collects spans and hands over each trace once, as soon as its root's count says it is whole and at the
    end of the input otherwise."""

    def __init__(self, on_trace):
        self.on_trace = on_trace
        self.open = {}
        # By trace: what its roots announce, and whether one of them is our own.
        self.expected = {}
        self.closed = {}
        # Traces that go on in others, or continue others: spans, whether they are complete, number of parts, what is continued.
        self.held = {}
        self.duplicates = 0
        self.late = 0
        self.incomplete = 0

    def add(self, span):
        if span.start > LATEST:
            return
        if span.end > LATEST:
            span.end = span.start
        elif span.start == 0 and span.end > FIRST_DAY:
            span.start = span.end
        closed = self.closed.get(span.trace)
        if closed is not None:
            if span.id in closed:
                self.duplicates += 1
            else:
                self.late += 1
            return
        spans = self.open.setdefault(span.trace, {})
        if span.id in spans:
            self.duplicates += 1
            return
        spans[span.id] = span
        announced = span.get(names.TRACE_SPANS)
        if isinstance(announced, int) and announced > 0:
            before, by_us = self.expected.get(span.trace, (0, False))
            self.expected[span.trace] = max(before, announced), by_us or span.is_ours
        # Traces with a run or an epoch in them are few and grow while the program runs: left to the end.
        expected, by_us = self.expected.get(span.trace, (None, False))
        if by_us and sum(own.is_ours for own in spans.values()) >= expected and not any(map(is_long, spans.values())):
            self.close(span.trace)

    def close(self, trace):
        spans = self.open.pop(trace)
        self.closed[trace] = frozenset(spans)
        complete = is_complete(spans.values(), *self.expected.pop(trace, (None, False)))
        parts, continued = goes_on(spans.values())
        if parts or continued:
            self.held[trace] = spans.values(), complete, parts, continued
            return
        self.incomplete += not complete
        name_by_service(spans)
        self.on_trace(list(spans.values()))

    def finish(self):
        for trace in list(self.open):
            self.close(trace)
        inside = {}
        for trace, (_, _, _, continued) in self.held.items():
            if continued and continued[0] in self.held:
                inside.setdefault(continued[0], []).append(trace)
        parts = {part for found in inside.values() for part in found}
        for trace in self.held.keys() - parts:
            self.join(trace, inside)

    def join(self, first, inside):
        """Hands over a trace with all that continue it: one trace, whose root has the counts of all."""
        _, _, _, lost = self.held[first]
        found, missing, complete, left = [], 0, not lost, [first]
        while left:
            trace = left.pop()
            spans, is_whole, parts, continued = self.held[trace]
            own = inside.get(trace, [])
            left += own
            missing += max(0, parts - len(own))
            complete &= is_whole
            for span in spans:
                if trace != first and not span.parent:
                    span.parent = continued[1]
                    # What led back, and to the run as from the first one's root.
                    span.links = span.links[:-2] if names.TRACE_SPANS in span.attributes else span.links
                span.trace = first
                found.append(span)
        roots = [span for span in found if not span.parent and names.TRACE_SPANS in span.attributes]
        for key in (names.TRACE_SPANS, names.TRACE_DROPPED, names.TRACE_LEFT_OUT):
            counts = [span.attributes.pop(key) for span in found if key in span.attributes]
            for root in roots[:1] if counts else []:
                root.attributes[key] = sum(counts)
        for root in roots[:1]:
            root.attributes[names.TRACE_PARTS] = missing
        self.incomplete += not (complete and not missing)
        self.on_trace(found)


def name_by_service(spans):
    """Calls a span of another service than the span around it `service: name`, roots by the service of the first of them."""
    def service(span):
        return span.instance.service if span.instance else None

    own = next((service(span) for span in spans.values() if not span.parent), None)
    named = {}
    for id, span in spans.items():
        around = service(spans[span.parent]) if span.parent in spans else own
        if service(span) and around and service(span) != around:
            named[id] = f"{service(span)}: {span.name}"
    for id, name in named.items():
        spans[id].name = name


def is_complete(spans, expected, by_us):
    """Whether a trace has all the spans that its roots announce: of ours, where these are. Our own always do; a trace of others
    that says nothing has a root."""
    ours = sum(span.is_ours for span in spans)
    if expected is None:
        return not ours and not all(span.parent for span in spans)
    return (ours if by_us else len(spans)) >= expected


def goes_on(spans):
    """How many traces continue this one, and the trace and span that it continues itself, as its roots say."""
    roots = [span for span in spans if span.is_ours and isinstance(span.get(names.TRACE_PARTS), int)]
    continued = (tuple(root.links[-2]) for root in roots if root.get(names.PARENT_PATH) and len(root.links) > 1)
    return max((root.get(names.TRACE_PARTS) for root in roots), default=0), max(continued, default=None)


def is_long(span):
    return span.get(names.SECTION_KIND) in ("run", "epoch")


def is_outside(root):
    """Whether the root is a section outside of steps: steps and batches inside it are traces of their own, and what goes
    on in a further trace is a part of what it continues."""
    is_root = not root.span.parent or not root.is_ours
    return root.kind in ("section", "micro_step") and is_root and not root.span.get(names.PARENT_PATH)


def is_orphan(root):
    """Whether the root is a part of a section that was not read. Only of our own layer it is known that there is one."""
    starts = root.kind in ("step", "run", "batch", "request")
    return root.is_ours and bool(root.span.parent) and not root.span.get(names.PARENT_PATH) and not starts


def put_inside(node, path):
    """Gives a section of a tree without its beginning its path inside `path`. Parents come before their children."""
    if node.parent is not None:
        node.path, node.depth, node.collapsed = place(node.parent, node.span)
    elif path:
        node.path, node.depth = f"{path}/{escape(node.span.name)}", elements(path) + 1


def is_marker(span):
    """Whether the span only says that a run or an epoch began."""
    kind = names.MARKERS.get(span.name)
    return kind is not None and span.get(names.SECTION_KIND) == kind and span.start == span.end


class Node:
    """A section in its trace."""

    __slots__ = (
        "span", "parent", "root", "children", "path", "depth", "collapsed", "phase", "is_ours", "is_driving", "pollers"
    )

    def __init__(self, span, parent, pollers=frozenset()):
        self.span = span
        self.parent = parent
        self.root = parent.root if parent else self
        self.children = []
        # Of roots: whether our own layer wrote any of the trace, and on which threads it runs what is asynchronous.
        self.is_ours, self.pollers = False, pollers
        self.path, self.depth, self.collapsed = place(parent, span)
        # A phase holds for everything below that has none of its own, and a checkpoint for what it copies and writes.
        own, around = self.own_phase, parent.phase if parent else None
        is_part = around == names.CHECKPOINT and own in names.IN_CHECKPOINTS
        self.phase = around if is_part else own or around
        self.is_driving = self.drives()

    @property
    def own_phase(self):
        return self.span.get(names.PHASE) or names.implied_phase(self.span.name)

    @property
    def thread(self):
        """Its thread; a section that names none is on its root's, in the same process."""
        own = self.span.get(names.THREAD_ID)
        if own is None and self.span.instance == self.root.span.instance:
            return self.root.span.get(names.THREAD_ID)
        return own

    @property
    def place(self):
        """Its thread among those of all processes; None where it is not known."""
        return None if self.thread is None else (self.span.instance, self.thread)

    def drives(self):
        """Whether it is on the thread of its root, as far as it says, or begins on one on which this, or the section around it
        that is there as well, is entered at that time. Where it is entered on several then, nobody knows when on which: it may
        be any that runs what is asynchronous."""
        own, root = self.span.get(names.THREAD_ID), self.root
        if self.parent is None or own is None or own == root.span.get(names.THREAD_ID):
            return True
        return any(
            around.span.instance == self.span.instance
            and any(run.start <= self.span.start < run.end and self.may_be_on(run) for run in critical.runs_of(around))
            for around in [root] + [self.parent] * self.parent.is_driving
        )

    def may_be_on(self, run):
        """Whether its thread is that of an interval, as far as is known."""
        own = self.span.get(names.THREAD_ID)
        return run.thread == own or run.thread is None and (self.span.instance, own) in self.root.pollers

    @property
    def self_ns(self):
        """Duration minus the union of the children, each cut to the section."""
        start, end = self.span.start, self.span.end
        covered = stats.union((max(start, c.span.start), min(end, c.span.end)) for c in self.children)
        return self.span.duration - covered

    @property
    def kind(self):
        return self.span.get(names.SECTION_KIND, names.DEFAULT_KIND)


def said(roots, key):
    """The counts of spans that roots state under `key`, without those that cannot be."""
    stated = (root.span.get(key) for root in roots)
    return [count for count in stated if isinstance(count, int) and 0 <= count <= MAX_SPANS]


def missing(spans, roots):
    """Spans that a root announces and that are not there."""
    return max(0, max(said(roots, names.TRACE_SPANS), default=0) - len(spans))


def is_whole(spans, roots):
    """Whether every section of the trace is there: as many spans as announced, none of them lost before, all traces that
    continue it, and no section left out on purpose: where the root does not say, at `basic` all are."""
    left_out = [root.span.get(names.TRACE_LEFT_OUT) for root in roots]
    left_out = [count for count in left_out if isinstance(count, int)]
    is_basic = any(span.instance is not None and span.instance.level == names.BASIC for span in spans)
    is_shallow = max(left_out) > 0 if left_out else is_basic
    lacks = missing(spans, roots) or any(said(roots, names.TRACE_DROPPED)) or any(said(roots, names.TRACE_PARTS))
    return not is_shallow and not lacks


def short(name):
    """A name, cut to the bytes that one may have in a path."""
    return name.encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore")


def escape(name):
    return short(name).replace("\\", "\\\\").replace("/", "\\/")


def elements(path):
    """Number of names in a path text: `/` that no backslash escapes parts them."""
    count, escaped = 1, False
    for letter in path:
        count += letter == "/" and not escaped
        escaped = not escaped and letter == "\\"
    return count


def place(parent, span):
    """Path, depth, and whether the path is the parent's own because both are too deep."""
    if parent is None:
        continued = span.get(names.PARENT_PATH)
        if not continued:
            return escape(span.name), 1, False
        path, depth = continued, elements(continued)
    else:
        path, depth = parent.path, parent.depth
    if depth > MAX_DEPTH:
        return path, depth, True
    name = DEEPER if depth + 1 > MAX_DEPTH else escape(span.name)
    return f"{path}/{name}", depth + 1, False


def threads_that_poll(spans):
    """{(process, thread)} of all on which a section began that says when it was entered, or was entered."""
    found = set()
    for node in (Node(span, None) for span in spans):
        runs = critical.runs_of(node)
        threads = {run.thread for run in runs} | {node.span.get(names.THREAD_ID)} if runs else set()
        found |= {(node.span.instance, thread) for thread in threads - {None}}
    return found


def trees(spans):
    """The roots of a trace's sections, and the sections from the roots down. A span whose parent is not in
    the trace is a root; spans in a cycle of parents have no root and are left out."""
    sections = {span.id: span for span in spans if not is_marker(span)}
    below, tops = {}, []
    for span in sections.values():
        if span.parent and span.parent in sections and span.parent != span.id:
            below.setdefault(span.parent, []).append(span)
        else:
            tops.append(span)
    pollers = threads_that_poll(spans)
    roots = [Node(span, None, pollers) for span in tops]
    is_ours = any(span.is_ours for span in spans)
    for root in roots:
        root.is_ours = is_ours
    nodes = list(roots)
    for node in nodes:
        for span in below.get(node.span.id, ()):
            child = Node(span, node)
            node.children.append(child)
            nodes.append(child)
    return roots, nodes

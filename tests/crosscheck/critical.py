"""The critical path of one step, by its definition: from the end backwards, at each point through the child that ended
last but not after it (of several the one that started last, then the largest id), each cut to its parent. Children on
other threads that go well past their parent were not waited for. A child on a thread of its own that began as soon as
the thread was free waited for what held it, and one that began while its parent's thread was in a call was begun from out
of that. What a section waited for is on the path back to where it began, and then what came before it, even where that was
before the section, but to the end of the wait at most; what the path is inside of already is not waited for; while a
section was suspended, what ran on its thread is on the path: by the intervals in which it and others ran, where they are
known. A section that seems to end a little after the next one of its thread began came before it, that much earlier, with
all that is inside."""

import json
from collections import namedtuple

import names


class Part:
    """A section in a window: when, how much earlier than was recorded, and what ran on its thread while it was suspended.
    All times in one process."""

    def __init__(self, node, begin, finish, is_guest=False, is_before=False):
        self.node, self.begin, self.finish, self.is_guest = node, begin, finish, is_guest
        # Whether only what of the section came before another one is meant.
        self.is_before = is_before
        self.guests = []
        # Where it began, if something waited for it, or for what came after it.
        self.awaited_from = None
        self.moved = 0

    @property
    def key(self):
        return self.finish, self.begin, self.node.span.id, self.awaited_from is not None

    def within(self, start, end):
        """Cut to a window; none outside of it."""
        is_moment = self.begin == self.finish and start <= self.begin <= end
        if is_moment or (self.begin < end and self.finish > start):
            part = Part(self.node, max(self.begin, start), min(self.finish, end), self.is_guest, self.is_before)
            part.awaited_from, part.moved = self.awaited_from, self.moved
            return part
        return None

    def earlier(self, moved):
        """The same by so much earlier."""
        part = Part(self.node, self.begin - moved, self.finish - moved, self.is_guest, self.is_before)
        part.awaited_from = None if self.awaited_from is None else self.awaited_from - moved
        part.moved = self.moved + moved
        return part

    def as_part(self, end):
        """What of it came before a time."""
        part = self.earlier(0)
        part.finish, part.is_before = end, True
        return part

    def from_on(self, start):
        """The same without what came before a time."""
        self.begin = min(max(self.begin, start), self.finish)
        return self


def path(root, pieces=None):
    """({node: nanoseconds} of the nodes on the path, {node: slack} of those beside it). Where asked for, also its pieces:
    (node, start, end)."""
    times, slacks, pieces = {}, {}, [] if pieces is None else pieces
    holders = Holders(root)
    beside = []
    step_back(Part(root, root.span.start, end_of(root)), holders, pieces, beside)
    for node, start, end in pieces:
        times[node] = times.get(node, 0) + end - start
    # What is on the path is not beside it.
    while beside:
        part, slack = beside.pop()
        if part.node in times or part.node in slacks:
            continue
        slacks[part.node] = slack
        point, chosen, among = part.finish, None, candidates(part)
        for child in among:
            if chosen is None or came_before(child, chosen, part, among):
                taken = child.earlier(max(0, child.finish - point)).from_on(part.begin)
                beside.append((taken, slack))
                point, chosen = taken.begin, child
            else:
                beside.append((child, slack + chosen.finish - child.finish))
    return times, slacks


def step_back(part, holders, pieces, beside, around=()):
    """Goes through what was going on in a section on the path, from its end to its start, inside of those `around` it. What
    it waited for and had begun before it is given back: what is around it goes on there."""
    inside = (*around, part.node)
    point, chosen, held, left = part.finish, None, None, None
    among = candidates(part)
    waiting = among[::-1]
    while waiting or held:
        if held and (not waiting or held.key > waiting[-1].key):
            child, held = held, None
        else:
            child = waiting.pop()
            if left or chosen is not None and not came_before(child, chosen, part, among):
                if not child.is_guest:
                    beside.append((child, chosen.finish - child.finish))
                continue
        whole, moved = child, max(0, child.finish - point)
        child = whole.earlier(moved)
        pieces.append((part.node, child.finish, point))
        if child.awaited_from is not None and child.awaited_from < part.begin and holders.root.span.start < part.begin:
            child.begin = child.awaited_from
            return child
        child = child.from_on(part.begin)
        if is_suspended(child.node):
            child.guests = [guest.earlier(moved) for one in waiting for guest in ran_meanwhile(one, whole)]
        child.guests += holders.awaited(child, inside)
        left = step_back(child, holders, pieces, beside, inside)
        point, chosen = left.finish if left else child.begin, whole
        held = left or holders.of(child, part)
    pieces.append((part.node, part.begin, point))
    return None


def came_before(child, later, part, among):
    """Whether a section ended before another began; or seemed to end less than 1 % of the time of what is around them after
    that, on the same thread as far as is known, while no other one began or ended."""
    overlap = child.finish - later.begin
    if overlap <= 0:
        return True
    threads = {child.node.thread, later.node.thread} - {None}
    is_one_clock = child.node.span.instance == later.node.span.instance
    if is_one_clock and (len(threads) > 1 or is_suspended(child.node) or is_suspended(later.node)):
        return False
    times = [time for one in among for time in (one.begin, one.finish) if later.begin <= time <= child.finish]
    is_earlier = child.begin < later.begin and child.finish < later.finish
    return is_earlier and 100 * overlap < part.finish - part.begin and len(times) == 2


class Holders:
    """Which sections had their threads for themselves: not suspended, and begun from another thread; and all by their
    ids, for those that wait for others."""

    def __init__(self, root):
        self.root, self.stays, self.by_id = root, {}, {}
        work = [root]
        while work:
            node = work.pop()
            self.by_id[node.span.id] = node
            work.extend(node.children)
            is_inner = node is not root and lane(node.parent) == lane(node)
            if not is_inner and not is_suspended(node) and node.span.start < node.span.end:
                self.stays.setdefault(lane(node), []).append(node)

    def awaited(self, part, inside):
        """What a section waited for, as far as that went on meanwhile; nothing that the path is inside of."""
        last = self.waited_for(part.node)
        if last is None or last in inside or last is part.node:
            return []
        found = Part(last, last.span.start, min(end_of(last), end_of(part.node)), True)
        found.awaited_from = found.begin
        return [found.earlier(part.moved)]

    def waiters(self):
        """The sections of the root's thread that waited for others."""
        own = [node for node in self.by_id.values() if node is not self.root and node.is_driving]
        return [node for node in own if self.waited_for(node) is not None]

    def waited_for(self, node):
        return self.linked(node) or self.worked(node)

    def linked(self, node):
        """What a section that waits links to within its trace, but for what is around it: the last that ended meanwhile, else
        the last that went on then."""
        own = node.span
        only_waits = node.phase in WAITS
        if not only_waits and not takes_messages(node):
            return None
        targets = [self.by_id.get(target) for trace, target in own.links if trace == own.trace]
        targets = [one for one in targets if one is not None and one not in with_above(node)]
        targets = [one for one in targets if own.start < end_of(one)]
        ended = [one for one in targets if end_of(one) <= end_of(node)]
        going_on = [one for one in targets if only_waits and one.span.start < end_of(node)]
        return max(ended or going_on, key=by_end, default=None)

    def worked(self, node):
        """What ended last on another thread, below a section around both, while one of the root's thread seems to have
        waited: it used less than a tenth of a processor, or, where that is less than half, or is not known and it is of a
        phase that waits or its thread was idle around it, it ended with a thread that had nothing else to do, once others
        and this had worked for half of its time."""
        own = node.span
        length = end_of(node) - own.start
        if node is self.root or not node.is_driving or is_suspended(node):
            return None
        if any(within(child, node) for child in node.children):
            return None
        others = [
            one
            for one in self.beside()
            if one.parent in with_above(node)[1:]
            and one not in with_above(node)
            and node.phase in (None, "synchronization", "communication", one.phase)
            and own.start < end_of(one) <= end_of(node)
        ]
        last = max(others, key=by_end, default=None)
        if last is None:
            return None
        processor = own.get(names.CPU_NS)
        if processor is not None and processor * 10 < length:
            return last
        if processor is not None and processor * 2 >= length:
            return None
        if processor is None and node.phase not in ("synchronization", "communication") and not was_idle_around(node):
            return None
        # A thread that goes on with something else is done with nothing.
        if any(one.thread == last.thread and end_of(last) <= one.span.start < end_of(node) for one in self.beside()):
            return None
        busy, reached = 0, own.start
        for one in sorted(others, key=lambda one: one.span.start):
            busy += max(0, end_of(one) - max(reached, one.span.start))
            reached = max(reached, end_of(one))
        woke = end_of(node) - end_of(last) <= max(length // 100, min(50_000, length // 4))
        return last if woke and busy * 2 >= length else None

    def beside(self):
        """The sections that other threads were in below those of the root's thread. Loading beside the root is nobody's."""
        found = [one for one in self.by_id.values() if one is not self.root and one.parent.is_driving]
        found = [one for one in found if not one.is_driving and one.span.start < end_of(one)]
        return [one for one in found if one.parent is not self.root or one.phase not in ("data_loading", "data_wait")]

    def of(self, part, around):
        """What came before a section on the path: on its thread, or, of what is awaited, in the section around it alone."""
        if not around.begin < part.begin < around.finish:
            return None
        found = [self.before(part, around)]
        outer = part.node.parent
        if part.awaited_from is not None and outer is not None and outer not in with_above(around.node):
            found.append(Part(outer, outer.span.start, min(end_of(outer), part.node.span.start), True, True))
        moved = max(0, part.node.span.start - part.begin)
        found = [one.earlier(moved) for one in found if one is not None and one.begin < one.finish]
        found = [one.within(around.begin, part.begin) for one in found]
        last = max(filter(None, found), key=lambda one: one.key, default=None)
        if last is not None and part.awaited_from is not None:
            last.awaited_from = last.node.span.start - moved
        return last

    def before(self, part, around):
        """What had the thread of a section on the path until less than 1 % of its parent's time, and less than 10 % of its own,
        before it began."""
        own = part.node
        is_elsewhere = own.place != around.node.place
        if own.thread is None:
            is_elsewhere = part.is_guest and own.parent in with_above(around.node)
        if not is_elsewhere:
            return None
        stays = self.stays.get(lane(own), [])
        ended = [stay for stay in stays if stay.span.end <= own.span.start]
        held = max(ended, key=lambda stay: (stay.span.end, stay.span.start, stay.span.id), default=None)
        idle = 0 if held is None else own.span.start - held.span.end
        is_free = held is None or 100 * idle >= around.finish - around.begin
        if is_free or 10 * idle >= held.span.end - held.span.start:
            return self.begun_by(part, around)
        if held.parent is own.parent is around.node and not went_past(held, held.parent):
            return None
        return Part(held, held.span.start, held.span.end, True)

    @staticmethod
    def begun_by(part, around):
        """The call of the parent's thread that began last before a section did on another thread, if it went on."""
        own = part.node
        if part.is_guest and part.awaited_from is None or own.parent is not around.node or own.thread is None:
            return None
        if own.span.instance != around.node.span.instance:
            return None
        calls = [call for call in around.node.children if is_call(call, around.node) and call.span.start < own.span.start]
        last = max(calls, key=lambda call: (call.span.start, call.span.id), default=None)
        if last is None or end_of(last) <= own.span.start:
            return None
        return Part(last, last.span.start, own.span.start, is_before=True)


def was_idle_around(node):
    """Whether the thread neither used nor wanted a processor for half as long as a section, in the next around it that says so."""
    known = [one for one in with_above(node)[1:] if one.is_driving and one.span.get(names.CPU_NS) is not None]
    if not known:
        return False
    around = known[0]
    wanted = around.span.get(names.CPU_NS) + (around.span.get(names.RUN_QUEUE_NS) or 0)
    return max(0, end_of(around) - around.span.start - wanted) * 2 >= end_of(node) - node.span.start


def is_call(child, parent):
    """Whether a child was on its parent's own thread for all of its time, and not handed to a queue."""
    is_there = child.place is not None and child.place == parent.place
    return is_there and not is_suspended(child) and not went_past(child, parent)


def by_end(node):
    return end_of(node), node.span.start, node.span.id


def within(one, other):
    """For how long a section went on while another did."""
    return max(0, min(end_of(one), end_of(other)) - max(one.span.start, other.span.start))


def lane(node):
    """The thread of a section; where it is not known, its parent."""
    return ("below", node.parent) if node.thread is None else ("thread", node.place)


def with_above(node):
    """A section and those around it."""
    found = [node]
    while found[-1].parent is not None:
        found.append(found[-1].parent)
    return found


WAITS = "data_wait", "synchronization", "communication"


def candidates(part):
    """The children that may have held up their parent and what ran while it was suspended, last to end first."""
    found = [child for child in part.node.children if not went_past(child, part.node)]
    found = [Part(child, child.span.start, end_of(child)).earlier(part.moved) for child in found]
    if part.is_before:
        # What went on when the part ended: calls of its thread as far as they had come, and nothing else.
        calls = [one for one in found if is_call(one.node, part.node) and one.begin < part.finish < one.finish]
        found = [one for one in found + part.guests if one.finish <= part.finish]
        found += [one.as_part(part.finish) for one in calls]
    else:
        found = found + part.guests
    found = [one.within(part.begin, part.finish) for one in found]
    return sorted(filter(None, found), key=lambda one: one.key, reverse=True)


def end_of(node):
    return max(node.span.start, node.span.end)


CLIENT, PRODUCER, CONSUMER = 3, 4, 5


def went_past(child, parent):
    """Whether nobody waited for a child: it was handed to a queue or, in traces of ours, it went past its parent by more than
    a tenth of its time, on another thread of the same process."""
    if (child.span.role, parent.span.role) == (CONSUMER, PRODUCER):
        return True
    is_elsewhere = None not in (child.thread, parent.thread) and child.thread != parent.thread
    is_elsewhere = is_elsewhere and child.root.is_ours and child.span.instance == parent.span.instance
    past = end_of(child) - end_of(parent)
    return is_elsewhere and 10 * past > end_of(child) - child.span.start


def takes_messages(node):
    """Whether a section without a phase of its own takes messages, by OpenTelemetry's conventions. It may work on them too."""
    words = node.span.name.split()
    is_receipt = bool({"receive", "poll"} & {*words[:1], *words[-1:]})
    return not node.span.get(names.PHASE) and (node.span.role == CONSUMER or node.span.role == CLIENT and is_receipt)


def follows(root):
    """Whether a root came after another span of its trace, by a link."""
    own = root.span
    return not own.parent and any(trace == own.trace and target != own.id for trace, target in own.links)


def is_suspended(node):
    return (node.span.get(names.IDLE_NS) or 0) > 0


# When a section was entered on a thread, once or more often.
Run = namedtuple("Run", "start end thread count")
MOST_RUNS = 64


def runs_of(node):
    """The intervals that a section says of itself, by their starts; none where they are not known, or cannot be: any that
    begins before the section, or is less than nothing. What is beyond the section's end is cut."""
    own, numbers = node.span, node.span.get(names.POLLS) or ()
    # What came by way of Jaeger has lists as text.
    numbers = json.loads(numbers) if isinstance(numbers, str) else numbers
    if not isinstance(numbers, (list, tuple)) or len(numbers) % 4 or not all(is_whole(number) for number in numbers):
        return []
    quads = list(zip(*[iter(numbers)] * 4))
    if any(min(quad) < 0 or quad[3] == 0 for quad in quads):
        return []
    cut = lambda after: min(own.start + after, end_of(node))
    runs = [(cut(after), cut(after + length), thread, count) for thread, after, length, count in quads]
    runs = [Run(start, end, thread or None, count) for start, end, thread, count in sorted(runs)]
    return runs if len(runs) <= MOST_RUNS else []


def is_whole(number):
    return isinstance(number, int) or isinstance(number, float) and number.is_integer()


def threads_waited_for(node):
    """(start, end, thread) of the times in which a suspended section may have waited for a thread: that of the first of
    its intervals that is not over. In one of a single entry it ran itself."""
    own = node.span
    runs = runs_of(node)
    times = sorted({own.start, end_of(node)} | {time for run in runs for time in (run.start, run.end)})
    found = []
    for start, end in zip(times, times[1:]):
        run = next((run for run in runs if run.end > start), None)
        if run is not None and run.count == 1 and run.start <= start:
            continue
        thread = run.thread if run is not None and run.thread is not None else node.thread
        if found and found[-1][1:] == (start, thread):
            start = found.pop()[0]
        found.append((start, end, thread))
    return found


def ran_meanwhile(other, part):
    """When `other`, which ended before `part`, ran on the thread that this waited for while it was suspended. Both are by so
    much earlier than was recorded."""
    is_other = other.node is not part.node and other.node.span.instance == part.node.span.instance
    if not is_other or not is_suspended(part.node) or part.node.thread is None or other.finish <= part.begin:
        return []
    ran = [(other.node.span.start, end_of(other.node), other.node.thread)]
    if is_suspended(other.node):
        ran = [(run.start, run.end, run.thread) for run in runs_of(other.node) if run.count == 1]
    whole = Part(other.node, other.begin + other.moved, other.finish + other.moved, True)
    found = []
    for start, end, thread in ran:
        for free, taken, waited_for in threads_waited_for(part.node):
            if thread is not None and thread == waited_for:
                one = whole.within(start, end)
                found.append(one and one.within(free, taken))
    return [one.earlier(other.moved) for one in found if one is not None]

"""What sections hold over the steps, from the spans: what each left allocated itself, at the step in which it ended, added
up. What another thread or a section between steps left is where it ended, as exactly as points of series tell."""

import numbering
import figures
import names
import traces

# Points of a series, and sections times points; sections that are told apart.
POINTS, CELLS, SECTIONS = 1_024, 131_072, 2_048
# Rows of the report, the part of the largest below which a section is none, and how many times what they hold together
# the parts of a section may hold.
SHOWN, SMALL, CANCELLED = 8, 100, 3


class Group:
    """What the sections of a step, or of one outside of steps, left allocated: {path: bytes}, None for those without a
    beginning."""

    def __init__(self):
        self.nets = {}
        # Whether any section left something, be it made up for by another of its path.
        self.moves = False

    def add(self, path, net):
        if net:
            self.nets[path] = self.nets.get(path, 0) + net
            self.moves = True


def net(node):
    """Allocated less freed by the section itself: without what sections inside did on its thread. Those that were left
    elsewhere may say more than it; then nothing is its own."""
    return figures.own(node, names.ALLOC_BYTES) - figures.own(node, names.FREE_BYTES)


def groups(nodes):
    """(the section that a group is, what was left in it) of a trace."""
    found = {}
    for node in nodes:
        # What an epoch or the run allocated is that of what ran inside, which has traces of its own.
        if traces.is_long(node.span):
            continue
        anchor = node
        while anchor.parent is not None and not traces.is_long(anchor.parent.span):
            anchor = anchor.parent
        group = found.setdefault(anchor, Group())
        group.add(None if traces.is_orphan(node.root) else node.path, net(node))
        continued = node.span.get(names.PARENT_PATH) if node.parent is None else None
        if continued:
            # It is in the figures of the section that it is a part of.
            group.add(continued, (node.span.get(names.FREE_BYTES) or 0) - (node.span.get(names.ALLOC_BYTES) or 0))
    return found


def says(span):
    return span.get(names.ALLOC_BYTES) is not None or span.get(names.FREE_BYTES) is not None


class Held:
    """Everything that was left, by step and by time."""

    def __init__(self):
        # {mode: [((epoch, number), end, nets)]} and [(end, nets)].
        self.steps, self.elsewhere, self.paths = {}, [], set()

    def add(self, nodes):
        for anchor, group in groups(nodes).items():
            span, is_step = anchor.span, anchor.kind == "step"
            if not group.moves and not (is_step and says(span)):
                continue
            nets = {path: left for path, left in group.nets.items() if left}
            self.paths |= set(nets) - {None}
            end, number = max(span.start, span.end), span.get(names.STEP)
            if is_step and number is not None:
                self.steps.setdefault(figures.mode_of(anchor), []).append(((span.get(names.EPOCH) or 0, number), end, nets))
            else:
                self.elsewhere.append((end, nets))

    def bound(self):
        return max(2, min(POINTS, CELLS // max(1, len(self.paths))))

    def beside(self, mode):
        """(last end, nets) of stretches of what is in no numbered step of the mode."""
        for other, steps in self.steps.items():
            if other != mode:
                yield from joined([(place[0], place[1], end, nets) for place, end, nets in steps], self.bound())
        yield from joined([(0, end, end, nets) for end, nets in self.elsewhere], self.bound())


def joined(rows, bound):
    """Rows of (epoch, number, end, nets) whose numbers differ in their last bits only, so few of them that they fit."""
    shift = 0
    while len({(epoch, number >> shift) for epoch, number, _, _ in rows}) > bound:
        shift += 1
    found = {}
    for epoch, number, end, nets in rows:
        point = found.setdefault((epoch, number >> shift), [0, {}])
        point[0] = max(point[0], end)
        add(point[1], nets)
    return found.values()


def add(sums, nets):
    for path, left in nets.items():
        sums[path] = sums.get(path, 0) + left


def untold(run, sums):
    """Paths of which spans do not tell what they left, because steps or batches may be inside, unless the sums agree."""
    found = set()
    for path in run.held.paths:
        section, said = run.sections[path], sums.get(path, {})
        of_sums = said.get(names.SECTION_SELF_ALLOC), said.get(names.SECTION_SELF_FREE)
        if run.may_hold_others(path) and of_sums != (section.self_alloc, section.self_free):
            found.add(path)
    return found


def around(path):
    """The path without its last name; empty at the top."""
    cut, escaped = 0, False
    for at, letter in enumerate(path):
        if not escaped and letter == "/":
            cut = at
        escaped = not escaped and letter == "\\"
    return path[:cut]


def series(run, mode, shift):
    """(steps, rows, bytes of what is not told apart): rows are (path, with all inside, bytes by point)."""
    points = {}
    offsets = {step.epoch or 0: step.offset for step in run.steps_of(mode) if step.number is not None}
    for (epoch, number), end, nets in run.held.steps[mode]:
        point = points.setdefault((number >> shift << shift) + offsets[epoch], [0, {}])
        point[0] = max(point[0], end)
        add(point[1], nets)
    steps = sorted(points)
    until = running(steps, points)
    for end, nets in run.held.beside(mode):
        at = next((at for at, last in enumerate(until) if last >= end), len(until) - 1)
        add(points[steps[at]][1], nets)
    own = {path: [points[step][1].get(path, 0) for step in steps] for path in run.held.paths - run.untold}
    rest = [points[step][1].get(None, 0) for step in steps]
    inclusive = {}
    for path, row in own.items():
        while path:
            before = inclusive.get(path, [0] * len(steps))
            inclusive[path] = [a + b for a, b in zip(before, row)]
            path = around(path)
    rows = []
    for top in sorted(path for path in inclusive if not around(path)):
        split(top, own, inclusive, rows)
    return steps, rows, rest


def running(steps, points):
    """The last end up to each point."""
    found, last = [], 0
    for step in steps:
        last = max(last, points[step][0])
        found.append(last)
    return found


def split(path, own, inclusive, rows):
    inside = sorted(one for one in inclusive if around(one) == path)
    parts = [inclusive[one] for one in inside] + ([own[path]] if path in own else [])
    is_one = not inside or sum(abs(peak(part)[1]) for part in parts) > CANCELLED * abs(peak(inclusive[path])[1])
    if is_one:
        rows.append((path, bool(inside), inclusive[path]))
        return
    if path in own:
        rows.append((path, False, own[path]))
    for one in inside:
        split(one, own, inclusive, rows)


def held(row):
    """The sums up to each point."""
    sums, now = [], 0
    for left in row:
        now += left
        sums.append(now)
    return sums


def peak(row):
    """(place, bytes) of what is farthest from zero, first of equals."""
    found = (0, 0)
    for at, now in enumerate(held(row)):
        if abs(now) > abs(found[1]):
            found = at, now
    return found


def ends(row, steps):
    sums, (at, most) = held(row), peak(row)
    return {"first_bytes": sums[0], "last_bytes": sums[-1], "peak_bytes": most, "peak_step": steps[at]}


def compare_held(report, run, kinds, compare):
    """`kinds` holds by mode how steps are numbered."""
    where, mode = "memory by section", report["summary"]["mode"]
    got = (report["memory"] or {}).get("by_section")
    is_known = bool(run.held.steps.get(mode)) and kinds.get(mode) != "repeated"
    compare.equal(where, "in the report", got is not None, is_known)
    if got is None or not is_known:
        return
    if len(run.held.paths) > SECTIONS:
        return
    shift = got["shift"]
    places = {place for place, _, _ in run.held.steps[mode]}
    compare.equal(where, "mode", got["mode"], mode)
    compare.equal(where, "smallest shift", numbering.is_least(places, shift, run.held.bound()), True)
    compare.equal(where, "untold", got["untold"], sorted(run.untold))
    steps, rows, rest = series(run, mode, shift)
    size = lambda row: abs(peak(row[2])[1])
    rows.sort(key=lambda row: (-size(row), row[0]))
    least = max(1, -(-size(rows[0]) // SMALL)) if rows else 1
    listed = [row for row in rows[:SHOWN] if size(row) >= least]
    for _, _, row in rows[len(listed) :]:
        rest = [a + b for a, b in zip(rest, row)]
    total = [sum(all) for all in zip(rest, *(row for _, _, row in listed))]
    expected = [{"path": path, "with_inside": inside, **ends(row, steps)} for path, inside, row in listed]
    compare.equal(where, "sections", [row["path"] for row in got["sections"]], [row["path"] for row in expected])
    for mine, theirs in zip(expected, got["sections"]):
        for figure, value in mine.items():
            compare.equal(f"{where}, {mine['path']}", figure, theirs[figure], value)
    for name, row in (("other", rest), ("total", total)):
        for figure, value in ends(row, steps).items():
            compare.equal(f"{where}, {name}", figure, got[name][figure], value)
    compare.equal(where, "points", [point["step"] for point in got["points"]], steps)
    columns = list(zip(total, held(total), zip(*(held(row) for _, _, row in listed)) if listed else ((),) * len(steps), held(rest)))
    for point, (left, now, sections, others) in zip(got["points"], columns):
        place = f"{where}, point {point['step']}"
        compare.equal(place, "net_bytes", point["net_bytes"], left)
        compare.equal(place, "held_bytes", point["held_bytes"], now)
        compare.equal(place, "sections", point["sections"], list(sections))
        compare.equal(place, "other_bytes", point["other_bytes"], others)

"""Calls that a process counted together, because it had no room for their paths: which spans show where they belong."""

import names
import traces


class Shared:
    """What is left of the sums of `(other)`. A path's calls that its own sums lack are there, and what is called inside
    of these is in no sums at all."""

    def __init__(self, merged, sections):
        sums = None if names.OTHER_PATHS in sections else merged.get(names.OTHER_PATHS)
        self.is_used = sums is not None
        self.entered = set()
        self.count = sums.get(names.SECTION_COUNT, 0) if self.is_used else 0
        self.total = sums.get(names.SECTION_TOTAL, 0) if self.is_used else 0
        self.busy = sums.get(names.SECTION_SELF_BUSY) if self.is_used else None
        # A path's parent is written shorter than it.
        for path in sorted(sections, key=len) if self.is_used else []:
            section, own = sections[path], merged.get(path, {})
            if traces.around(path) in self.entered:
                self.entered.add(path)
            elif section.count > own.get(names.SECTION_COUNT, 0):
                self.entered.add(path)
                self.count -= section.count - own.get(names.SECTION_COUNT, 0)
                self.total -= section.total - own.get(names.SECTION_TOTAL, 0)

    def compare_row(self, where, got, compare):
        """The row of what no span shows: none where spans show all."""
        if self.count <= 0:
            if got is not None:
                compare.missing(where, "in the report, although spans show all of it")
        elif got is None:
            compare.missing(where, "not in the report")
        else:
            compare.equal(where, "source", got["source"], "aggregates")
            compare.equal(where, "count", got["count"], self.count)
            compare.equal(where, "total", got["total"], self.total)
            # What the rest did itself is not known.
            compare.equal(where, "self_busy_ns", got["self_busy_ns"], None if self.entered else self.busy)

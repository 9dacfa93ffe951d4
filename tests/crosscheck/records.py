"""What the readers hand over: spans and metric points, stripped to what the figures need."""

from collections import namedtuple

import names

# Who wrote a span or a point: attributes of its resource, None where it has them not.
Process = namedtuple("Process", "id pid rank level service", defaults=(None, None, None))


class Span:
    """One span. Ids are bytes, times integer nanoseconds."""

    __slots__ = (
        "trace", "id", "parent", "name", "start", "end", "attributes", "links", "instance", "is_error", "scope", "role",
    )

    def __init__(
        self, trace, id, parent, name, start, end, attributes=None, links=(), instance=None, is_error=False, scope=None, role=0
    ):
        self.trace = trace
        self.id = id
        self.parent = parent
        # The section's name, where its span left under another one.
        said = (attributes or {}).get(names.SECTION_NAME)
        self.name = said if isinstance(said, str) and said else name
        self.start = start
        self.end = end
        self.attributes = attributes or {}
        self.links = links
        self.instance = instance
        self.is_error = is_error
        # The name of its instrumentation scope, and OpenTelemetry's kind of span: 3 client, 4 producer, 5 consumer.
        self.scope, self.role = scope, role

    @property
    def is_ours(self):
        """Whether our own layer wrote it: by its scope; without any, where its process names a level."""
        if self.scope is None:
            return self.instance is not None and self.instance.level is not None
        return self.scope == "stepscope"

    @property
    def duration(self):
        return max(0, self.end - self.start)

    def get(self, key, default=None):
        return self.attributes.get(key, default)


# One point of a metric: an integer or float, or a histogram as a dict.
Point = namedtuple("Point", "instance metric attributes time value")

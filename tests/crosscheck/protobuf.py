"""The protobuf wire format: fields of one message. Knows nothing of OTLP."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Damaged(Exception):
    """The bytes are not a whole protobuf message."""


def varint(data, at, end):
    """The varint at `at`, and the position behind it."""
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise Damaged("varint runs out of the message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def fields(data, at=0, end=None, torn=False):
    """Yields (number, wire type, value): integers for numbers, (start, end) for length-delimited ones. Of torn
    data a length-delimited field that runs out of the message is yielded with an end beyond it."""
    end = len(data) if end is None else end
    while at < end:
        key, at = varint(data, at, end)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = varint(data, at, end)
        elif wire in (FIXED64, FIXED32):
            width = 8 if wire == FIXED64 else 4
            if at + width > end:
                raise Damaged("fixed-width field runs out of the message")
            value = int.from_bytes(data[at : at + width], "little")
            at += width
        elif wire == BYTES:
            length, at = varint(data, at, end)
            if at + length > end and not torn:
                raise Damaged("length-delimited field runs out of the message")
            value = (at, at + length)
            at += length
        else:
            raise Damaged(f"wire type {wire}")
        yield number, wire, value


def signed(value):
    """A 64-bit two's complement number."""
    return value - (1 << 64) if value >> 63 else value


def zigzag(value):
    """A `sint32`/`sint64`."""
    return (value >> 1) ^ -(value & 1)


def packed_varints(data, at, end):
    """The numbers of a packed repeated field."""
    values = []
    while at < end:
        value, at = varint(data, at, end)
        values.append(value)
    return values


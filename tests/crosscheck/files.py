"""Files and folders to messages: JSON lines or protobuf with a 4-byte big-endian length before each message,
either of them plain or gzipped, told apart by content. A torn last record is noted and read as far as it goes."""

import gzip
import json
import os

import otlp_json
import otlp_proto
from protobuf import Damaged


def read(paths, on_span, on_point):
    """Reads everything under `paths`; returns notes on what could not be read."""
    notes = []
    for path in walk(paths):
        try:
            read_file(path, on_span, on_point, notes)
        except (OSError, EOFError) as error:
            notes.append(f"{path}: {error}")
    return notes


def walk(paths):
    """All files, folders descended in name order."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, files in os.walk(path):
            folders.sort()
            for name in sorted(files):
                yield os.path.join(folder, name)


def read_file(path, on_span, on_point, notes):
    with open(path, "rb") as raw:
        magic = raw.read(2)
    with gzip.open(path) if magic == b"\x1f\x8b" else open(path, "rb") as file:
        first = file.read(1)
        while first in (b"\n", b" ", b"\r", b"\t"):
            first = file.read(1)
        file.seek(0)
        if first == b"{":
            read_lines(path, file, on_span, on_point, notes)
        elif first:
            read_framed(path, file, on_span, on_point, notes)


def read_lines(path, file, on_span, on_point, notes):
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            notes.append(f"{path}:{number}: {error}")
            data = otlp_json.whole_part(line.decode("utf-8", "ignore"))
        if isinstance(data, dict):
            otlp_json.message(data, on_span, on_point)


def read_framed(path, file, on_span, on_point, notes):
    offset = 0
    while True:
        prefix = file.read(4)
        if not prefix:
            return
        length = int.from_bytes(prefix, "big")
        data = file.read(length) if len(prefix) == 4 else b""
        torn = len(prefix) < 4 or len(data) < length
        if torn:
            notes.append(f"{path}: ends inside the record at byte {offset}")
        try:
            otlp_proto.message(data, on_span, on_point, torn)
        except Damaged as error:
            if not torn:
                notes.append(f"{path}: record at byte {offset}: {error}")
        if torn:
            return
        offset += 4 + length

"""Lines, cut one by one: the plain form of `column`."""

from __future__ import annotations

import re

from hearth_file.window import Window

# A carriage return ends a line only once the next byte is there, since a line feed would belong to it.
_LINE = re.compile(rb"([^\r\n]*)(?:\n|\r\n|\r(?=[^\n]))")


def take_lines(window: Window, limit: int) -> list[tuple[bytes, int | None]]:
    """Take up to `limit` lines, each without its end and with the position of the next one."""
    lines = cut_lines(window, limit)
    if len(lines) < limit:
        window.refill()
        lines = cut_lines(window, limit)
    if lines:
        window.at = lines[-1][1]
    return [(line, window.position(place)) for line, place in lines]


def cut_lines(window: Window, limit: int) -> list[tuple[bytes, int]]:
    """Return up to `limit` complete lines, each without its end and with the place where the next one starts.

    Lines end with LF, CR LF or CR.
    """
    lines: list[tuple[bytes, int]] = []
    start = window.at
    while len(lines) < limit and (line := _LINE.match(window.data, start, window.end)):
        start = line.end()
        lines.append((bytes(line[1]), start))
    return lines

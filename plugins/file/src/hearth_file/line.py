"""Splits lines one by one and decodes them as Java does: the plain form of `line_column`."""

from __future__ import annotations

import codecs
import re

from hearth_file.window import Window

# A carriage return ends a line only once the next byte is known, because it may be a line feed of the same line end.
_LINE = re.compile(rb"([^\r\n]*)(?:\n|\r\n|\r(?=[^\n]))")

_ERRORS = "hearth_file.java"
# An encoded surrogate: Java replaces it as a whole, Python byte by byte.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def take_lines(window: Window, limit: int) -> list[tuple[bytes, int | None]]:
    """Take up to `limit` lines, each without its line end and with the position of the next line."""
    lines = cut_lines(window, limit)
    if len(lines) < limit:
        window.refill()
        lines = cut_lines(window, limit)
    if lines:
        window.at = lines[-1][1]
    return [(line, window.position(place)) for line, place in lines]


def cut_lines(window: Window, limit: int) -> list[tuple[bytes, int]]:
    """Return up to `limit` complete lines, each without its line end and with the index of the next line.

    Lines end with LF, CR LF or CR.
    """
    lines: list[tuple[bytes, int]] = []
    start = window.at
    while len(lines) < limit and (line := _LINE.match(window.data, start, window.end)):
        start = line.end()
        lines.append((bytes(line[1]), start))
    return lines


def decode(data: bytes) -> str:
    """Decode UTF-8; replace invalid bytes with U+FFFD exactly as Java does."""
    return data.decode("utf-8", _ERRORS)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    surrogate = _SURROGATE.match(error.object, error.start)
    return "\N{REPLACEMENT CHARACTER}", surrogate.end() if surrogate else error.end


codecs.register_error(_ERRORS, _replace)

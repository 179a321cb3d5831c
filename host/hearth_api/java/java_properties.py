"""Parses Java's .properties format as `java.util.Properties` parses characters.

Lines end with LF, CR or CRLF; `#` and `!` start comments; an odd number of backslashes at the end continues a line; a
key ends at the first `=`, `:` or blank that no backslash precedes; of equal keys the last one wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hearth_api.errors import ConfigError

_BLANK = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)(?P<rest>.*)", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def parse_properties(text: str, source: str = "<text>") -> dict[str, str]:
    """Return the keys and values of a file's text; `source` names it in errors.

    Raises `ConfigError`, with the line, for a malformed `\\uXXXX`. A pure function, callable from any thread.
    """
    entries: dict[str, str] = {}
    for number, line in _logical_lines(text):
        found = _KEY.match(line)
        assert found is not None
        value = found["rest"][_separator_length(found["rest"]) :]
        place = f"{source}, line {number}"
        entries[_unescape(found["key"], place)] = _unescape(value, place)
    return entries


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each logical line with the number of its first natural line."""
    begun, number, lone = "", 0, 0
    lines = _LINE_END.split(text)
    for here, natural in enumerate(lines, 1):
        line = natural.lstrip(_BLANK)
        if not begun and (not line or line[0] in "#!"):
            continue
        number = number if begun else here
        lone = here if line == "\\" and not begun else 0
        continues = _ends_with_backslash(line)
        begun += line[:-1] if continues else line
        if begun and not continues:
            yield number, begun
            begun = ""
    if begun:
        yield number, begun
    elif lone and _is_last(lone, lines, text):
        yield lone, ""


def _ends_with_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _is_last(number: int, lines: Sequence[str], text: str) -> bool:
    """Return whether the file ends with that line, or with the single line terminator after it.

    Java reads a lone backslash there as an entry with an empty key, and nowhere else.
    """
    return number == len(lines) or (number == len(lines) - 1 and text.endswith(("\\\n", "\\\r")))


def _separator_length(rest: str) -> int:
    found = _SEPARATOR.match(rest)
    return found.end() if found else 0


def _unescape(text: str, place: str) -> str:
    if "\\" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        if escape == "u":
            raise ConfigError(
                f"{place}: malformed escape {text[found.start() : found.start() + 6]!r}",
                code="properties.escape",
                hint="write \\u and four hexadecimal digits, and \\\\ for a backslash",
            )
        return _NAMED.get(escape, escape)

    # Java's characters are UTF-16 units, so a pair of \u escapes is one character here.
    units = _ESCAPE.sub(one, text)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

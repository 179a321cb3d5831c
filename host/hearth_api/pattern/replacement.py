"""Replacements of matches in Java's syntax: `$1`, `${name}`, and a backslash before a literal character."""

from __future__ import annotations

import re
from collections.abc import Callable

from hearth_api.pattern.error import PatternError
from hearth_api.pattern.syntax import OWN_GROUP

Replacement = Callable[["re.Match[str]"], str]


def compile_replacement(text: str, pattern: re.Pattern[str]) -> Replacement:
    """Return a Java replacement, with `$1`, `${name}` and `\\` before a literal character, for `pattern.sub`.

    A group that did not match gives the empty text. `$12` means group 1 followed by a 2 if there is no group 12.
    Raises `PatternError` with Java's message at once, where Java waits for the first match.
    """
    parts = list(_replacement_parts(text, pattern))

    def expand(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part[0]] or "" for part in parts)

    return expand


_PART = re.compile(r"\\(?P<literal>.?)|\$(?:\{(?P<name>\w*)(?P<closed>\}?)|(?P<number>[0-9]*))|[^\\$]+", re.S | re.A)


def _replacement_parts(text: str, pattern: re.Pattern[str]) -> list[str | tuple[str | int]]:
    """Return literal texts and, as 1-tuples, the groups to insert between them."""
    parts: list[str | tuple[str | int]] = []
    for match in _PART.finditer(text):
        if match["literal"] is not None:
            parts.append(_literal(match["literal"]))
        elif match["name"] is not None:
            parts.append((_name(match["name"], bool(match["closed"]), pattern),))
        elif match["number"] is not None:
            group, rest = _number(match["number"], match.end() == len(text), pattern)
            parts += [(group,), rest]
        else:
            parts.append(match[0])
    return parts


def _literal(char: str) -> str:
    if not char:
        raise PatternError("character to be escaped is missing")
    return char


def _name(name: str, closed: bool, pattern: re.Pattern[str]) -> str:
    if not name:
        raise PatternError("named capturing group has 0 length name")
    if not closed:
        raise PatternError("named capturing group is missing trailing '}'")
    if name[0].isdigit():
        raise PatternError(f"capturing group name {{{name}}} starts with digit character")
    if name not in pattern.groupindex or name.startswith("_"):  # Java's names never do
        raise PatternError(f"No group with name {{{name}}}")
    return name


def _number(digits: str, at_end: bool, pattern: re.Pattern[str]) -> tuple[int, str]:
    if not digits:
        raise PatternError("Illegal group reference" + (": group index is missing" if at_end else ""))
    ours = {group for name, group in pattern.groupindex.items() if name.startswith(OWN_GROUP)}
    groups = [group for group in range(pattern.groups + 1) if group not in ours]
    used = 1
    if int(digits[0]) >= len(groups):
        raise PatternError(f"No group {digits[0]}")
    while used < len(digits) and int(digits[: used + 1]) < len(groups):
        used += 1
    return groups[int(digits[:used])], digits[used:]

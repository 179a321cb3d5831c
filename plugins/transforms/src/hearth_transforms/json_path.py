"""JSON paths with the semantics of JsonPath for Java, such as `$.book[?(@.author == 'Tolstoy')].title`.

Structs and maps are JSON objects. JsonPath for Java differs from RFC 9535 and from Python's libraries: a condition on
an object is evaluated on the object itself, not on its members. Functions such as `.length()` are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hearth_api import Struct
from hearth_transforms.json_condition import Condition, parse_condition

Take = Callable[[Any, Any], "list[Any] | None"]
"""Returns the matches of a step for a value and the root; None if the value has no such member."""
_ABSENT = object()
_NAME = re.compile(r"[^\s.\[\]()'\"=!<>&|,~@$*?]+")
_QUOTED = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*(,|\])", re.DOTALL)
_INDEXES = re.compile(r"\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")
_SLICE = re.compile(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*\]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Step(NamedTuple):
    """A step of a path; a definite step has at most one match."""

    take: Take
    is_definite: bool = False


class JsonPath:
    """A path from the root `$`, which need not be written."""

    def __init__(self, text: str) -> None:
        """Parse a path; raise ValueError with the position of an error."""
        whole = text if text.startswith("$") else f"$.{text}"
        self._steps, end = parse_steps(whole, 1)
        if whole[end:].strip():
            raise ValueError(f"{whole!r} is not a valid path from {whole[end:]!r} on")
        self.is_definite = all(step.is_definite for step in self._steps)
        names = _read_from_root(self._steps, at_root=True)
        self.names = frozenset(names) if names and self._steps else None
        """The members of the root on which it depends whether there is a match; None if it is not known."""

    def find(self, value: Any) -> list[Any] | None:
        """Return all matches, None if a definite part of the path is missing."""
        return follow(self._steps, value, value)


def follow(steps: tuple[Step, ...], start: Any, root: Any) -> list[Any] | None:
    """Return all matches of the steps, None if a definite prefix of them is missing."""
    found, is_definite = [start], True
    for step in steps:
        arrived, found = found, []
        for each in arrived:
            taken = step.take(each, root)
            if taken is None and is_definite:
                return None
            found += taken or []
        is_definite = is_definite and step.is_definite
    return found


def parse_steps(text: str, start: int) -> tuple[tuple[Step, ...], int]:
    """Parse the steps at a position; return them and their end."""
    steps: list[Step] = []
    place = start
    while place < len(text) and text[place] in ".[":
        if text.startswith("..", place):
            steps.append(Step(_take_all_below))
            place += 2
        elif text[place] == ".":
            place += 1
        read = _read_bracket if text.startswith("[", place) else _read_name
        step, place = read(text, place)
        steps.append(step)
    return tuple(steps), place


def _read_from_root(steps: tuple[Step, ...], at_root: bool, is_read: bool = False) -> set[str] | None:
    """Return the members of the root that steps read, from the root on or from another value; None if not known.

    `is_read` means that the matches are read, too, not counted alone.
    """
    names: set[str] = set()
    for step in steps:
        if isinstance(step.take, _Filter):
            for start, inner in step.take.paths:
                found = _read_from_root(inner, at_root or start == "$", is_read=True)
                if found is None:
                    return None
                names |= found
        elif at_root and not isinstance(step.take, _Member):
            return None
        elif isinstance(step.take, _Member) and at_root:
            names.add(step.take.name)
            at_root = False
    return None if at_root and is_read else names


def _read_name(text: str, place: int) -> tuple[Step, int]:
    if text.startswith("*", place):
        return Step(_take_members), place + 1
    match = _NAME.match(text, place)
    if match is None:
        raise ValueError(f"a name is missing in {text!r} at position {place}")
    if text.startswith("(", match.end()):
        raise ValueError(f"the function {match.group()!r} in {text!r} is not supported")
    return Step(_Member(match.group()), is_definite=True), match.end()


def _read_bracket(text: str, place: int) -> tuple[Step, int]:
    start = place + 1
    stripped = text[start:].lstrip()
    if stripped.startswith("?"):
        return _read_filter(text, text.index("?", start) + 1)
    if match := re.compile(r"\s*\*\s*\]").match(text, start):
        return Step(_take_members), match.end()
    if match := _INDEXES.match(text, start):
        numbers = [int(number) for number in match[1].split(",")]
        return _one_or_more([_item(number) for number in numbers]), match.end()
    if match := _SLICE.match(text, start):
        return Step(_slice(*(int(bound) if bound else None for bound in match.groups()))), match.end()
    return _read_names(text, start)


def _read_names(text: str, start: int) -> tuple[Step, int]:
    takes = []
    place = start
    while match := _QUOTED.match(text, place):
        takes.append(_Member(_ESCAPE.sub(r"\1", match[1] if match[1] is not None else match[2])))
        place = match.end()
        if match[3] == "]":
            return _one_or_more(takes), place
    raise ValueError(f"what stands in brackets in {text!r} at position {start} is no name, index, slice or condition")


def _read_filter(text: str, place: int) -> tuple[Step, int]:
    condition, paths, place = parse_condition(text, place, parse_steps, follow)
    match = re.compile(r"\s*\]").match(text, place)
    if match is None:
        raise ValueError(f"a ] is missing in {text!r} at position {place}")
    return Step(_Filter(condition, paths)), match.end()


@dataclass(frozen=True)
class _Filter:
    """Matches an object that fulfils a condition, and the items of an array that do."""

    condition: Condition
    paths: tuple[tuple[str, tuple[Step, ...]], ...]
    """The paths in the condition: where each starts, `@` or `$`, and its steps."""

    def __call__(self, value: Any, root: Any) -> list[Any] | None:
        if isinstance(value, list):
            return [item for item in value if self.condition(item, root)]
        if isinstance(value, (dict, Struct)):
            return [value] if self.condition(value, root) else []
        return None


def _one_or_more(takes: Sequence[Take]) -> Step:
    if len(takes) == 1:
        return Step(takes[0], is_definite=True)
    return Step(lambda value, root: [each for take in takes for each in take(value, root) or []])


@dataclass(frozen=True)
class _Member:
    """Matches the member of a name."""

    name: str

    def __call__(self, value: Any, root: Any) -> list[Any] | None:
        found = _ABSENT
        if isinstance(value, Struct):
            field = value.schema.field(self.name)
            found = _ABSENT if field is None else value.get(field)
        elif isinstance(value, dict):
            found = value.get(self.name, _ABSENT)
        return None if found is _ABSENT else [found]


def _item(number: int) -> Take:
    def take(value: Any, root: Any) -> list[Any] | None:
        is_there = isinstance(value, list) and -len(value) <= number < len(value)
        return [value[number]] if is_there else None

    return take


def _slice(first: int | None, last: int | None) -> Take:
    return lambda value, root: value[first:last] if isinstance(value, list) else None


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, Struct):
        yield from (value.get(field) for field in value.schema.fields)
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _take_members(value: Any, root: Any) -> list[Any]:
    return list(_members(value))


def _take_all_below(value: Any, root: Any) -> list[Any]:
    """Return the value and all its descendants."""
    found = [value]
    for each in found:
        found += _members(each)  # the list grows during the iteration
    return found

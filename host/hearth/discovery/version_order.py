"""Orders versions as Maven does, because Kafka Connect picks the latest version by Maven's order.

A version is split at dots, hyphens, underscores and between letters and digits; a hyphen, or a change
between letters and digits, opens a nested list. Trailing zeros and release words are ignored, so
``1.0``, ``1.0.0`` and ``1-final`` are equal. One addition for Python: ``dev`` comes before ``alpha``, as
in PEP 440.
"""

from __future__ import annotations

import re
from functools import cmp_to_key, lru_cache
from typing import Any, Union

Item = Union[int, str, "list[Item]"]

_TOKEN = re.compile(r"\d+|[^\d.\-_+]+|[.\-_+]")
_QUALIFIERS = ["dev", "alpha", "beta", "milestone", "rc", "snapshot", "", "sp"]
_SHORT = {"a": "alpha", "b": "beta", "m": "milestone"}
_SAME = {"cr": "rc", "c": "rc", "ga": "", "final": "", "release": ""}


def compare(left: str, right: str) -> int:
    """Return a negative number if ``left`` is older, 0 if both are equal, else a positive one."""
    return _compare(parse(left), parse(right))


version_key: Any = cmp_to_key(compare)
"""Key for ``sorted`` and ``max`` that puts the latest version last."""


@lru_cache(maxsize=4096)
def parse(version: str) -> list[Item]:
    """Split a version into nested lists of numbers and qualifiers, without the insignificant tail."""
    root: list[Item] = []
    open_lists = [root]
    words = _TOKEN.findall(version.lower())
    for index, word in enumerate(words):
        before = words[index - 1] if index else "."
        after = words[index + 1] if index + 1 < len(words) else ""
        follows = "".join(words[index + 1 : index + 3]).lstrip("-")[:1]
        may_open = bool(open_lists[-1]) and (not follows or follows.isdecimal())
        if word in "-_+" or _opens(word, before, may_open):
            nested: list[Item] = []
            open_lists[-1].append(nested)
            open_lists.append(nested)
        if word not in ".-_+":
            open_lists[-1].append(int(word) if word.isdecimal() else _qualifier(word, after))
    for opened in reversed(open_lists):
        _trim(opened)
    return root


def _opens(word: str, before: str, may_open: bool) -> bool:
    """Return whether a nested list starts here.

    One starts between letters and digits, and at a qualifier after a dot that ends the version or is followed by a
    number: ``1.0.rc1`` is ``1.0-rc1``.
    """
    if word == "." or before in "-_+":
        return False
    if before == ".":
        return may_open and not word.isdecimal()
    return word.isdecimal() != before.isdecimal()


def _qualifier(word: str, after: str) -> str:
    if after.isdecimal() and word in _SHORT:
        return _SHORT[word]
    return _SAME.get(word, word)


def _trim(items: list[Item]) -> None:
    """Drop insignificant items from the end, also before a nested list (``1.0-rc`` is ``1-rc``)."""
    position = len(items) - 1
    while position >= 0:
        if items[position] in (0, "", []):
            del items[position]
        elif not isinstance(items[position], list):
            return
        position -= 1


def _compare(left: Item | None, right: Item | None) -> int:
    """Compare two items; ``None`` stands for an item that one version lacks."""
    if left is None or right is None:
        return 0 if left is right else (_sign(left) if right is None else -_sign(right))
    if isinstance(left, list) and isinstance(right, list):
        return next((order for pair in _pairs(left, right) if (order := _compare(*pair))), 0)
    if _kind(left) != _kind(right):
        return _kind(left) - _kind(right)
    before, after = (_rank(left), _rank(right)) if isinstance(left, str) else (left, right)
    return (before > after) - (before < after)  # type: ignore[operator]


def _sign(item: Item | None) -> int:
    """Compare an item with a missing one, which means a release."""
    if isinstance(item, list):
        return next((order for part in item if (order := _sign(part))), 0)
    if isinstance(item, str):
        return (_rank(item) > _rank("")) - (_rank(item) < _rank(""))
    return 1 if item else 0


def _pairs(left: list[Item], right: list[Item]) -> list[tuple[Item | None, Item | None]]:
    length = max(len(left), len(right))
    return [
        (left[index] if index < len(left) else None, right[index] if index < len(right) else None)
        for index in range(length)
    ]


def _kind(item: Item) -> int:
    """Order the kinds of items: a qualifier is older than a nested list, a nested list older than a number."""
    return 0 if isinstance(item, str) else 1 if isinstance(item, list) else 2


def _rank(qualifier: Item) -> tuple[int, str]:
    """Order qualifiers: the known ones as listed, unknown ones after them by name."""
    text = str(qualifier)
    return (_QUALIFIERS.index(text), "") if text in _QUALIFIERS else (len(_QUALIFIERS), text)

"""Files of a tree of directories, in the order and in the pages of an object store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from hearth_storage.place.place import Entry

_PAGE = 1000
T = TypeVar("T")
Children = Callable[[str], Iterable[tuple[str, T]]]
"""Returns what is in a directory, named from the root, by the last part of its name; directories end with a slash."""


def files_below(children: Children[T], prefix: str, after: str, above: str = "") -> Iterator[tuple[str, T]]:
    """Yield files whose name begins with `prefix` and sorts after `after`, in the order of the bytes of their names.

    A directory sorts as its name with a slash.
    """
    for last, child in sorted(children(above), key=lambda pair: _bytes(pair[0])):
        name = above + last
        if not (name.startswith(prefix) or prefix.startswith(name)):
            continue
        if last.endswith("/"):
            if _bytes(name) >= _bytes(after) or after.startswith(name):
                yield from files_below(children, prefix, after, name)
        elif name.startswith(prefix) and _bytes(name) > _bytes(after):
            yield name, child


def paged(entries: Iterable[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield entries in pages."""
    page: list[Entry] = []
    for entry in entries:
        page.append(entry)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")

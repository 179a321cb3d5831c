"""The author API is documented completely, since its readers see nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_origin

import pytest

import hearth_api
from hearth_api import batch, java, testing, worker

DOORS = (hearth_api, batch, java, testing, worker)


def documented() -> Iterator[tuple[str, Any]]:
    """Yield every exported class and function, and every public method and property of the classes."""
    for name, exported in ((name, getattr(door, name)) for door in DOORS for name in door.__all__):
        if not inspect.isclass(exported) or get_origin(exported):  # an alias is a class on Python 3.10
            if inspect.isroutine(exported):
                yield name, exported
            continue
        yield name, exported
        for member, found in vars(exported).items():
            plain = getattr(found, "__func__", found)
            if member.startswith("_") or member in vars(exported).get("__slots__", ()):
                continue
            if inspect.isroutine(plain) or isinstance(found, property) or inspect.isgetsetdescriptor(found):
                yield f"{name}.{member}", plain


DOCUMENTED = dict(documented())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_exported_names_have_a_docstring_sentence(name: str) -> None:
    """Each docstring starts with one full sentence; an overriding method may inherit its base's."""
    thing = DOCUMENTED[name]
    doc = thing.__doc__ if inspect.isclass(thing) else inspect.getdoc(thing)
    assert doc
    first = doc.strip().splitlines()[0]
    assert first[0].isupper() or first[0] == "`"
    assert first.endswith((".", ":")), first

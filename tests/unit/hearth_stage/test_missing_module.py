"""A module that nobody finds is not looked for again, and is found as soon as it is there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth_stage.missing_module import SOUGHT, MissingModuleFinder

NAME = "seldom_there"


class _Counting:
    """Finds nothing, and counts how often it was asked for the module."""

    def __init__(self) -> None:
        self.count = 0

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        self.count += name == NAME


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Counting]:
    """Return who stands behind the finder."""
    counting = _Counting()
    monkeypatch.setattr(sys, "meta_path", [MissingModuleFinder(NAME), counting, *sys.meta_path])
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield counting
    sys.modules.pop(NAME, None)


def sought() -> str:
    """Import the module in vain, and return what that says."""
    with pytest.raises(ModuleNotFoundError) as raised:
        importlib.import_module(NAME)
    assert raised.value.name == NAME
    return str(raised.value)


def test_what_nobody_found_is_not_looked_for_again(other: _Counting) -> None:
    """The words are Python's, the first time and every other."""
    assert {sought() for _ in range(5)} == {f"No module named {NAME!r}"}
    assert other.count == 1


def test_it_is_found_where_modules_are_looked_for_now(other: _Counting, tmp_path: Path) -> None:
    """A plugin may add to the import path what it unpacked."""
    sought()
    (tmp_path / f"{NAME}.py").write_text("here = True\n")
    sys.path.append(str(tmp_path))
    assert importlib.import_module(NAME).here


def test_it_is_found_when_modules_are_looked_for_anew(other: _Counting, tmp_path: Path) -> None:
    """Who makes modules while the interpreter runs has the caches of finders cleared."""
    sys.path.append(str(tmp_path))
    sought()
    (tmp_path / f"{NAME}.py").write_text("here = True\n")
    importlib.invalidate_caches()
    assert importlib.import_module(NAME).here


def test_a_new_finder_is_asked(other: _Counting) -> None:
    """A plugin may bring its own."""
    sought()
    another = _Counting()
    sys.meta_path.append(another)
    sought()
    assert (other.count, another.count) == (2, 1)


def test_it_is_what_arrow_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new Arrow that asks for something else, or for nothing, makes this finder one for nothing."""
    import pyarrow as pa

    asked = []

    class Listening:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            asked.append(name)

    for name in [name for name in sys.modules if name.partition(".")[0] == SOUGHT]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [MissingModuleFinder(), Listening()])
    for _ in range(3):
        pa.array(["text"])
    assert asked.count(SOUGHT) == 1

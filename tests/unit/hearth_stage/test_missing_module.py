"""A missing module is not searched again, and is found as soon as it exists."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth_stage.missing_module import SOUGHT, MissingModuleFinder

NAME = "seldom_there"


class _Counting:
    """Finds nothing, and counts the searches for the module."""

    def __init__(self) -> None:
        self.count = 0

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        self.count += name == NAME


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Counting]:
    """Return the finders after the caching one."""
    counting = _Counting()
    monkeypatch.setattr(sys, "meta_path", [MissingModuleFinder(NAME), counting, *sys.meta_path])
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield counting
    sys.modules.pop(NAME, None)


def sought() -> str:
    """Try to import the module, and return the error."""
    with pytest.raises(ModuleNotFoundError) as raised:
        importlib.import_module(NAME)
    assert raised.value.name == NAME
    return str(raised.value)


def test_missing_module_is_not_searched_again(other: _Counting) -> None:
    """The message is Python's, the first time and later."""
    assert {sought() for _ in range(5)} == {f"No module named {NAME!r}"}
    assert other.count == 1


def test_module_is_found_after_the_path_changes(other: _Counting, tmp_path: Path) -> None:
    """A plugin may add unpacked packages to the import path."""
    sought()
    (tmp_path / f"{NAME}.py").write_text("here = True\n")
    sys.path.append(str(tmp_path))
    assert importlib.import_module(NAME).here


def test_module_is_found_after_caches_are_invalidated(other: _Counting, tmp_path: Path) -> None:
    """Code that creates modules at run time clears the caches of finders."""
    sys.path.append(str(tmp_path))
    sought()
    (tmp_path / f"{NAME}.py").write_text("here = True\n")
    importlib.invalidate_caches()
    assert importlib.import_module(NAME).here


def test_new_finder_is_used(other: _Counting) -> None:
    """A plugin may install its own."""
    sought()
    another = _Counting()
    sys.meta_path.append(another)
    sought()
    assert (other.count, another.count) == (2, 1)


def test_arrow_searches_for_the_cached_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a new Arrow imports something else, or nothing, this finder is obsolete."""
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

"""A module that is not there, though it is looked for again and again.

Arrow asks for ``dateutil`` whenever it is given values without their type (``pa.array(values)``). Where a bundle does
not bring it, the import path is searched each time, which takes longer than to make a column of a thousand texts.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

SOUGHT = "dateutil"


class MissingModuleFinder(importlib.abc.MetaPathFinder):
    """Remembers that nobody finds a module, until modules are looked for elsewhere, or anew."""

    def __init__(self, name: str = SOUGHT) -> None:
        self._name = name
        self._in_vain: tuple[list[object], list[str]] | None = None
        """Who was asked for it, and on which path they looked."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find what the others find; raises ``ModuleNotFoundError``, as the import does, where none of them does."""
        if name != self._name:
            return None
        if self._in_vain != (sys.meta_path, sys.path):
            asked: tuple[list[object], list[str]] = [*sys.meta_path], [*sys.path]
            others = (finder for finder in sys.meta_path if finder is not self)
            found = (finder.find_spec(name, path, target) for finder in others)
            spec = next((each for each in found if each is not None), None)
            if spec is not None:
                return spec
            self._in_vain = asked
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def invalidate_caches(self) -> None:
        """Forget it: who makes modules while the interpreter runs asks for this."""
        self._in_vain = None

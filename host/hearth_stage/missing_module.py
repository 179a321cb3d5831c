"""Caches that a module does not exist, although it is searched for repeatedly.

Arrow tries to import ``dateutil`` whenever it gets values without a type (``pa.array(values)``). If a bundle lacks it,
each search of the import path takes longer than creating a column of a thousand texts.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

SOUGHT = "dateutil"


class MissingModuleFinder(importlib.abc.MetaPathFinder):
    """Remembers that a module was not found, until the import path or its caches change."""

    def __init__(self, name: str = SOUGHT) -> None:
        self._name = name
        self._failed_search: tuple[list[object], list[str]] | None = None
        """The finders and the path of the search that failed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Delegate to the other finders; raises ``ModuleNotFoundError``, as an import does, if none finds it."""
        if name != self._name:
            return None
        if self._failed_search != (sys.meta_path, sys.path):
            searched: tuple[list[object], list[str]] = [*sys.meta_path], [*sys.path]
            others = (finder for finder in sys.meta_path if finder is not self)
            found = (finder.find_spec(name, path, target) for finder in others)
            spec = next((each for each in found if each is not None), None)
            if spec is not None:
                return spec
            self._failed_search = searched
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def invalidate_caches(self) -> None:
        """Forget the failed search, as code that creates modules at run time requests."""
        self._failed_search = None

"""What processes of an environment find when they import: a stage, and every Python that its plugins start.

The interpreter of an environment calls ``see`` before anything else runs (``hearth.isolation.environment_python``).
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Collection, Sequence
from types import ModuleType

API = frozenset({"hearth_api", "hearth_execution", "hearth_stage"})
LAYER = frozenset({"pyarrow", "numpy"})


class HostFinder(importlib.abc.MetaPathFinder):
    """Finds a few of the host's packages, and nothing else that lies beside them (invariant 7)."""

    def __init__(self, packages: Collection[str], directories: Sequence[str]) -> None:
        self._packages = packages
        self._directories = list(directories)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find one of the packages; its submodules are found through the package's own path."""
        if path is None and name in self._packages:
            return importlib.machinery.PathFinder.find_spec(name, self._directories)
        return None


def see(sites: Sequence[str], base: Sequence[str], own: str) -> None:
    """Have this process find the author API first, then the bundle's packages, Python's, and the base layer last.

    ``own`` is the directory from which the interpreter did this; nobody finds anything there. No ``sitecustomize``
    of a bundle is run: a fork server would load it for all stages. Python calls this twice.
    """
    if any(isinstance(each, HostFinder) for each in sys.meta_path):
        return
    sys.path[:] = [*sites, *(each for each in sys.path if each != own)]
    sys.meta_path.insert(0, HostFinder(API, base))
    sys.meta_path.append(HostFinder(LAYER, base))
    sys.modules["sitecustomize"] = None  # type: ignore[assignment]

"""The import path of an environment's processes: its stages, and every Python that its plugins start.

The environment's interpreter calls ``see`` before anything else runs (``hearth.isolation.environment_python``).
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
    """Finds selected packages of the host, and no others in the same directories (invariant 7)."""

    def __init__(self, packages: Collection[str], directories: Sequence[str]) -> None:
        self._packages = packages
        self._directories = list(directories)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find one of the packages; submodules are found through the package's own path."""
        if path is None and name in self._packages:
            return importlib.machinery.PathFinder.find_spec(name, self._directories)
        return None


def see(sites: Sequence[str], base: Sequence[str], own: str) -> None:
    """Set the import order: author API, the bundle's packages, Python's, then the base layer.

    ``own`` is the directory of the ``.pth`` file that calls this; it is removed from the path. A bundle's
    ``sitecustomize`` is not run, because a fork server would load it for all stages. Python calls this twice.
    """
    if any(isinstance(each, HostFinder) for each in sys.meta_path):
        return
    sys.path[:] = [*sites, *(each for each in sys.path if each != own)]
    sys.meta_path.insert(0, HostFinder(API, base))
    sys.meta_path.append(HostFinder(LAYER, base))
    sys.modules["sitecustomize"] = None  # type: ignore[assignment]

"""Start of a stage process: ``python -I -S PATH/hearth_stage FD SITE... -- BASE...``.

``SITE`` directories are the bundle's own packages and come first. ``BASE`` directories hold the host's packages; of
them the process sees the base layer only (``LAYER``), behind everything the bundle brings.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import socket
import sys
from collections.abc import Sequence
from types import ModuleType

LAYER = frozenset({"hearth_api", "hearth_stage", "pyarrow", "numpy"})


class BaseLayer(importlib.abc.MetaPathFinder):
    """Finds the packages of the base layer in the host's directories, and nothing else there (invariant 7)."""

    def __init__(self, directories: Sequence[str]) -> None:
        self._directories = list(directories)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a top-level package of the layer; its submodules are found through the package's own path."""
        if path is None and name in LAYER:
            return importlib.machinery.PathFinder.find_spec(name, self._directories)
        return None


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, whatever the plugin is doing then."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main(arguments: list[str]) -> None:
    """Set up the import path and serve the connection."""
    split = arguments.index("--")
    descriptor, sites, base = int(arguments[0]), arguments[1:split], arguments[split + 1 :]
    sys.path[0:0] = sites
    sys.meta_path.append(BaseLayer(base))
    die_with_parent()
    from hearth_stage.program import Program

    Program(socket.socket(fileno=descriptor)).run()


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if not entry.endswith("hearth_stage")]
    main(sys.argv[1:])

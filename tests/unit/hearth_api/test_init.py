"""The package exports what authors need and loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hearth_api


def test_names_are_exported_once() -> None:
    """The list of names is complete and free of repeats."""
    assert len(hearth_api.__all__) == len(set(hearth_api.__all__))
    assert all(hasattr(hearth_api, name) for name in hearth_api.__all__)


def test_import_needs_the_standard_library_only() -> None:
    """A plugin that works on records starts without pyarrow, in an interpreter that has no packages at all."""
    code = "import sys, hearth_api; print(sorted(name for name in sys.modules if name.startswith('pyarrow')))"
    root = Path(hearth_api.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(root)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"

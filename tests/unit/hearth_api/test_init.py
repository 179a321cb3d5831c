"""Each public package exports its names, no two export the same, and only one imports anything heavy."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hearth_api

ROOT = Path(__file__).parents[3]
USERS = [ROOT / "plugins", *(ROOT / "host" / name for name in ("hearth", "hearth_execution", "hearth_stage"))]
DOORS = ("hearth_api", "hearth_api.batch", "hearth_api.java", "hearth_api.testing", "hearth_api.worker")
ON_ARROW = "hearth_api.layout"
"""The public package that needs Arrow and imports it at once."""


def test_names_are_exported_once() -> None:
    """The lists of names are complete, and every name is in one package."""
    modules = [importlib.import_module(door) for door in (*DOORS, ON_ARROW)]
    assert [name for door in modules for name in door.__all__ if not hasattr(door, name)] == []
    assert [name for name, count in Counter(n for door in modules for n in door.__all__).items() if count > 1] == []


def test_import_needs_the_standard_library_only() -> None:
    """A plugin that works on records starts without pyarrow, in an interpreter without packages."""
    code = f"import {', '.join(DOORS)}; print(sorted(name for name in sys.modules if name.startswith('pyarrow')))"
    root = Path(hearth_api.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(root)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"


def test_importing_the_api_loads_no_other_package() -> None:
    """Java's rules and batches load only when imported."""
    code = "import hearth_api; print([name for name in sys.modules if name.startswith('hearth_api.')])"
    root = Path(hearth_api.__file__).parents[1]
    command = [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(root)!r}); {code}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [door for door in DOORS[1:] if repr(door) in run.stdout] == []


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each name that a file imports from the author API, with its package."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hearth_api":
            yield from ((str(node.module), alias.name) for alias in node.names)


def test_the_api_is_imported_from_public_packages_only() -> None:
    """By plugins and by the host: modules inside the packages may move."""
    names = {(door, name) for door in (*DOORS, ON_ARROW) for name in importlib.import_module(door).__all__}
    files = [path for folder in USERS for path in folder.rglob("*.py")]
    assert len(files) > 150
    assert [(str(path), each) for path in files for each in imported(path) if each not in names] == []

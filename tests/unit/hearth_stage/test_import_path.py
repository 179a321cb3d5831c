"""The import path of a stage; ``tests/unit/isolation/test_stage.py`` tests it in real processes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import hearth_execution
import hearth_stage
from hearth_stage.import_path import API, LAYER, HostFinder


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Create a directory of packages like the host's."""
    for name in ("hearth_api", "orjson"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    return tmp_path


def test_only_the_named_packages_are_found(packages: Path) -> None:
    """Other packages in the same directory are not visible (invariant 7)."""
    finder = HostFinder(API, [str(packages)])
    found = finder.find_spec("hearth_api")
    assert found is not None
    assert found.origin == str(packages / "hearth_api" / "__init__.py")
    assert finder.find_spec("orjson") is None


def test_submodules_are_left_to_the_package(packages: Path) -> None:
    """A package finds its own modules by its own path."""
    assert HostFinder(API, [str(packages)]).find_spec("hearth_api", [str(packages)]) is None


def test_package_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    """In a host without pyarrow the import fails with Python's own message."""
    assert HostFinder(LAYER, [str(tmp_path)]).find_spec("pyarrow") is None


def test_api_and_layer_hold_all_that_a_stage_imports() -> None:
    """A stage imports the standard library, its own packages and the base layer only."""
    import ast
    import sys

    imported = set()
    paths = [*Path(hearth_stage.__file__).parent.glob("*.py"), *Path(hearth_execution.__file__).parent.glob("*.py")]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    assert imported - set(sys.stdlib_module_names) <= API | LAYER
    assert all(importlib.util.find_spec(name) for name in API | LAYER)

"""Every module of the host has its tests where the guide to the architecture says they are.

The tests of ``host/hearth/kafka/admin.py`` are in ``tests/unit/kafka/test_admin.py``; tests that need other
processes, or cover several implementations, may likewise be in ``tests/integration`` or ``tests/contract``. A module
without such a file is a part of a module in its package that uses it and has tests, or it only contains declarations.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.unit.test_circle import HOST, graph, modules

TESTS = HOST.parent / "tests"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DECLARING = ("__init__", "__str__")
"""Methods by which an error or a value shows its contents."""


def package(name: str) -> str:
    """Return the package of a module."""
    return name.rpartition(".")[0]


def places(name: str, tests: Path) -> Iterator[Path]:
    """Yield where a module may have its tests."""
    folders = name.removeprefix("hearth.").split(".")
    file = f"test_{folders.pop().strip('_')}.py"
    yield from (Path(tests, kind, *folders, file) for kind in ("unit", "integration", "contract"))


def is_declaration(path: Path) -> bool:
    """Return whether the functions of a file only store and show an object's contents."""
    functions = (each for each in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(each, FUNCTION))
    return all(each.name in DECLARING or all(map(_is_nothing, each.body)) for each in functions)


def _is_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring, an ellipsis, or an abstract method's NotImplementedError."""
    return isinstance(statement, (ast.Pass, ast.Raise)) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def untested(files: Mapping[str, Path], tests: Path) -> list[str]:
    """Return the modules that have no tests, nor are a part of a tested module in their package."""
    own = {name for name in files if any(place.exists() for place in places(name, tests))}
    imports = graph(files)
    parts = {other for name in own for other in imports[name] if package(other) == package(name)}
    doors = {name for name, path in files.items() if path.stem == "__init__"}
    return sorted(name for name in files.keys() - own - parts - doors if not is_declaration(files[name]))


def test_every_module_has_its_tests_in_the_documented_place() -> None:
    """A module's tests are found without a search."""
    assert untested(modules(HOST), TESTS) == []


def test_untested_modules_are_found(tmp_path: Path) -> None:
    """Also if a module of another folder, or an untested one, uses it."""
    host, tests = tmp_path / "host", tmp_path / "tests"
    texts = {
        "a/__init__.py": "def door():\n    return 1",
        "a/own.py": "import a.part\nimport b.other\ndef do():\n    return 1",
        "a/part.py": "import a.deep\ndef do():\n    return 1",
        "a/deep.py": "def do():\n    return 1",
        "a/error.py": "class E(Exception):\n    def __str__(self):\n        return 'e'\n",
        "a/protocol.py": "class P:\n    def do(self):\n        'Do.'\n    def undo(self):\n        ...",
        "b/other.py": "def do():\n    return 1",
        "b/__main__.py": "def do():\n    return 1",
        "hearth/c/real.py": "def do():\n    return 1",
        "hearth/c/seen.py": "def do():\n    return 1",
    }
    for name, text in texts.items():
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_text(text)
    for name in ("unit/a/test_own.py", "unit/b/test_main.py", "unit/c/test_seen.py", "integration/c/test_real.py"):
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        (tests / name).touch()
    assert untested(modules(host), tests) == ["a.deep", "b.other"]

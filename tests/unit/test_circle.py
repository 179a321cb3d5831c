"""No file imports a file that imports it, directly or indirectly, at its top or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

HOST = Path(__file__).parents[2] / "host"
PLUGINS = sorted(HOST.parent.glob("plugins/*/src"))


def modules(source: Path) -> dict[str, Path]:
    """Return the files of a source directory by module name."""
    found = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the modules imported below a node; imported names count as modules, imports for types alone do not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from imported(child)


def graph(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return the imports of each file.

    The implicit import of a package's own file is left out: it exports the contents of the others.
    """
    imports = {}
    for name, path in files.items():
        wanted = imported(ast.parse(path.read_text(encoding="utf-8")))
        imports[name] = {each if each in files else each.rpartition(".")[0] for each in wanted} & files.keys()
    return imports


def circles(imports: Mapping[str, set[str]]) -> list[str]:
    """Return the rest of a graph after repeatedly removing files that import nothing in it."""
    left = {name: set(others) for name, others in imports.items()}
    while free := {name for name, others in left.items() if not others}:
        left = {name: others - free for name, others in left.items() if name not in free}
    return sorted(left)


@pytest.mark.parametrize("source", [HOST, *PLUGINS], ids=lambda path: path.parent.name if path != HOST else "host")
def test_no_circle_of_files(source: Path) -> None:
    """A file can be read after the files that it imports."""
    files = modules(source)
    assert len(files) > 3
    assert circles(graph(files)) == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    """Also through a function; a file that only depends on a circle is listed with it."""
    (tmp_path / "one.py").write_text("from two import TWO\nimport three\n")
    (tmp_path / "two.py").write_text("def late():\n    from one import ONE\n")
    (tmp_path / "three.py").write_text("if TYPE_CHECKING:\n    import one\n")
    assert circles(graph(modules(tmp_path))) == ["one", "two"]

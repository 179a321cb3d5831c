"""No file imports, by whatever way round, a file that imports it: neither at its top nor inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

HOST = Path(__file__).parents[2] / "host"


def modules(source: Path) -> dict[str, Path]:
    """Return the files of a source directory by the name they are imported under."""
    found = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(node: ast.AST) -> Iterator[str]:
    """Yield what is imported below a node, a module's members as if they were modules; types alone do not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from imported(child)


def graph(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return which file imports which.

    That Python runs a package's own file before any file in it is left out: it exports what the others hold.
    """
    imports = {}
    for name, path in files.items():
        wanted = imported(ast.parse(path.read_text(encoding="utf-8")))
        imports[name] = {each if each in files else each.rpartition(".")[0] for each in wanted} & files.keys()
    return imports


def circles(imports: Mapping[str, set[str]]) -> list[str]:
    """Return what is left of a graph when files that import nothing left are taken away, again and again."""
    left = {name: set(others) for name, others in imports.items()}
    while free := {name for name, others in left.items() if not others}:
        left = {name: others - free for name, others in left.items() if name not in free}
    return sorted(left)


def test_no_circle_of_files() -> None:
    """Whoever reads a file can read first what it stands on."""
    files = modules(HOST)
    assert "hearth.runtime.task" in files
    assert circles(graph(files)) == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    """Also one that goes through a function; a file that only stands on a circle is shown with it."""
    (tmp_path / "one.py").write_text("from two import TWO\nimport three\n")
    (tmp_path / "two.py").write_text("def late():\n    from one import ONE\n")
    (tmp_path / "three.py").write_text("if TYPE_CHECKING:\n    import one\n")
    assert circles(graph(modules(tmp_path))) == ["one", "two"]

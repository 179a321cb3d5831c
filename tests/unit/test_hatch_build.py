"""Compiled modules match their sources; otherwise the sources are imported."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from hatch_build import compile_in_place, compiled, is_older, parts, sources

HOST = Path(__file__).parents[2] / "host"
COMPILER = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
CAN_COMPILE = (
    not os.environ.get("HEARTH_NO_EXTENSIONS")
    and shutil.which(COMPILER.split()[0]) is not None
    and Path(sysconfig.get_path("include"), "Python.h").exists()
)
NAMES = [".".join(path.relative_to(HOST).with_suffix("").parts) for path in sources(HOST)]
LAID_OUT = [each for each in sources(HOST) if each.with_suffix(".pxd").exists()]
MODULES = {f"hearth_api/{name}" for name in ("__init__.py", "other.py", "pair.py", "pair.pxd")}
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "pairs"
version = "1"

[tool.hatch.build.targets.wheel]
packages = ["hearth_api"]
[tool.hatch.build.targets.wheel.hooks.custom]
"""
SOURCE = '''
class Pair:
    """Two values."""

    __slots__ = ("first", "second")

    def __init__(self, first, second):
        self.first = first
        self.second = second
'''


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a host with one module to compile, and one that stays Python; extensions are enabled."""
    monkeypatch.delenv("HEARTH_NO_EXTENSIONS", raising=False)
    package = tmp_path / "hearth_api"
    package.mkdir()
    package.joinpath("__init__.py").touch()
    package.joinpath("other.py").touch()
    package.joinpath("pair.py").write_text(SOURCE)
    package.joinpath("pair.pxd").write_text("cdef class Pair:\n    cdef public object first, second\n")
    return tmp_path


def loaded(root: Path) -> list[str]:
    """Return the file of the imported module, and its result for a pair."""
    code = "from hearth_api import pair; print(pair.__file__, pair.Pair(1, second=2).second)"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(not CAN_COMPILE, reason="no C compiler, or no header of Python")
@pytest.mark.parametrize("name", NAMES)
def test_compiled_modules_are_imported(name: str) -> None:
    """A set-up continues when compiling fails, so a test has to check."""
    assert importlib.import_module(name).__file__ == str(compiled(HOST / f"{name.replace('.', '/')}.py"))


@pytest.mark.skipif(not CAN_COMPILE, reason="no C compiler, or no header of Python")
def test_modules_are_compiled_in_place(root: Path) -> None:
    """The interpreter prefers a compiled module to its source."""
    made = compile_in_place(root)
    assert made == [compiled(root / "hearth_api" / "pair.py")]
    assert loaded(root) == [str(made[0]), "2"]
    assert sorted(each.name for each in root.iterdir()) == ["hearth_api"]


@pytest.mark.skipif(not CAN_COMPILE, reason="no C compiler, or no header of Python")
def test_a_wheel_contains_compiled_modules(root: Path) -> None:
    """It fits this platform alone, unless extensions are disabled."""
    shutil.copy(HOST / "hatch_build.py", root)
    root.joinpath("pyproject.toml").write_text(PROJECT)
    module = f"hearth_api/{compiled(Path('pair.py'))}"
    assert built(root) == (sysconfig.get_platform().replace("-", "_"), {*MODULES, module})
    assert built(root, HEARTH_NO_EXTENSIONS="1") == ("any", MODULES)


def built(root: Path, **variables: str) -> tuple[str, set[str]]:
    """Build a wheel; return the platform that it fits, and its modules."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=root, env={**os.environ, **variables}, check=True, capture_output=True)
    (wheel,) = (root / "dist").glob("*.whl")
    with ZipFile(wheel) as opened:
        modules = {name for name in opened.namelist() if name.startswith("hearth_api/")}
    wheel.unlink()
    return wheel.stem.rpartition("-")[2], modules


@pytest.mark.skipif(not CAN_COMPILE, reason="no C compiler, or no header of Python")
def test_cython_modules_are_compiled_in_their_package(root: Path) -> None:
    """Each distribution compiles its own packages; a change in one does not affect others."""
    package = root / "hearth" / "kafka"
    package.mkdir(parents=True)
    for each in (package, package.parent):
        each.joinpath("__init__.py").touch()
    source = package / "calls.pyx"
    source.write_text("def twice(long number):\n    return 2 * number\n")
    assert sources(root) == [source, root / "hearth_api" / "pair.py"]
    assert compile_in_place(root, ["hearth"]) == [compiled(source)]
    code = "from hearth.kafka import calls; print(calls.twice(21))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"
    assert not compiled(root / "hearth_api" / "pair.py").exists()
    assert parts(source) == [source]
    included = package / "more.pxi"
    included.touch()
    assert parts(source) == [source, included]


def test_without_a_compiler_the_source_is_imported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules compiled from an older source are removed."""
    source = root / "hearth_api" / "pair.py"
    compiled(source).touch()
    os.utime(compiled(source), (0, 0))
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    assert compile_in_place(root) == []
    assert loaded(root) == [str(source), "2"]
    assert sorted(each.name for each in source.parent.iterdir() if each.is_file()) == [
        "__init__.py", "other.py", "pair.pxd", "pair.py",
    ]  # fmt: skip


def test_a_failed_build_keeps_modules_compiled_from_the_same_source(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module compiled from the same source stays."""
    source = root / "hearth_api" / "pair.py"
    compiled(source).touch()
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    assert compile_in_place(root) == []
    assert compiled(source).exists()


def test_source_that_cannot_be_compiled_is_imported(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The output has the reason."""
    root.joinpath("hearth_api", "pair.pxd").write_text("cdef class Pair:\n    cdef public Unknown first\n")
    assert compile_in_place(root) == []
    assert "CompileError: hearth_api/pair.py" in capfd.readouterr().err
    assert loaded(root)[1] == "2"


def test_extensions_can_be_disabled(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with other packages with optional extensions."""
    source = root / "hearth_api" / "pair.py"
    compiled(source).touch()
    monkeypatch.setenv("HEARTH_NO_EXTENSIONS", "1")
    assert compile_in_place(root) == []
    assert loaded(root) == [str(source), "2"]


def test_a_changed_source_is_detected(root: Path) -> None:
    """Tests of a source that is not imported would prove nothing."""
    source = root / "hearth_api" / "pair.py"
    assert not is_older(compiled(source), [source])
    compiled(source).touch()
    assert not is_older(compiled(source), [source])
    later = compiled(source).stat().st_mtime + 1
    os.utime(source, (later, later))
    assert is_older(compiled(source), [source])


@pytest.mark.parametrize("source", LAID_OUT, ids=lambda source: source.stem)
def test_compiled_attributes_match_the_slots(source: Path) -> None:
    """An attribute that a class has only in Python, or only compiled, would be found late."""
    assert dict(_declared(source.with_suffix(".pxd").read_text())) == dict(_slots(ast.parse(source.read_text())))


_CLASS = re.compile(r"^cdef class (\w+).*:\n((?:(?: .*)?\n)+)", re.M)
_PART = re.compile(r"^    cdef (?:public |readonly )?\w+ ([\w, ]+)$", re.M)


def _declared(text: str) -> Iterator[tuple[str, set[str]]]:
    for name, body in _CLASS.findall(text):
        yield name, {part.strip() for line in _PART.findall(body) for part in line.split(",")}


def _slots(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "__slots__":
                    slots = ast.literal_eval(each.value)
                    if not node.name.startswith("_"):
                        yield node.name, {slots} if isinstance(slots, str) else set(slots)

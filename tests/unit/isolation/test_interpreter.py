"""Requires-Python selects the interpreter of a bundle."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from hearth.isolation import interpreter
from hearth.isolation.environment_refused import InterpreterMissing

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
OTHER = "import json, sys; sys.stdout.write(json.dumps(['/opt/python3.99', '3.99.1', 'cpython-399', 'linux-x86_64']))"


def test_host_interpreter_is_used_where_it_suits() -> None:
    """No other Python is searched if the host's own suits."""
    assert interpreter.choose("", "demo") is interpreter.host()
    assert interpreter.choose(">=3.10", "demo").path == sys.executable
    assert interpreter.host().suits_host_packages


def test_bundle_for_a_missing_python_is_rejected() -> None:
    """The error names the bundle, what it needs and what exists; the hint says how to install it."""
    with pytest.raises(InterpreterMissing, match=r"demo needs Python >=3.99, there is none here") as raised:
        interpreter.choose(">=3.99", "demo")
    assert raised.value.code == "environment.interpreter"
    assert raised.value.hint is not None
    assert "uv python install '>=3.99'" in raised.value.hint


def test_python_that_hearth_does_not_support_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older ones may be first on the PATH, and a stage would end with a syntax error there."""
    asked: list[str] = []

    def found(*arguments: str) -> str:
        asked.append(arguments[-1])
        return sys.executable

    monkeypatch.setattr("hearth.isolation.uv.run", found)
    interpreter.choose(">=3.6,!=3.10.*,!=3.11.*,!=3.12.*,!=3.13.*,!=3.14.*", "demo")
    (wanted,) = map(SpecifierSet, asked)
    assert [minor for minor in range(6, 17) if wanted.contains(f"3.{minor}.1")] == [15, 16]


@pytest.mark.parametrize(
    ("version", "marker"), [("3.10.4", "< '3.11'"), ("3.11.0", ">= '3.11'"), ("3.13.2", ">= '3.11'")]
)
def test_base_layer_is_what_hearth_needs_on_that_python(version: str, marker: str) -> None:
    """The host's own Arrow may have no wheel for it."""
    numpy, arrow = sorted(interpreter.base_layer(replace(interpreter.host(), version=version)))
    assert numpy == "numpy"
    assert f'"{arrow} ; python_version {marker}"' in PROJECT.read_text()


def test_invalid_requires_python_is_rejected() -> None:
    """Metadata may contain anything; an invalid value is named."""
    with pytest.raises(InterpreterMissing, match="demo has Requires-Python 'three'"):
        interpreter.choose("three", "demo")


def test_other_interpreter_describes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version and platform decide which wheels it can use."""
    found = interpreter._ask(sys.executable)
    assert found == replace(interpreter.host(), path=found.path)
    monkeypatch.setattr("hearth.isolation.uv.run", lambda *_: f"{sys.executable}\n")
    monkeypatch.setattr(interpreter, "_QUESTION", OTHER)
    interpreter._ask.cache_clear()
    try:
        other = interpreter.choose(">=3.99", "demo")
    finally:
        interpreter._ask.cache_clear()
    assert other.version == "3.99.1"
    assert not other.suits_host_packages


def test_interpreter_runs_without_site_packages() -> None:
    """It answers without its site-packages, which may be broken."""
    answer = subprocess.run([sys.executable, "-I", "-S", "-c", interpreter._QUESTION], check=True, capture_output=True)
    assert sys.implementation.cache_tag.encode() in answer.stdout

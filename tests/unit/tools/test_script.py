"""The entry scripts are valid shell, and pass the arguments of developers, CI and users to pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_PROGRAMS = ("ruff", "mypy", "lint-imports", "python", "pytest")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Provide a checkout whose programs record their calls."""
    for script in ("tools/test", ".ci/run"):
        (tmp_path / script).parent.mkdir()
        shutil.copy(_ROOT / script, tmp_path / script)
    (tmp_path / "tools" / "setup").touch()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in _PROGRAMS:
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >> "{tmp_path}/calls"\n')
        (programs / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("script", ["tools/quickstart", "tools/test", ".ci/run"])
def test_script_is_valid_shell(script: str) -> None:
    """The shell can parse it."""
    subprocess.run(["sh", "-n", str(_ROOT / script)], check=True)


@pytest.mark.parametrize("script", ["tools/test", ".ci/run"])
def test_the_environment_uses_the_chosen_python(checkout: Path, script: str) -> None:
    """So the suite runs on each Python; the default is the first one found."""
    python = checkout / "another python"
    python.write_text(f'#!/bin/sh\necho "$@" > "{checkout}/set-up"\n')
    python.chmod(0o755)
    environment = {**os.environ, "PYTHON": str(python)}
    subprocess.run([checkout / script], check=True, capture_output=True, env=environment)
    assert (checkout / "set-up").read_text() == f"{checkout}/tools/setup\n"
    assert (checkout / "calls").read_text().count("\n") == len(_PROGRAMS)


def test_the_quick_part_is_a_choice_of_tests(checkout: Path) -> None:
    """Lint, types and layers run as always."""
    subprocess.run([checkout / "tools" / "test", "--quick", "-x"], check=True, capture_output=True)
    calls = (checkout / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == list(_PROGRAMS)
    assert calls[-1].endswith("--quick tests/unit tests/contract -x")


def test_the_quick_part_runs_on_each_python_that_is_here(checkout: Path) -> None:
    """Each in its own environment, whatever the result of the one before; a Python that does not run is skipped."""
    versions = ("3.96", "3.97", "3.98", "3.99")
    (checkout / "pyproject.toml").write_text(
        "".join(f'    "Programming Language :: Python :: {version}",\n' for version in versions)
    )
    here = checkout / "home" / ".pyenv" / "versions" / "3.97.1" / "bin"
    path = checkout / "path"
    for folder in (here, path):
        folder.mkdir(parents=True)
    pythons = {"3.96": path, "3.97": here, "3.98": path}
    for version, folder in pythons.items():
        python = folder / f"python{version}"
        python.write_text(f'#!/bin/sh\n[ "$1" = -c ] || echo {version} "$HEARTH_VENV" >> "{checkout}/set-up"\n')
        python.chmod(0o755)
        own = checkout / ".venvs" / version / "bin" / "python"
        own.parent.mkdir(parents=True)
        own.write_text(f'#!/bin/sh\necho {version} "$@" >> "{checkout}/calls"\n[ {version} != 3.96 ]\n')
        own.chmod(0o755)
    (path / "python3.97").write_text("#!/bin/sh\nexit 127\n")  # a pyenv shim of a version that is not selected
    (path / "python3.97").chmod(0o755)
    environment = {**os.environ, "HOME": str(checkout / "home"), "PATH": f"{path}:/usr/bin:/bin"}
    done = subprocess.run(
        [checkout / "tools" / "test", "--pythons", "-x"], capture_output=True, env=environment, text=True, check=False
    )
    assert done.returncode == 1
    assert "there is no Python 3.99" in done.stdout
    assert done.stdout.endswith("failed on Python 3.96\n")
    assert (checkout / "set-up").read_text() == "".join(f"{each} {checkout}/.venvs/{each}\n" for each in pythons)
    calls = (checkout / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == list(pythons)
    assert all("-m pytest" in call and call.endswith("--quick tests/unit tests/contract -x") for call in calls)


@pytest.mark.parametrize("script", ["tools/test", ".ci/run"])
def test_all_checks_run_and_arguments_override_defaults(checkout: Path, script: str) -> None:
    """The tests run in parallel by default: of two `-n` pytest obeys the second."""
    subprocess.run([checkout / script, "-n0", "-k", "a or b"], check=True, capture_output=True)
    calls = (checkout / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == list(_PROGRAMS)
    assert calls[-1].startswith("pytest -n auto --dist loadfile ")
    assert calls[-1].endswith(" -n0 -k a or b")

"""The set-up makes .venv once, rebuilds the changed parts, and reports missing system packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
COMPILED = ["hearth_api/record.py", "hearth_api/record.pxd", "hearth/kafka/calls.pyx"]
STEPS = ["venv", "--requirement", "--editable", "compileall", "hearth.cli.warm_up", "hatch_build.py"]
"""The distinctive words of a whole set-up's commands, in order."""


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load tools/setup in an empty checkout; commands are recorded instead of run."""
    loader = SourceFileLoader("hearth_setup", str(ROOT / "tools" / "setup"))
    spec = spec_from_loader("hearth_setup", loader)
    assert spec is not None
    module: Any = module_from_spec(spec)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    for project in module.PROJECTS:
        (tmp_path / project).mkdir(parents=True, exist_ok=True)
        (tmp_path / project / "pyproject.toml").write_text(f"name = {project!r}")
    for source in ("host/hatch_build.py", *(f"host/{name}" for name in COMPILED)):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).write_text("...")
    (tmp_path / "requirements.lock").write_text("one==1")
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "LOCK", str(tmp_path / "requirements.lock"))
    module.ran = []

    def run(command: list[str], **_: Any) -> Any:
        module.ran.append(next(word for word in map(os.path.basename, command) if word in STEPS))
        Path(module.python()).parent.mkdir(parents=True, exist_ok=True)
        Path(module.python()).touch()
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setattr(module, "subprocess", types.SimpleNamespace(run=run))
    return module


def test_first_run_makes_everything_and_second_nothing(setup: Any) -> None:
    """The fingerprints show that nothing changed."""
    setup.main()
    assert setup.ran == STEPS
    setup.main()
    assert len(setup.ran) == len(STEPS)


def test_a_setup_inside_the_environment_finds_nothing_to_do(
    setup: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an activated .venv its own Python runs the set-up, and finds everything up to date."""
    setup.main()
    activated = tmp_path / ".venv" / "bin" / "python3"
    activated.symlink_to(sys.executable)
    monkeypatch.setattr("sys.executable", str(activated))
    setup.main()
    assert len(setup.ran) == len(STEPS)
    assert not setup.interpreter().startswith(setup.VENV)


def test_an_environment_that_runs_the_setup_is_rebuilt_by_its_base_python(
    setup: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rebuild deletes the link through which this Python was started."""
    setup.main()
    activated = tmp_path / ".venv" / "bin" / "python3"
    activated.symlink_to(sys.executable)
    monkeypatch.setattr("sys.executable", str(activated))
    Path(setup.LOCK).write_text("one==2")
    made: list[list[str]] = []
    run = setup.subprocess.run

    def keep(command: list[str], **more: Any) -> Any:
        made.append(command)
        return run(command, **more)

    monkeypatch.setattr(setup.subprocess, "run", keep)
    setup.main()
    assert made[0][1:] == ["-m", "venv", setup.VENV]
    assert not made[0][0].startswith(setup.VENV)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run tools/setup in an empty checkout, which lacks everything to set up."""
    (tmp_path / "tools").mkdir()
    script = shutil.copy(ROOT / "tools" / "setup", tmp_path / "tools")
    return lambda *arguments: subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["anything", "--help"]])
def test_help_sets_nothing_up(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, arguments: list[str]
) -> None:
    """Asking for help must not download 450 MB."""
    done = run(*arguments)
    assert done.returncode == 0
    assert "Makes .venv from tools/requirements.lock" in done.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["tools"]


def test_unknown_arguments_are_refused(run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """Invalid input has its own exit code, as in every command."""
    done = run("--upgrade")
    assert done.returncode == 2
    assert done.stderr == "error: tools/setup takes no arguments, not '--upgrade' either\nhint: tools/setup --help\n"
    assert [each.name for each in tmp_path.iterdir()] == ["tools"]


def test_new_lock_rebuilds_the_environment(setup: Any) -> None:
    """An environment for another lock is deleted, not patched."""
    setup.main()
    left_over = Path(setup.VENV, "left over")
    left_over.touch()
    Path(setup.LOCK).write_text("one==2")
    setup.main()
    assert setup.ran[len(STEPS) :] == STEPS
    assert not left_over.exists()


def test_changed_project_is_installed_again_alone(setup: Any) -> None:
    """New entry points need no new packages."""
    setup.main()
    Path(setup.ROOT, "plugins/json/pyproject.toml").write_text("changed")
    setup.main()
    assert setup.ran[len(STEPS) :] == STEPS[2:]


@pytest.mark.parametrize("name", ["hatch_build.py", *COMPILED])
def test_a_touched_source_only_recompiles(setup: Any, name: str) -> None:
    """Otherwise the code that runs would not be the code in the source."""
    setup.main()
    Path(setup.ROOT, "host", name).write_text("...")
    setup.main()
    assert setup.ran[len(STEPS) :] == ["hatch_build.py"]


def test_a_missing_compiler_is_reported_once(
    setup: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once: nothing fails, and a later run retries only after the machine's compiler has changed."""
    run = setup.subprocess.run

    def fail(command: list[str], **more: Any) -> Any:
        run(command, **more)
        is_compiler = command[-1].endswith("hatch_build.py")
        return types.SimpleNamespace(returncode=int(is_compiler), stderr="long\nCompileError: no gcc\n")

    monkeypatch.setattr(setup, "subprocess", types.SimpleNamespace(run=fail))
    setup.main()
    output = capsys.readouterr().out
    assert "take three times as long: CompileError: no gcc\n" in output
    assert "apt install gcc python3-dev" in output
    setup.main()
    assert setup.ran == STEPS
    monkeypatch.setattr("shutil.which", lambda name: f"/new/{name}")
    setup.main()
    assert setup.ran[len(STEPS) :] == ["hatch_build.py"]


def test_a_python_without_ensurepip_is_reported_with_the_package(
    setup: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Debian's python3 lacks it; the message has the package, and the partial environment is removed."""
    words = "The virtual environment was not created successfully because ensurepip is not\navailable."
    failed = types.SimpleNamespace(returncode=1, stdout=words, stderr="")
    monkeypatch.setattr(setup, "subprocess", types.SimpleNamespace(run=lambda *_, **__: failed))
    with pytest.raises(SystemExit) as caught:
        setup.main()
    assert caught.value.code == 3
    message = capsys.readouterr().err
    assert "because ensurepip is not" in message
    assert "apt install python3-venv" in message
    assert not Path(setup.VENV).exists()


def test_failed_download_leaves_no_fingerprint(setup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run starts again."""
    setup.make_environment()
    failed = types.SimpleNamespace(returncode=1, stdout="", stderr="")
    monkeypatch.setattr(setup, "subprocess", types.SimpleNamespace(run=lambda *_, **__: failed))
    with pytest.raises(SystemExit):
        setup.pip("something", "install", "something")
    assert setup.recorded("packages") is None


def test_lock_is_complete_and_names_no_index() -> None:
    """Every requirement has hashes; there is neither a first-party project nor an index host in it."""
    lock = (ROOT / "tools" / "requirements.lock").read_text()
    pins = [line for line in lock.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(pins) > 30
    assert all(line.endswith("\\") for line in pins)
    assert not [line for line in pins if line.startswith("hearth")]
    assert "://" not in lock


def test_lock_holds_every_dependency_of_the_project() -> None:
    """A dependency missing from the lock would be missing on a new machine."""
    lock = (ROOT / "tools" / "requirements.lock").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    lists = project[project.index("dependencies = [") : project.index("[tool.hatch")]
    lines = [line.split('"')[1] for line in lists.splitlines() if line.startswith('    "')]
    names = [Requirement(line).name for line in lines]
    assert len(names) > 20
    assert [name for name in names if not name.startswith("hearth-") and f"\n{name}==" not in lock] == []

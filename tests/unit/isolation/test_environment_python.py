"""What a plugin starts sees the same packages as the plugin, in started and in forked stages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hearth.isolation.environment_python as module
from hearth.config.confinement_key import AS_HOST, Confinement
from hearth.isolation.environment import Environment
from hearth.isolation.environment_python import own_python
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth.isolation.stage_connection import StageKind
from hearth_stage.plugin_call import Describe
from tests.unit.isolation.test_stage import wait_for_end

PLUGIN = """
import importlib.metadata, json, multiprocessing, os, shutil, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

class Plugin:
    def version(self):
        with open(__file__.replace("kid.py", "code")) as file:
            said = {}
            exec(file.read(), globals(), said)
            return json.dumps(said["said"])

def child(*words, **rest):
    run = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, **rest)
    return [run.returncode, run.stdout.strip(), run.stderr.strip()[-300:]]

def shell(line):
    return subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60).stdout.strip()

def seen():
    import hearth_api, pyarrow
    names = sorted(each.name for each in importlib.metadata.distributions())
    return [sys.path, names, hearth_api.__file__, pyarrow.__file__, sys.prefix]

def seen_in_child(_):
    main = sys.modules["__main__"]
    return [seen(), getattr(main, "__file__", None), sys.argv, os.getpgrp()]

def pool(method):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as executor:
        return executor.submit(seen_in_child, 0).result(60)
"""
HOSTS = ["pyspark", "hearth", "orjson", "click", "pytest", "pip"]
"""Packages that the host's environment has."""
Done = Callable[..., Any]


@pytest.fixture(params=["started", "forked"])
def done(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Done]:
    """Run statements of a plugin in a stage and return their result."""
    stages: list[Stage] = []

    def do(code: str, confinement: Confinement | None = None) -> Any:
        (tmp_path / "kid.py").write_text(PLUGIN)
        (tmp_path / "code").write_text(textwrap.dedent(code))
        environment = python_environment("test", host(), (str(tmp_path),))
        if confinement is not None:
            environment = environment.confined(confinement)
        stages.append(Stage.open(environment, "test", limit=90, kind=StageKind(more_follow=request.param == "forked")))
        stages[-1].await_hello()
        return json.loads(str(stages[-1].call(Describe("kid:Plugin")).version))

    do.stages = stages  # type: ignore[attr-defined]
    yield do
    for stage in stages:
        stage.close(grace=0)


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_process_pool_sees_the_packages_of_the_plugin(done: Done, method: str) -> None:
    """With every start method: the stage is not their main module, and they are in the stage's group."""
    own, (found, main, arguments, group) = done(f"said = [seen(), pool({method!r})]")
    assert found == own
    assert (main, arguments) == (None, [""])
    assert group == done.stages[0].pid  # type: ignore[attr-defined]


def test_executable_sees_the_packages_of_the_plugin(done: Done) -> None:
    """With any option of Python; the script's directory, or the current one, comes first as always."""
    program = "import json, kid; print(json.dumps(kid.seen()))"
    calls = ", ".join(f"child(*{given}, '-c', {program!r})" for given in ([], ["-I"], ["-E", "-s"], ["-O"]))
    own, *children = done(f"import kid\nsaid = [seen(), {calls}]")
    assert len(children) == 4
    for status, said, _ in children:
        assert status == 0
        path, *rest = json.loads(said)
        assert [each for each in path if each] == own[0]
        assert rest == own[1:]


def test_the_executable_does_not_see_the_host(done: Done) -> None:
    """Even if the plugin has the host's variables, PYTHONPATH among them (invariant 7)."""
    for confinement in (None, AS_HOST):
        imports = done(f"said = [[each, *child('-c', f'import {{each}}')] for each in {HOSTS}]", confinement)
        assert [package for package, *_ in imports] == HOSTS
        for package, status, _, error in imports:
            assert status == 1
            assert f"No module named '{package}'" in error


def test_pythonpath_of_the_host_does_not_reach_plugins(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that the worker sets for its plugins by name is theirs all the same."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    assert done("said = child('-c', 'import other')", AS_HOST)[0] == 1
    confinement = Confinement(variables={"PYTHONPATH": str(tmp_path / "elsewhere")})
    assert done("said = child('-c', 'import other')", confinement)[0] == 0


def test_pip_lists_the_bundle(done: Done, tmp_path: Path) -> None:
    """A bundle with pip sees its own packages and none of the host's."""
    import ensurepip

    of_system = sysconfig.get_config_var("WHEEL_PKG_DIR")  # Debian's Pythons lack bundled wheels
    wheel = next(Path(of_system or Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    status, said, _ = done("said = child('-m', 'pip', 'list', '--format=freeze', '--disable-pip-version-check')")
    assert (status, [line.partition("==")[0] for line in said.split()]) == (0, ["pip"])


def test_programs_of_the_bundle_are_on_the_path(done: Done, tmp_path: Path) -> None:
    """Declared commands and installed programs run on its own interpreter; so does plain ``python``."""
    information = tmp_path / "demo-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    commands = "greet = demo:Demo.greet\npython = demo:bad\n../out = demo:bad\nbad = no object\n"
    (information / "entry_points.txt").write_text(f"[console_scripts]\n{commands}")
    (tmp_path / "demo.py").write_text("import sys\nclass Demo:\n    def greet(): print('hello', *sys.argv[1:])\n")
    (tmp_path / "bin").mkdir()
    for name, text in {
        "greet": "#!/nowhere/python\nraise SystemExit('the declared one goes first')\n",
        "plain": f"#!{sys.executable}\nimport demo, sys\nprint(sys.executable)\n",
        "long": "#!/bin/sh\n'''exec' \"/nowhere/python\" \"$0\" \"$@\"\n' '''\nimport demo; print('long')\n",
        "shell": "#!/bin/sh\necho shell\n",
    }.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    said, executable = done(
        """
        lines = ["greet you", "plain", "long", "shell", "python -c 'import demo; print(7)'", "bad || echo none"]
        said = [[shell(line) for line in lines], sys.executable]
        """
    )
    assert said == ["hello you", executable, "long", "shell", "7", "none"]
    assert not (Path(executable).parent.parent / "out").exists()


def test_children_keep_the_limits_and_the_log_of_the_stage(done: Done, caplog: pytest.LogCaptureFixture) -> None:
    """A limit on files applies to a child too; a child's output is in the log."""
    from hearth_stage.limit import Limits

    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    confinement = Confinement(limits=Limits(open_files=99))
    outcome = done(
        f"subprocess.run([sys.executable, '-c', 'print(\"a child\")'])\nsaid = child('-c', {code!r})", confinement
    )
    assert outcome[:2] == [0, "99"]
    done.stages[0].close()  # type: ignore[attr-defined]
    assert "a child" in caplog.messages


def test_a_child_that_outlives_its_parent_ends_with_the_stage(done: Done) -> None:
    """It belongs to the stage's group, whatever its parent."""
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '600'], stdout=-3, stderr=-3).pid)"
    _, pid, _ = done(f"said = child('-c', {code!r})")
    os.kill(int(pid), 0)
    done.stages[0].close()  # type: ignore[attr-defined]
    assert wait_for_end(int(pid))


def test_no_sitecustomize_of_a_bundle_is_run(done: Done, tmp_path: Path) -> None:
    """A fork server would load it for all of its stages; a plugin may import it like any other module."""
    (tmp_path / "sitecustomize.py").write_text("LOADED = True\n")
    assert done("before = 'sitecustomize' in sys.modules\nimport sitecustomize\nsaid = before") is False


def test_the_hosts_own_environment_has_the_same(tmp_path: Path) -> None:
    """Plugins installed with the host have no separate environment: their children see the host's packages too."""
    (tmp_path / "kid.py").write_text(PLUGIN)
    (tmp_path / "code").write_text("said = [child('-c', 'import kid, click, pytest'), pool('spawn')[0][:1], sys.path]")
    paths = [str(tmp_path), *(each for each in sys.path if each and Path(each).is_dir())]
    with closing(Stage.start(python_environment("host", host(), paths), "host")) as stage:
        (status, _, _), (found,), own = json.loads(str(stage.call(Describe("kid:Plugin"), timeout=60).version))
    assert status == 0
    assert found == own


def test_interpreter_is_created_once_and_removed_with_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter of a removed environment is removed with the next creation; a deleted one is created again."""
    monkeypatch.setattr(module, "_root", lambda: tmp_path)
    sites = [str(tmp_path / "sites" / name) for name in "ab"]
    for each in sites:
        os.makedirs(each)

    def make(site: str) -> Path:
        return Path(own_python("key", sys.executable, host().tag, [site], [str(tmp_path)])).parents[1]

    first = make(sites[0])
    assert make(sites[0]) == first
    shutil.rmtree(first)
    assert make(sites[0]) == first
    assert (first / "bin" / "python").exists()
    shutil.rmtree(sites[0])
    second = make(sites[1])
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([second.name, "sites"])


def test_a_user_without_a_home_has_interpreters_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in the temporary directory then, as on an executor whose user owns nothing."""
    (tmp_path / "home").write_text("no directory")
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = module._root.__wrapped__()
    assert found.parent == tmp_path
    assert found.is_dir()


def test_path_may_have_any_length_and_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory may have any name."""
    root = tmp_path / "a b'\"$x é" / ("long" * 40)
    root.mkdir(parents=True)
    site = tmp_path / "s'\"\\ é"
    (site / "demo-1.0.dist-info").mkdir(parents=True)
    (site / "demo-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    (site / "demo-1.0.dist-info" / "entry_points.txt").write_text("[console_scripts]\ngreet = demo:greet\n")
    (site / "demo.py").write_text("def greet(): print('hello')\n")
    monkeypatch.setattr(module, "_root", lambda: root)
    line = Environment("key", ("{python}", "-I", "{stage}", host().tag, "{0}"), (str(site),)).start_line()
    assert subprocess.check_output([Path(line[0]).parent / "greet"], text=True) == "hello\n"

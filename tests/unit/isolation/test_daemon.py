"""What a plugin starts ends with its stage, whatever its session and parent."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth.isolation.environment_store import python_environment
from hearth.isolation.forked_process import ForkPlan, is_able
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage, StageDied
from hearth_stage.plugin_call import Describe, Ping
from tests.crash.process import find
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.skipif(not is_able(), reason="it is Linux that tells who has started what")

PLUGIN = """
import os, subprocess, sys
class Plugin:
    def version(self):
        subprocess.Popen(["sleep", "{seconds}"], start_new_session=True)
        subprocess.run("setsid sleep {seconds} & setsid sh -c 'sleep {seconds}; true' &", shell=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 100)
                os.execlp("sleep", "sleep", "{seconds}")
            os._exit(0)
        os.wait()
        return "1"
class End:
    def version(self):
        Plugin().version()
        os._exit(3)
"""
Begin = Callable[[str], Stage]


def daemons(seconds: str) -> list[str]:
    """Return the processes that sleep for that long."""
    shown = subprocess.check_output(["ps", "ax", "-o", "stat=,args="], text=True).splitlines()
    return [each for each in shown if f"sleep {seconds}" in each and not each.startswith("Z")]


@pytest.fixture(params=["started", "forked"])
def begin(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Start a stage whose plugin starts daemons that sleep for this long."""
    if request.param == "forked":
        monkeypatch.setattr(ForkPlan, "claim_first", lambda _: None)
    stages: list[Stage] = []

    def begun(seconds: str) -> Stage:
        folder = tmp_path / seconds
        folder.mkdir()
        (folder / "doer.py").write_text(PLUGIN.format(seconds=seconds))
        stages.append(Stage.start(python_environment("test", host(), (str(folder),)), "daemons"))
        return stages[-1]

    yield begun
    for stage in stages:
        stage.close(grace=0)


@pytest.mark.parametrize("ends", ["in order", "by itself", "killed", "by force"])
def test_daemons_end_with_their_stage(begin: Begin, ends: str) -> None:
    """However it ends; those of another stage continue."""
    stage, other = begin("1000.41"), begin("1000.42")
    other.call(Describe("doer:Plugin"))
    if ends == "by itself":
        with pytest.raises(StageDied, match="exited with 3"):
            stage.call(Describe("doer:End"))
    else:
        stage.call(Describe("doer:Plugin"))
        assert eventually(lambda: len(daemons("1000.41")) == 5, TIMEOUT)
        if ends == "killed":
            os.kill(stage.pid, signal.SIGKILL)
            assert "killed by signal 9" in str(stage.died())
        stage.close(grace=0 if ends == "by force" else 10)
    assert eventually(lambda: not daemons("1000.41"), TIMEOUT)
    assert eventually(lambda: len(daemons("1000.42")) == 5, TIMEOUT)
    other.call(Ping())
    other.close()
    assert eventually(lambda: not daemons("1000.42"), TIMEOUT)


def test_daemons_of_a_stage_without_its_fork_server_end_with_it(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner kills them then."""
    monkeypatch.setattr(ForkPlan, "claim_first", lambda _: None)
    stage = begin("1000.43")
    stage.call(Describe("doer:Plugin"))
    os.kill(find(stage.pid).parent, signal.SIGKILL)
    assert eventually(lambda: len(daemons("1000.43")) == 5, TIMEOUT)
    stage.close(grace=10)
    assert eventually(lambda: not daemons("1000.43"), TIMEOUT)

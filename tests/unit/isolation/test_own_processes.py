"""Stages with their own processes: what they can reach of their host and of each other, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.config.confinement_key import Confinement
from hearth.isolation.environment_store import python_environment
from hearth.isolation.forked_process import ForkPlan, is_able
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage, StageDied, StageOverLimit
from hearth_stage.limit import Limits
from hearth_stage.plugin_call import Describe, Ping
from tests.crash.process import find, tree
from tests.timeouts import TIMEOUT, eventually
from tests.unit.isolation.test_forked_process import PLUGIN
from tests.unit.isolation.test_stage import wait_for_end

pytestmark = pytest.mark.skipif(not is_able(), reason="namespaces are Linux's")

OWN = Limits(has_own_processes=True)
Begin = Callable[..., Stage]


@pytest.fixture(params=["started", "forked"])
def begin(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Start a stage whose plugin runs statements; all others of its environment are forked."""
    if request.param == "forked":
        monkeypatch.setattr(ForkPlan, "claim_first", lambda _: None)
    stages: list[Stage] = []

    def begun(body: str, limits: Limits = OWN, **rest: Any) -> Stage:
        name = f"doer_{len(stages)}"
        text = PLUGIN.format(body=textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))
        (tmp_path / f"{name}.py").write_text(text)
        environment = python_environment("test", host(), (str(tmp_path),)).confined(Confinement(limits=limits))
        stages.append(Stage.open(environment, name, limit=60, **rest))
        stages[-1].await_hello()
        return stages[-1]

    yield begun
    for stage in stages:
        stage.close(grace=0)


def do(stage: Stage) -> Any:
    """Run the statements of a stage's plugin."""
    return json.loads(str(stage.call(Describe(f"{stage.name}:Plugin")).version))


def test_a_stage_reaches_neither_its_host_nor_another_stage(begin: Begin) -> None:
    """No signal, no file of ``/proc``; it sees only itself and the processes it starts."""
    other = begin("return 1")
    stage = begin(
        f"""
        found = []
        for number in ({os.getpid()}, {other.pid}):
            for ask in (lambda: os.kill(number, 15), lambda: open(f"/proc/{{number}}/environ"),
                        lambda: os.pidfd_open(number), lambda: os.listdir(f"/proc/{{number}}/fd")):
                try: found.append(str(ask()))
                except OSError as error: found.append(type(error).__name__)
        os.kill(os.getppid(), signal.SIGTERM)
        child = subprocess.check_output([sys.executable, "-c", "import os; print(os.getppid())"], text=True)
        return found, os.getpid(), child, [each for each in os.listdir("/proc") if each.isdigit()]
        """
    )
    reached, own, seen, numbers = do(stage)
    assert reached == ["ProcessLookupError", "FileNotFoundError"] * 4
    assert (own, seen, numbers) == (2, "2\n", ["1", "2"])
    assert stage.pid != own
    other.call(Ping())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("os._exit(3)", "exited with 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by signal 11"),
        ("if os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(1000)", "exited with 0"),
    ],
)
def test_descendants_end_with_an_isolated_stage_and_its_status_is_reported(begin: Begin, body: str, says: str) -> None:
    """Also a daemon."""
    daemon = "subprocess.run('setsid sleep 1000.34 & setsid sleep 1000.34 &', shell=True)"
    stage = begin(f"print('last', 'words', flush=True)\n{daemon}\n{body}")
    everyone = [each.pid for each in tree(stage.pid)]
    with pytest.raises(StageDied, match=says) as caught:
        do(stage)
    assert "last words" in str(caught.value.trace)
    assert all(map(wait_for_end, everyone))
    assert "sleep 1000.34" not in subprocess.check_output(["ps", "ax", "-o", "args"], text=True)


def test_isolated_stage_shares_its_limits_with_its_children(begin: Begin) -> None:
    """Limits of memory, which is counted in total, and of processor time, for which all are suspended."""
    code = "import time; x = bytearray(b'x') * (200 << 20); time.sleep(60)"
    hog = begin(f"return subprocess.run([sys.executable, '-c', {code!r}])",
                Limits(memory_bytes=128 << 20, has_own_processes=True))  # fmt: skip
    with pytest.raises(StageOverLimit, match=r"more than plugin.limits.memory.bytes=134217728$"):
        do(hog)
    busy = begin(
        """
        began, end = time.monotonic(), time.process_time() + 0.4
        while time.process_time() < end: pass
        return time.monotonic() - began
        """,
        Limits(cpus=0.4, has_own_processes=True),
    )
    assert do(busy) > 0.6


def test_fork_server_rejects_isolated_plugins(begin: Begin) -> None:
    """It can read addresses and has the host's user, but a forked process could see all others."""
    stage = begin(
        """
        found = []
        for line in open("/proc/net/unix"):
            if "@hearth-" in line and "00010000" in line:
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
                    control.settimeout(20)
                    try:
                        control.connect("\\0" + line.split("@")[1].strip())
                        socket.send_fds(control, [b"{}\\nbroken-out"], [0, 1, os.pipe()[0]])
                        found.append(control.recv(4096).decode())
                    except OSError:
                        found.append("")
        return found
        """
    )
    others = [begin("return 1") for _ in range(2)]
    answers = do(stage)
    assert answers, "no fork server was found"
    assert set(answers) == {""}
    for each in others:
        each.call(Ping())


def test_fake_fork_server_of_an_isolated_plugin_is_rejected(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The next stage is started instead, with a connection that the plugin never sees."""
    monkeypatch.setattr(ForkPlan, "_address", lambda _self, what: f"\0hearth-test-{os.getpid()}-{what}")
    monkeypatch.setattr("hearth.isolation.stage_connection.is_able", lambda: False)
    pretending = begin(
        f"""
        pretended = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pretended.bind("\\0hearth-test-{os.getpid()}-fork server")
        pretended.listen()
        globals()["kept"] = pretended
        return 1
        """
    )
    assert do(pretending) == 1
    monkeypatch.setattr("hearth.isolation.stage_connection.is_able", lambda: True)
    monkeypatch.setattr(ForkPlan, "claim_first", lambda _: None)
    assert do(begin("return 2")) == 2
    assert "starting it without shared memory: a process of user id" in caplog.text


def test_isolated_stage_continues_without_its_fork_server_and_ends_with_its_owner(tmp_path: Path) -> None:
    """In either case nothing of it outlives its owner."""
    (tmp_path / "doer.py").write_text(
        "import subprocess\nclass Plugin:\n    def version(self):\n"
        "        subprocess.Popen(['sleep', '1000.35'], start_new_session=True)\n        return '1'\n"
    )
    code = f"""
import sys
from hearth.config.confinement_key import Confinement
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth_stage.limit import Limits
from hearth_stage.plugin_call import Describe
environment = python_environment("test", host(), ({str(tmp_path)!r},))
environment = environment.confined(Confinement(limits=Limits(has_own_processes=True)))
stages = [Stage.start(environment, str(number)) for number in range(2)]
for stage in stages:
    stage.call(Describe("doer:Plugin"))
print(*(stage.pid for stage in stages), flush=True)
sys.stdin.readline()
for stage in stages:
    stage.call(Describe("doer:Plugin"))
print("alive", flush=True)
sys.stdin.readline()
"""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        stages = list(map(int, owner.stdout.readline().split()))
        everyone = [each.pid for stage in stages for each in tree(stage)]
        assert len(everyone) == 8
        server = find(find(stages[1]).parent)
        assert server.title == "fork-server"
        os.kill(server.pid, signal.SIGKILL)
        owner.stdin.write("\n")
        owner.stdin.flush()
        assert owner.stdout.readline() == "alive\n"
        owner.kill()
        assert eventually(lambda: not any(Path(f"/proc/{each}").exists() for each in everyone), TIMEOUT)

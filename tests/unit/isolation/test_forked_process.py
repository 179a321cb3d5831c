"""Forked stages: they share nothing but memory, and nothing remains of them after any kill."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hearth.isolation.forked_process as module
from hearth.config.confinement_key import BY_DEFAULT, Confinement
from hearth.isolation.environment_store import python_environment
from hearth.isolation.forked_process import ForkPlan, NotForked, fork_server_directory
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage, StageDied, StageTimeout
from hearth.isolation.stage_connection import TASKS, StageKind
from hearth_stage.limit import Limits
from hearth_stage.plugin_call import Describe, Ping
from tests.crash.process import Process, await_end, defunct, find, tree
from tests.timeouts import TIMEOUT, eventually
from tests.unit.isolation.test_stage import wait_for_end

pytestmark = pytest.mark.skipif(not module.is_able(), reason="stages are forked on Linux 5.3 and later")

PLUGIN = """
import json, os, random, select, signal, socket, subprocess, sys, threading, time

class Plugin:
    def version(self):
        return json.dumps(do())

def do():
{body}
"""
Begun = Callable[..., Stage]
_numbers = itertools.count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the folder of an environment for tests that need none of their own; mostly its server runs by then."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def begun(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begun]:
    """Start stages of one environment, whose plugin runs the statements of the first, and close them at the end.

    None of them may claim to be the first, as if the environment had a stage already.
    """
    monkeypatch.setattr(ForkPlan, "claim_first", lambda _: None)
    stages: list[Stage] = []
    plugin = f"doer_{next(_numbers)}"

    def begin(body: str = "", folder: Path = shared, confinement: Confinement = BY_DEFAULT, **rest: Any) -> Stage:
        if body:
            text = PLUGIN.format(body=textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))
            (folder / f"{plugin}.py").write_text(text)
        environment = python_environment("test", host(), (str(folder),)).confined(confinement)
        stage = Stage.open(environment, f"fork-{len(stages)}", limit=20, **rest)
        stage.connection.label = plugin
        stages.append(stage)
        stage.await_hello()
        return stage

    yield begin
    for stage in stages:
        stage.close(grace=0)


def doing(stage: Stage) -> Describe:
    """Return the call that runs the plugin's statements."""
    return Describe(f"{stage.connection.label}:Plugin")


def do(stage: Stage) -> Any:
    """Run the plugin's statements."""
    return json.loads(str(stage.call(doing(stage)).version))


def server_of(stage: Stage) -> Process:
    """Return the fork server of a stage."""
    server = find(find(stage.pid).parent)
    assert server.title == "fork-server"
    return server


def test_stages_of_one_environment_come_from_one_process(begun: Begun) -> None:
    """It shows their names, and another environment has another process."""
    first, second = begun(), begun()
    assert server_of(first) == server_of(second)
    assert [find(each.pid).title for each in (first, second)] == ["fork-0", "fork-1"]
    with_columns = begun(kind=TASKS)
    assert server_of(with_columns) != server_of(first)


def test_the_only_stage_of_an_environment_is_started(tmp_path: Path) -> None:
    """It shares memory with no other stage; after its end, the next one is started the same way.

    It shows its name as well, and its plugins do not see the variable that holds it.
    """
    environment = python_environment("test", host(), (str(tmp_path),))
    (tmp_path / "names.py").write_text(
        PLUGIN.format(body="    return [each for each in os.environ if 'HEARTH' in each]")
    )
    first = Stage.start(environment, "first")
    assert find(first.pid).parent == os.getpid()
    assert find(first.pid).title == "first"
    assert first.call(Describe("names:Plugin")).version == "[]"
    second = Stage.start(environment, "second")
    assert server_of(second).parent == os.getpid()
    first.close()
    third, fourth = Stage.start(environment, "third"), Stage.start(environment, "fourth")
    assert find(third.pid).parent == os.getpid()
    assert server_of(fourth) == server_of(second)
    for stage in (second, third, fourth):
        stage.close()


def test_forked_stage_uses_little_processor_time(begun: Begun) -> None:
    """It loads nothing again: until its hello it uses some milliseconds of processor time."""
    begun()
    fields = Path(f"/proc/{begun().pid}/stat").read_text().rpartition(")")[2].split()
    assert sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") < 0.05


def test_a_stage_has_its_own_descriptors_and_no_others(begun: Begun) -> None:
    """Neither those of its fork server for other stages, nor the server's address."""
    begun(
        """
        names = [os.readlink(f"/proc/self/fd/{each}") for each in sorted(map(int, os.listdir("/proc/self/fd")))
                 if os.path.exists(f"/proc/self/fd/{each}") or os.path.islink(f"/proc/self/fd/{each}")]
        return [name.split(":")[0] for name in names]
        """
    )
    begun()
    assert sorted(do(begun())) == ["/dev/null", "pipe", "pipe", "pipe", "socket"]


def test_forked_stages_draw_different_random_numbers(begun: Begun) -> None:
    """Two forks of one process would draw the same ones."""
    begun("import numpy\nreturn [random.random(), numpy.random.random()]", kind=TASKS)
    one, other = do(first := begun(kind=TASKS)), do(second := begun(kind=TASKS))
    assert server_of(first) == server_of(second)
    assert one[0] != other[0]
    assert one[1] != other[1]


def test_stage_has_the_owners_current_variables_and_directory(
    begun: Begun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A started stage has them, and so has a forked one, whatever other stages of its environment have."""
    look = 'return [os.environ.get("LC_COLOUR"), os.getcwd(), subprocess.getoutput("echo $LC_COLOUR")]'
    assert do(begun(look)) == [None, os.getcwd(), ""]
    monkeypatch.setenv("LC_COLOUR", "green")
    monkeypatch.chdir(tmp_path)
    assert do(begun()) == ["green", str(tmp_path), "green"]


def test_file_created_after_the_fork_server_started_is_found(begun: Begun, shared: Path) -> None:
    """Each stage searches its path again."""
    begun("import late\nreturn late.__name__")
    (shared / "late.py").touch()
    assert do(begun()) == "late"


def test_modules_that_a_bundle_names_are_loaded_before_the_fork(begun: Begun, tmp_path: Path) -> None:
    """Those of its tasks; if an author changes one, the next stage has the new version."""
    (tmp_path / "own-1.0.dist-info").mkdir()
    (tmp_path / "own-1.0.dist-info" / "entry_points.txt").write_text("[a]\nb = c\n[hearth.preloads]\nall = own\n")
    (tmp_path / "own.py").write_text("import os\nWHOSE = os.getpid()\n")
    connector, task = begun("import own\nreturn own.WHOSE", tmp_path), begun(folder=tmp_path, kind=TASKS)
    assert do(connector) == connector.pid
    assert do(task) == server_of(task).pid
    limited = begun(folder=tmp_path, confinement=Confinement(limits=Limits(has_network=False)), kind=TASKS)
    assert do(limited) == limited.pid  # preloaded modules have no limits
    (tmp_path / "own.py").write_text("WHOSE = 'changed'\n")
    changed, other = (begun(folder=tmp_path, kind=TASKS) for _ in range(2))
    assert do(changed) == do(other) == "changed"
    assert server_of(changed) == server_of(other) != server_of(task)
    task.call(Ping())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("os._exit(3)", "exited with 3"),
        ("sys.exit(4)", "exited with 4"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by signal 11"),
        ("if os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(2)", "exited with 0"),
        ("os.closerange(3, 100)\nos._exit(5)", "exited with 5"),
    ],
    ids=["os._exit", "sys.exit", "fault", "daemon", "all closed"],
)
def test_exit_status_of_a_forked_stage_is_exact(begun: Begun, body: str, says: str) -> None:
    """Like that of a started one, and other stages are not affected."""
    neighbour, stage = begun(body), begun()
    with pytest.raises(StageDied, match=says):
        do(stage)
    neighbour.call(Ping())


@pytest.mark.parametrize(
    "body",
    [
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "os.closerange(3, 100)\n__import__('re').match('(a+)+$', 'a' * 64 + 'b')",
    ],
    ids=["stopped", "deaf"],
)
def test_unresponsive_stage_is_killed(begun: Begun, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a plugin does prevents its owner from killing it."""
    monkeypatch.setattr("hearth.isolation.stage.STACKS_SECONDS", 0.1)
    monkeypatch.setattr("hearth.isolation.stage.END_SECONDS", 0.1)
    stage = begun(body)
    with pytest.raises((StageTimeout, StageDied)):
        stage.call(doing(stage), timeout=0.2)
    stage.close(grace=0.1)
    assert wait_for_end(stage.pid)
    assert "killed by signal 9" in str(stage.died())


def test_stages_continue_when_their_fork_server_is_killed(begun: Begun) -> None:
    """The next stage has a new server; the exit status of an earlier one is reported as far as it is known."""
    before = begun("return os.getppid()")
    server = server_of(before)
    os.kill(server.pid, signal.SIGKILL)
    await_end([server])
    before.call(Ping())
    after = begun()
    assert server_of(after) != server
    before.close(grace=10)
    assert wait_for_end(before.pid)
    assert before.died().args == (
        "the stage process of fork-0 ended with unknown status, because its fork server ended too",
    )
    after.call(Ping())


def test_hanging_stage_without_its_fork_server_is_killed(begun: Begun) -> None:
    """With what its plugin started, which the fork server would have killed."""
    stage = begun(
        """
        print(subprocess.Popen(["sleep", "60"]).pid, file=sys.stderr, flush=True)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
        """
    )
    answer = stage.begin(doing(stage))
    assert eventually(lambda: bool(stage.last_words), TIMEOUT)
    with pytest.raises(StageTimeout):
        stage.result(answer, "describe", timeout=0.3)
    child = int(stage.last_words.split()[0])
    stage.close(grace=0.1)
    assert wait_for_end(stage.pid)
    assert wait_for_end(child)


OWNER = """
import os, sys
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth_stage.plugin_call import Describe
stages = [Stage.start(python_environment("t", host(), (sys.argv[1],)), "t") for _ in range(3)]
answers = [stage.begin(Describe("doer:Plugin")) for stage in stages]
print(*(each.pid for each in stages), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("is_served", [True, False], ids=["with its fork server", "without"])
def test_nothing_outlives_an_owner_that_is_killed(tmp_path: Path, is_served: bool) -> None:
    """Neither stages whose plugins block all threads, nor what these started, nor the fork server."""
    body = "    __import__('re').match('(a+)+$', 'a' * 64 + 'b')"
    (tmp_path / "doer.py").write_text(PLUGIN.format(body=body))
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables
    ) as owner:
        assert owner.stdout is not None
        everyone = [find(pid) for pid in map(int, owner.stdout.readline().split())]
        everyone.append(find(everyone[1].parent))
        if not is_served:
            os.kill(everyone[-1].pid, signal.SIGKILL)
            await_end(everyone[-1:])
        owner.kill()
    await_end(everyone, TIMEOUT)


def test_idle_fork_server_exits(begun: Begun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while there is a stage; nothing of it remains."""
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.05)
    stage = begun(folder=tmp_path)
    server = server_of(stage)
    stage.call(Ping())
    assert wait_for_end(server.pid, 0.3) is False
    stage.close(grace=10)
    assert wait_for_end(server.pid)
    await_end([server])
    assert eventually(lambda: server.pid not in defunct(os.getpid()), TIMEOUT)


def test_first_stage_is_forked_if_more_follow(tmp_path: Path) -> None:
    """Otherwise it is started: a single stage costs less that way."""
    environment = python_environment("test", host(), (str(tmp_path),))
    with closing(Stage.open(environment, "only")) as only:
        only.await_hello()
        assert find(only.pid).parent == os.getpid()
    with closing(Stage.open(environment, "first", kind=StageKind(more_follow=True))) as first:
        first.await_hello()
        server_of(first)


def test_close_does_not_wait_for_a_brief_stage(tmp_path: Path) -> None:
    """A thread waits for it."""
    environment = python_environment("test", host(), (str(tmp_path),))
    stage = Stage.open(environment, "first", kind=StageKind(more_follow=True))
    stage.await_hello()
    os.kill(stage.pid, signal.SIGSTOP)
    stage.close(grace=TIMEOUT)
    assert not stage.connection.process.has_ended
    os.kill(stage.pid, signal.SIGCONT)
    assert eventually(lambda: stage.connection.process.has_ended, TIMEOUT)


def test_fork_server_with_threads_does_not_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request gets the reason; the unused server exits although the thread still runs."""
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.5)
    (tmp_path / "threader.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    )
    environment = python_environment("test", host(), (str(tmp_path),))
    plan = ForkPlan(environment, dict(os.environ), ("threader",))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for _ in range(2):
            with pytest.raises(NotForked, match="the modules that its fork server has loaded run 1 threads"):
                plan.fork(theirs.fileno(), "test")
    (server,) = (each for each in tree(os.getpid()) if str(tmp_path) in each.command)
    await_end([server], TIMEOUT)


def test_hanging_or_failing_preload_delays_no_stage(
    begun: Begun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that raises is left to the stage that needs it; if one hangs, the stage is started."""
    (tmp_path / "pyarrow.py").write_text("raise RuntimeError('not today')\n")
    assert find(find(begun(folder=tmp_path, kind=TASKS).pid).parent).title == "fork-server"
    assert "not today" in caplog.text
    monkeypatch.setattr(module, "FORK_SECONDS", 0.3)
    (tmp_path / "pyarrow.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setenv("LC_ANOTHER", "server")
    begun(folder=tmp_path, kind=TASKS).call(Ping())
    assert "starting it without shared memory: its fork server did not answer within 0.3 s" in caplog.text


def test_suspended_fork_server_delays_no_stage(
    begun: Begun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A stage is started instead; if the server continues later, its fork ends unused."""
    server = server_of(begun())
    os.kill(server.pid, signal.SIGSTOP)
    with monkeypatch.context() as impatient:
        impatient.setattr(module, "FORK_SECONDS", 0.2)
        late = begun()
    assert find(late.pid).parent == os.getpid()
    os.kill(server.pid, signal.SIGCONT)
    late.call(Ping())
    assert server_of(begun()) == server
    assert len(tree(server.pid)) == 3


def test_stages_start_while_fork_servers_are_killed(begun: Begun) -> None:
    """At any moment: each stage starts exactly once and can be called."""
    begun("return os.getpid()")
    is_over = threading.Event()

    def kill() -> None:
        while not is_over.wait(random.uniform(0, 0.03)):
            for each in tree(os.getpid()):
                if each.title == "fork-server":
                    os.kill(each.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with ThreadPoolExecutor(4) as threads:
        stages = list(threads.map(lambda _: begun(), range(8)))
        is_over.set()
    killer.join()
    assert len({do(each) for each in stages}) == len(stages)


@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.long)])
def test_many_stages_start_at_once(begun: Begun, count: int) -> None:
    """All from one process, although several owners may try to start it."""
    with ThreadPoolExecutor(count) as threads:
        stages = list(threads.map(lambda _: begun(), range(count)))
    assert len({server_of(each).pid for each in stages}) == 1
    for each in stages:
        each.call(Ping())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_fork_server_serves_its_own_user_only(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    """It rejects other users even if they have the address, and owners reject other users at the address."""
    seen: list[str] = []
    connect = module.connected

    def noted(address: str) -> socket.socket | None:
        seen.append(address)
        return connect(address)

    monkeypatch.setattr(module, "connected", noted)
    begun()
    code = (
        "import os, socket, sys\nos.setuid(65534)\nsock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "sock.connect('\\0' + sys.argv[1])\nprint(sock.recv(100))\n"
    )
    asked = subprocess.run([sys.executable, "-c", code, seen[0][1:]], capture_output=True, text=True, check=True)
    assert asked.stdout == "b''\n"
    code = (
        "import os, socket, sys\nos.setuid(65534)\nsock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "sock.bind('\\0hearth-other')\nsock.listen()\nprint(flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(NotForked, match="a process of user id 65534 listens"):
            connect("\0hearth-other")


def test_fork_server_address_differs_between_processes() -> None:
    """Another process uses another address for the same environment, even in a container with the same numbers."""
    code = "from hearth.isolation import forked_process as each; print(each.fork_server_directory().address('a'))"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.check_output([sys.executable, "-c", code], env=variables)
    assert other.decode().strip() != fork_server_directory().address("a")
    assert (
        fork_server_directory().address("a")
        == fork_server_directory().address("a")
        != fork_server_directory().address("b")
    )

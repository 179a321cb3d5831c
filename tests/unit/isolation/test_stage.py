"""Stage processes: real ones, whose plugins raise, exit, hang and look around."""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hearth.isolation.stage as module
import hearth_api
import hearth_execution
import hearth_stage
from hearth.config.confinement_key import BY_DEFAULT, Confinement
from hearth.foundation.log_context import label_of_record
from hearth.isolation.environment import Environment
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import (
    RemoteError,
    Stage,
    StageBroken,
    StageDied,
    StageNotStarted,
    StageOverLimit,
    StageTimeout,
)
from hearth_api import STRING_SCHEMA, ConnectError, PluginError
from hearth_api.batch import Batch
from hearth_execution.transformation import Step
from hearth_stage.call import Call
from hearth_stage.channel import Request
from hearth_stage.connector_call import AskTaskConfigs, ConnectorLoaded, LoadConnector, StartConnector
from hearth_stage.frame import PROTOCOL_VERSION
from hearth_stage.limit import Limits
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.plugin_call import Configure, Describe, Load, Ping, Stopping, Validate, WantedPlugin
from hearth_stage.task_call import AddCredit, Group, HandOver, HoldPolling, StartSource, StopSource
from hearth_stage.transformation_call import Apply
from tests.timeouts import TIMEOUT
from tests.unit.hearth_stage.test_foreign import JARS, OPTIONS, SECONDS, SOURCE, Nonsense, java_compiler

MISBEHAVING = str(Path(__file__).parents[2] / "bundles" / "misbehaving" / "src")
CONNECTOR = "misbehaving:MisbehavingSourceConnector"
Started = Callable[..., Stage]


@pytest.fixture
def started() -> Iterator[Started]:
    """Start stages that are closed after the test."""
    stages: list[Stage] = []

    def start(
        *paths: str,
        python: str = sys.executable,
        tag: str = host().tag,
        limit: float | None = 20,
        confinement: Confinement = BY_DEFAULT,
        **rest: Any,
    ) -> Stage:
        interpreter = replace(host(), path=python, tag=tag)
        environment = python_environment("test", interpreter, paths or (MISBEHAVING,))
        stage = Stage.open(environment.confined(confinement), "test-0", limit=limit, **rest)
        stages.append(stage)
        return stage

    yield start
    for stage in stages:
        stage.close(grace=0)


@dataclass(frozen=True)
class Fly(Call[None], op="source.fly"):
    """An operation that no stage supports."""


def misbehave(stage: Stage, how: str, limit: float | None = None) -> None:
    """Make a connector misbehave in its start."""
    stage.await_hello()
    stage.call(LoadConnector(CONNECTOR))
    config = {"misbehave.how": how, "misbehave.where": "connector.start"}
    stage.call(StartConnector(config), timeout=limit)


def look(started: Started, tmp_path: Path, *statements: str, **rest: Any) -> list[Any]:
    """Return the result of statements, each of which sets ``found``, in a stage with ``tmp_path`` as its bundle."""
    code = "import json\nclass Plugin:\n    def version(self):\n        answers = []\n"
    for statement in statements:
        code += textwrap.indent(
            f"try:\n    {statement}\nexcept Exception as error:\n    found = type(error).__name__\n"
            "answers.append(found)\n",
            " " * 8,
        )
    (tmp_path / "looker.py").write_text(code + "        return json.dumps(answers)\n")
    stage = started(str(tmp_path), **rest)
    stage.await_hello()
    answers: list[Any] = json.loads(str(stage.call(Describe("looker:Plugin")).version))
    return answers


def wait_for_end(pid: int, seconds: float = 10) -> bool:
    """Wait until a process that is not a child of this one has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def test_letting_go_of_a_stage_ends_all_waits(started: Started) -> None:
    """A waiting caller gets the error at once, and so does every later caller."""
    stage = started(limit=None)
    threading.Timer(0.3, stage.let_go, [ConnectError("the host is gone")]).start()
    with pytest.raises(ConnectError, match="the host is gone"):
        misbehave(stage, "hang")
    with pytest.raises(ConnectError, match="the host is gone"):
        stage.call(Ping())
    assert stage.is_alive


def test_error_of_let_go_takes_precedence_over_the_end_of_the_process(started: Started) -> None:
    """The process is usually ended next, which may happen before the waiting callers run."""
    stage = started(limit=None)
    stage.call(LoadConnector(CONNECTOR))
    answer = stage.begin(Ping())
    hanging = stage.begin(StartConnector({"misbehave.how": "hang", "misbehave.where": "connector.start"}))
    answer.result(TIMEOUT)
    stage.let_go(ConnectError("somebody else is wanted"))
    stage.close()
    stage.result(answer, "ping")
    with pytest.raises(ConnectError, match="somebody else is wanted"):
        stage.result(hanging, "connector.start")


def test_call_is_answered(started: Started) -> None:
    """A call is sent to the process and its answer returns."""
    stage = started()
    stage.await_hello()
    assert stage.call(LoadConnector(CONNECTOR)) == ConnectorLoaded(version="1.0")
    assert stage.is_alive


def test_plugin_that_raises_is_an_error_with_its_own_trace(started: Started) -> None:
    """The error has class, message and the trace of the other process; the stage continues."""
    stage = started()
    with pytest.raises(RemoteError, match=r"RuntimeError: raised in connector\.start as configured") as caught:
        misbehave(stage, "raise")
    assert "in do_raise" in str(caught.value.trace)
    assert isinstance(caught.value, PluginError)
    stage.call(Ping())


def test_any_plugin_is_validated_in_the_process_of_a_connector(started: Started) -> None:
    """One process serves a whole environment while a configuration is validated."""
    stage = started()
    stage.await_hello()
    stage.call(LoadConnector(CONNECTOR))
    asked = Validate("misbehaving:Misbehave", {"t.misbehave.after": "soon"}, "transformation", prefix="t.")
    values = stage.call(asked).values or []
    assert {value["name"]: value["errors"] for value in values if value["errors"]} == {
        "t.misbehave.after": ["Invalid value soon for configuration t.misbehave.after: Not a number of type INT"]
    }
    with pytest.raises(RemoteError, match="is declared as predicate but is not a Predicate"):
        stage.call(replace(asked, type="predicate"))
    assert stage.call(Validate(CONNECTOR, {}, "source")).values


def test_exit_is_distinguished_from_an_error(started: Started) -> None:
    """``os._exit`` in a plugin ends the stage only, and the error has its status."""
    with pytest.raises(StageDied, match="the stage process of test-0 exited with 3"):
        misbehave(started(), "exit")


def test_killed_process_is_reported_with_its_signal(started: Started) -> None:
    """SIGKILL, from the plugin or from the kernel's out-of-memory killer, is named."""
    stage = started()
    with pytest.raises(StageDied, match="was killed by signal 9"):
        misbehave(stage, "kill")
    assert not stage.is_alive
    with pytest.raises(StageDied):
        stage.call(Ping())
    with pytest.raises(StageDied):
        stage.notify(HoldPolling())


def test_hanging_plugin_is_reported_with_its_stack(started: Started) -> None:
    """After the timeout the error shows the stacks of the process, down to the plugin's line."""
    with pytest.raises(StageTimeout, match=r"did not answer 'connector\.start' within 0\.3 s") as caught:
        misbehave(started(), "hang", limit=0.3)
    assert "in do_hang" in str(caught.value.trace)
    assert "thread MainThread" in str(caught.value.trace)


def test_limit_is_the_default_timeout_of_calls(started: Started) -> None:
    """The stage's limit distinguishes a hanging plugin from a working one."""
    stage = started(limit=0.5)
    with pytest.raises(StageTimeout, match=r"within 0\.5 s"):
        misbehave(stage, "hang")


def test_plugin_that_hangs_in_native_code_is_killed(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that blocks all threads cannot be asked for its stack; closing kills it."""
    monkeypatch.setattr(module, "STACKS_SECONDS", 0.3)
    (tmp_path / "greedy.py").write_text(
        "import re\nclass Plugin:\n    def version(self):\n        re.match('(a+)+$', 'a' * 64 + 'b')\n"
    )
    stage = started(str(tmp_path))
    stage.await_hello()
    with pytest.raises(StageTimeout) as caught:
        stage.call(Describe("greedy:Plugin"), timeout=0.3)
    assert "it did not report its threads" in str(caught.value.trace)
    stage.close(grace=0.1)
    assert wait_for_end(stage.pid)


def test_last_words_are_in_the_trace(started: Started, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The last output of a dead process is part of the error and of the host's log: logged, printed or written."""
    (tmp_path / "talker.py").write_text(
        "import logging, os, sys\nclass Plugin:\n    def __init__(self):\n"
        "        logging.getLogger('my.plugin').info('it is %d', 5)\n"
        "        print('out of', 'luck')\n        os.system('echo a program')\n"
        "        print('no line', end='', file=sys.stderr, flush=True)\n        os._exit(5)\n"
    )
    stage = started(str(tmp_path))
    stage.connection.label = "test|task-0"
    stage.await_hello()
    with pytest.raises(StageDied) as caught:
        stage.call(Describe("talker:Plugin"))
    words = "its last words:\nINFO my.plugin: it is 5\nout of luck\na program\nno line"
    assert words in str(caught.value.trace)
    logged = [(each.levelname, each.name, each.getMessage(), label_of_record(each)) for each in caplog.records]
    assert logged == [
        ("INFO", "my.plugin", "it is 5", "test|task-0"),
        ("INFO", "stdout", "out of luck", "test|task-0"),
        ("WARNING", "stderr", "a program", "test|task-0"),
        ("WARNING", "stderr", "no line", "test|task-0"),
    ]


def test_trace_names_the_plugins_of_the_process() -> None:
    """A task may have several stages, of several bundles."""
    environment = python_environment("test", host(), (MISBEHAVING,), "misbehaving 1.0")
    stage = Stage.open(environment, "test-0", plugins=["a.B 1.0", "a.C 2.0"])
    stage.await_hello()
    stage.kill()
    died = stage.died()
    stage.close()
    assert died.args == ("the stage process of test-0 was killed by signal 9",)
    assert died.trace == f"{died}, without a word\nin it: a.B 1.0, a.C 2.0 of misbehaving 1.0"


def test_sys_exit_ends_the_stage_like_any_exit(started: Started, tmp_path: Path) -> None:
    """A plugin that calls ``sys.exit`` has ended; the task fails instead of waiting for it."""
    (tmp_path / "leaver.py").write_text("import sys\nclass Plugin:\n    def __init__(self):\n        sys.exit(4)\n")
    stage = started(str(tmp_path))
    stage.await_hello()
    with pytest.raises(StageDied, match="exited with 4"):
        stage.call(Describe("leaver:Plugin"))


def test_unknown_operation_is_refused_by_name(started: Started) -> None:
    """It is answered with an error, so that no caller waits."""
    stage = started()
    stage.await_hello()
    with pytest.raises(RemoteError, match=f"protocol {PROTOCOL_VERSION} has no operation 'source.fly'"):
        stage.call(Fly())


def test_answer_that_is_not_json_is_an_error_of_the_call(started: Started, tmp_path: Path) -> None:
    """A connector that returns what no frame can hold gets an error; its process continues."""
    (tmp_path / "odd.py").write_text(
        "from misbehaving import MisbehavingSourceConnector\n"
        "class Odd(MisbehavingSourceConnector):\n    def task_configs(self, max_tasks):\n"
        "        return [{'it': object()}]\n"
    )
    stage = started(str(tmp_path), MISBEHAVING)
    stage.await_hello()
    stage.call(LoadConnector("odd:Odd"))
    with pytest.raises(RemoteError, match="not JSON serializable"):
        stage.call(AskTaskConfigs(1))
    stage.call(Ping())


def test_stage_sends_requests_to_its_runtime(started: Started) -> None:
    """A task's reads from the offset store are answered by the starter of its stage."""
    asked: list[Any] = []
    polled = threading.Event()

    def answer(request: Request) -> None:
        asked.append(request.message)
        request.reply(StoredOffsets([{"next": 7}]))
        if request.kind is HandOver:
            polled.set()

    stage = Stage.start(python_environment("test", host(), (MISBEHAVING,)), "test-0", answer)
    try:
        stage.call(StartSource(CONNECTOR, {"number": "2"}))
        assert asked == [ReadOffsets([{"task": "2"}])]
        stage.notify(AddCredit(1))
        assert polled.wait(TIMEOUT)
        assert asked[1].groups == [Group(1)]
    finally:
        stage.close()


def test_request_without_a_handler_is_refused(started: Started) -> None:
    """A plugin's request gets an error instead of no answer."""
    stage = started()
    stage.await_hello()
    with pytest.raises(RemoteError, match=r"no handler answers 'offsets\.read'"):
        stage.call(StartSource(CONNECTOR, {}))


def test_bundle_sees_its_own_packages_and_not_the_hosts(started: Started, tmp_path: Path) -> None:
    """Only the author API and the base layer of the host can be imported in a stage (invariant 7)."""
    (tmp_path / "own_library.py").write_text("VERSION = '1.0'\n")
    hidden = ["orjson", "click", "confluent_kafka", "pyspark", "pytest", "hearth", "uvicorn", "pluggy"]
    found = look(
        started,
        tmp_path,
        "from own_library import VERSION as found",
        "from hearth_api import __name__ as found",
        "from pyarrow import __name__ as found",
        *(f"from {name} import __name__ as found" for name in hidden),
    )
    assert found == ["1.0", "hearth_api", "pyarrow", *["ModuleNotFoundError"] * len(hidden)]


def test_author_api_is_always_the_hosts(started: Started, tmp_path: Path) -> None:
    """A copy in a bundle would have other classes than the host's, so it is not visible."""
    own = (hearth_api, hearth_execution, hearth_stage)
    for package in own:
        (tmp_path / package.__name__).mkdir()
        (tmp_path / package.__name__ / "__init__.py").write_text("raise RuntimeError('a copy')\n")
    found = look(started, tmp_path, *(f"from {package.__name__} import __file__ as found" for package in own))
    assert found == [package.__file__ for package in own]


def test_package_of_the_bundle_comes_before_the_base_layer(started: Started, tmp_path: Path) -> None:
    """A bundle with its own pyarrow, even an older one, gets its own; the host's comes later in the path."""
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    assert look(
        started, tmp_path, "from pyarrow import __version__ as found", "from numpy import __name__ as found"
    ) == ["0.0.1", "numpy"]


def test_paths_come_in_the_order_of_the_environment(started: Started, tmp_path: Path) -> None:
    """Of two directories with the same package the first wins, as on every ``sys.path``."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which.py").write_text(f"class Plugin:\n    def version(self): return '{name}'\n")
    stage = started(str(tmp_path / "first"), str(tmp_path / "second"))
    stage.await_hello()
    assert stage.call(Describe("which:Plugin")).version == "first"


def test_working_directory_and_variables_add_no_packages(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither ``PYTHONPATH`` nor the host's working directory reaches a plugin."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "stray.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(elsewhere))
    monkeypatch.chdir(elsewhere)
    assert look(started, tmp_path, "from stray import __name__ as found") == ["ModuleNotFoundError"]


def test_stage_has_only_passed_and_configured_variables(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables often hold secrets; the system does not show other ones of the process either."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_SECRET", "secret")  # grants access to Spark's workers
    monkeypatch.setenv("TZ", "Europe/Berlin")
    names = "import os; found = sorted(name for name in os.environ if name in 'TZ COLOUR' or 'SECRET' in name)"
    shown = "found = b'secret' in open('/proc/self/environ', 'rb').read()"
    assert look(started, tmp_path, names, shown) == [["TZ"], False]
    confinement = Confinement(("AWS_*", "PYTHON_*"), {"COLOUR": "green"})
    assert look(started, tmp_path, names, confinement=confinement) == [["AWS_SECRET_ACCESS_KEY", "COLOUR"]]


def test_stage_over_its_memory_limit_is_killed_alone_with_the_reason(started: Started, tmp_path: Path) -> None:
    """A started and a forked one; other stages of the environment continue."""
    limits = Limits(memory_bytes=128 << 20)
    (tmp_path / "hog.py").write_text(
        "import time\nclass Plugin:\n    def version(self):\n        print('taking much')\n"
        "        self.much = bytearray(b'x') * (200 << 20)\n        time.sleep(60)\n"
    )
    hogs = [started(str(tmp_path), confinement=Confinement(limits=limits), limit=60) for _ in range(2)]
    neighbour = started(str(tmp_path), confinement=Confinement(limits=limits))
    for hog in hogs:
        hog.await_hello()
        with pytest.raises(StageOverLimit, match=r"memory, more than plugin.limits.memory.bytes=134217728$") as caught:
            hog.call(Describe("hog:Plugin"))
        assert str(caught.value).startswith("the stage process of test-0 was ended: it used ")
        assert "taking much" in str(caught.value.trace)
        assert not hog.is_alive
    neighbour.await_hello()
    neighbour.call(Ping())


def test_stage_is_held_to_its_processor_limit(started: Started, tmp_path: Path) -> None:
    """Its work takes longer; nothing else changes."""
    (tmp_path / "worker.py").write_text(
        "import time\nclass Plugin:\n    def version(self):\n        end = time.process_time() + 0.4\n"
        "        while time.process_time() < end: pass\n        return 'done'\n"
    )
    stage = started(str(tmp_path), confinement=Confinement(limits=Limits(cpus=0.4)))
    stage.await_hello()
    began = time.monotonic()
    assert stage.call(Describe("worker:Plugin")).version == "done"
    assert time.monotonic() - began > 0.6


def test_self_imposed_limits_apply_to_started_and_forked_stages(started: Started, tmp_path: Path) -> None:
    """Open files, its temporary directory, and the network."""
    limits = Limits(open_files=80, temporary_bytes=1 << 16, has_network=False)
    files = "import resource; found = resource.getrlimit(resource.RLIMIT_NOFILE)"
    network = "import socket; found = [name for _, name in socket.if_nameindex()]"
    full = (
        "import tempfile; file = tempfile.TemporaryFile(buffering=0); "
        "found = [file.write(bytes(4096)) for _ in range(99)]"
    )
    for _ in range(2):
        seen = look(started, tmp_path, files, network, full, confinement=Confinement(limits=limits))
        assert seen == [[80, 80], ["lo"], "OSError"]


def test_stage_with_a_refused_limit_does_not_run(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last words name the key."""
    (tmp_path / f"hearth-temporary-{os.geteuid()}").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    confinement = Confinement(limits=Limits(temporary_bytes=1 << 20))
    for _ in range(2):
        with pytest.raises(StageDied) as caught:
            started(confinement=confinement).await_hello()
        assert "plugin.limits.temporary.bytes cannot be enforced on " in str(caught.value.trace)


def test_signal_that_ends_a_host_does_not_end_its_stages(started: Started, tmp_path: Path) -> None:
    """A service manager signals all processes; a program that a plugin started can still be terminated."""
    itself = "import os, signal; os.kill(os.getpid(), signal.SIGTERM); found = 'alive'"
    program = "import subprocess; child = subprocess.Popen(['sleep', '60']); child.terminate(); found = child.wait(10)"
    assert look(started, tmp_path, itself, program) == ["alive", -signal.SIGTERM]


NOTE = textwrap.dedent("""
    from pathlib import Path
    from hearth_api import ConfigDef, SourceConnector, SourceTask, Transformation

    class Task(SourceTask):
        def version(self): return "1"
        def start(self, props): self.file = Path(props["file"])
        def poll(self): return None
        def stop(self): note(self.file, "stopped")

    class Connector(SourceConnector):
        def version(self): return "1"
        def config(self): return ConfigDef()
        def start(self, props): pass
        def stop(self): pass
        def task_configs(self, max_tasks): return [{}]
        def task_class(self): return Task

    class Passing(Transformation):
        def configure(self, configs): self.file = Path(configs["file"])
        def apply(self, record): return record
        def close(self): note(self.file, "closed")

    def note(file, text):
        with file.open("a") as output:
            output.write(text + "\\n")
""")


@pytest.mark.parametrize("stops", [True, False])
def test_end_of_the_connection_stops_the_task_once_and_closes_plugins(
    started: Started, tmp_path: Path, stops: bool
) -> None:
    """A task whose start was called is stopped exactly once and every plugin closed, however its run ends."""
    (tmp_path / "noting.py").write_text(NOTE)
    file = str(tmp_path / "notes")
    stage = started(str(tmp_path))
    stage.await_hello()
    stage.call(Load([WantedPlugin("transforms.p", "p", "noting:Passing", {"file": file})]))
    stage.call(StartSource("noting:Connector", {"file": file}))
    stage.notify(AddCredit(1))
    if stops:
        stage.call(StopSource())
    stage.close(grace=10)
    assert Path(file).read_text().split() == ["stopped", "closed"]


def test_process_ends_with_the_connection(started: Started) -> None:
    """Closing a stage ends its process, which needs no signal if its plugin is idle."""
    stage = started()
    stage.await_hello()
    stage.close(grace=10)
    assert stage.died().args == ("the stage process of test-0 exited with 0",)


def test_plugin_that_does_not_stop_is_killed(started: Started) -> None:
    """A hanging plugin blocks no caller: its process is killed after the grace period."""
    stage = started()
    with pytest.raises(StageTimeout):
        misbehave(stage, "hang", limit=0.1)
    stage.close(grace=0.1)
    assert stage.died().args == ("the stage process of test-0 was killed by signal 9",)


def test_death_is_noticed_although_a_forked_process_continues(started: Started, tmp_path: Path) -> None:
    """A process that a plugin forked does not keep the connection open when the stage dies."""
    (tmp_path / "parent.py").write_text(
        "import os, threading\nclass Plugin:\n    def version(self):\n"
        "        pid = os.fork()\n        if pid == 0:\n            threading.Event().wait(600)\n"
        "            os._exit(0)\n        return str(pid)\n"
    )
    died = threading.Event()
    stage = started(str(tmp_path), on_death=lambda _: died.set())
    stage.await_hello()
    child = int(str(stage.call(Describe("parent:Plugin")).version))
    try:
        stage.kill()
        assert died.wait(TIMEOUT)
    finally:
        os.kill(child, signal.SIGKILL)


def test_death_callback_gets_the_stage(started: Started, tmp_path: Path) -> None:
    """A process may end before its starter has received the stage."""
    death: Future[tuple[Stage, Exception]] = Future()

    def on_death(stage: Stage) -> None:
        death.set_result((stage, stage.died()))

    stage = started(python=script(tmp_path, "#!/bin/sh\n"), on_death=on_death)
    dead, error = death.result(TIMEOUT)
    assert dead is stage
    assert "exited with 0" in str(error)


def test_stage_outlives_the_thread_that_started_it(started: Started) -> None:
    """Stages are also started from short-lived threads; Linux must not take those for the parent."""
    stages: list[Stage] = []
    thread = threading.Thread(target=lambda: stages.append(started()))
    thread.start()
    thread.join()
    stages[0].await_hello()
    stages[0].call(Ping())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_stage_dies_with_the_process_that_started_it() -> None:
    """A killed host or task runtime leaves no stage behind, not even a hanging one."""
    code = (
        "import sys\nfrom hearth.isolation.environment_store import python_environment\n"
        "from hearth.isolation.interpreter import host\nfrom hearth.isolation.stage import Stage\n"
        "from hearth_stage.connector_call import LoadConnector, StartConnector\n"
        f"stage = Stage.start(python_environment('t', host(), ({MISBEHAVING!r},)), 't')\n"
        f"stage.call(LoadConnector({CONNECTOR!r}))\n"
        "stage.begin(StartConnector({'misbehave.how': 'hang', 'misbehave.where': 'connector.start'}))\n"
        "print(stage.pid, flush=True)\nsys.stdin.read()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert wait_for_end(pid)


def script(tmp_path: Path, text: str) -> str:
    """Write a program that is used as an interpreter."""
    path = tmp_path / "python"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_interpreter_that_exits_at_once_is_a_dead_stage(started: Started, tmp_path: Path) -> None:
    """An interpreter that does not start a stage is reported with its status and output."""
    stage = started(python=script(tmp_path, "#!/bin/sh\necho 'no such interpreter' >&2\nexit 7\n"))
    with pytest.raises(StageDied, match="exited with 7") as caught:
        stage.await_hello()
    assert "no such interpreter" in str(caught.value.trace)


def test_missing_interpreter_is_named(started: Started) -> None:
    """For example, its environment was removed under the running host."""
    with pytest.raises(
        StageNotStarted, match="of test-0 was not started: No such file or directory: '/nowhere/python'"
    ):
        started(python="/nowhere/python")


def test_interpreter_missing_on_an_executor_is_named(tmp_path: Path) -> None:
    """No other Python replaces it where the environment was unpacked."""
    built = python_environment("test", replace(host(), path="/usr/bin/python3.99"), (MISBEHAVING,))
    built.copy_to(tmp_path)
    with pytest.raises(StageNotStarted, match=r"'/usr/bin/python3\.99'") as caught:
        Stage.open(built.copied(tmp_path), "test-0")
    assert f"on {platform.node()} at the same path" in str(caught.value.trace)


def test_missing_environment_is_named(tmp_path: Path) -> None:
    """For example, it was removed under the host, or is missing on an executor: no module of the plugin is blamed."""
    environment = replace(python_environment("key", host(), (MISBEHAVING, str(tmp_path / "gone"))), bundle="orders")
    with pytest.raises(PluginError, match=r"the environment of orders is not on .*/gone' is missing") as caught:
        Stage.open(environment, "test-0")
    assert caught.value.code == "environment.missing"
    assert "restart the task" in str(caught.value.trace)


def test_different_python_at_the_same_path_is_an_error(started: Started) -> None:
    """A path such as ``/usr/bin/python3`` exists on every machine, but is not the same Python everywhere."""
    stage = started(tag="cpython-399")
    with pytest.raises(StageDied) as caught:
        stage.await_hello()
    real = os.path.realpath(sys.executable)
    assert f"was built for cpython-399, but {real} is {host().tag}" in str(caught.value.trace)


def test_standard_input_of_a_plugin_is_empty(started: Started, tmp_path: Path) -> None:
    """It was the connection, from which neither a plugin nor what it starts may read."""
    code = "return repr([sys.stdin.read(), os.read(0, 1), subprocess.check_output(['cat'])])"
    assert do(started(bundle(tmp_path, code, "os, subprocess, sys"))) == "['', b'', b'']"


def test_environment_may_name_another_program_than_python(tmp_path: Path) -> None:
    """One of a JVM is copied, started from the copy and called, just like a Python one."""
    command = (java_compiler(), *OPTIONS, "-cp", str(JARS / "*"), "{0}/ForeignStage.java")
    environment = Environment("foreign", command, (str(SOURCE.parent),))
    environment.copy_to(tmp_path)
    stage = Stage.open(environment.copied(tmp_path), "foreign", limit=SECONDS)
    try:
        stage.await_hello(SECONDS)
        stage.call(Ping())
        with pytest.raises(RemoteError, match='unknown operation "nonsense"'):
            stage.call(Nonsense())
    finally:
        stage.close(grace=SECONDS)
    assert stage.died().args == ("the stage process of foreign exited with 0",)


def test_stage_without_file_descriptors_is_refused_with_a_remedy() -> None:
    """Nothing leaks, and once descriptors are available again a stage starts."""
    code = (
        "import os, resource, sys\nfrom hearth.isolation.environment_store import python_environment\n"
        "from hearth.isolation.interpreter import host\n"
        "from hearth.isolation.stage import Stage, StageNotStarted\nfrom hearth_api import *\n"
        "Stage.start(python_environment('t', host(), ()), 't').close()\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\ntaken = []\n"
        "try:\n    while True: taken.append(os.open(os.devnull, os.O_RDONLY))\nexcept OSError: pass\n"
        "for free in range(12):\n"
        "    try: Stage.start(python_environment('t', host(), ()), 't').close(); print('started'); break\n"
        "    except StageNotStarted as error: print(error, '|', error.hint)\n"
        "    os.close(taken.pop())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    *refused, last = result.stdout.splitlines()
    assert (last, result.stderr) == ("started", "")
    assert set(refused) == {
        "the stage process of t was not started: Too many open files | raise the limit of open files: "
        "`ulimit -n 65536` in the shell, LimitNOFILE=65536 in a systemd unit"
    }


def test_process_without_hello_is_killed(started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does not say hello in time is killed."""
    monkeypatch.setattr("hearth.isolation.forked_process.FORK_SECONDS", 0.1)
    stage = started(python=script(tmp_path, "#!/bin/sh\nexec sleep 60\n"))
    with pytest.raises(StageTimeout, match="'start'"):
        stage.await_hello(timeout=0.2)
    assert stage.died().args == ("the stage process of test-0 was killed by signal 9",)


def test_stage_of_another_protocol_is_refused(started: Started, tmp_path: Path) -> None:
    """A stage with another protocol version is rejected and ended."""
    code = (
        f"#!{sys.executable}\nimport socket, sys\n"
        'text = b\'{"op":"hello","args":{"protocol":99}}\'\n'
        "sock = socket.socket(fileno=0)\n"
        "sock.sendall((4 + len(text)).to_bytes(4, 'little') + len(text).to_bytes(4, 'little') + text)\nsock.recv(1)\n"
    )
    stage = started(python=script(tmp_path, code))
    with pytest.raises(PluginError, match=f"speaks protocol 99, this host {PROTOCOL_VERSION}"):
        stage.await_hello()
    assert not stage.is_alive


def test_request_of_the_stage_may_be_answered_later(started: Started) -> None:
    """``on_request`` may keep a request and answer it from another thread."""
    kept: list[Request] = []
    came = threading.Event()

    def keep(request: Request) -> None:
        kept.append(request)
        came.set()

    stage = started(on_request=keep)
    stage.await_hello()
    answer = stage.begin(StartSource(CONNECTOR, {}))
    assert came.wait(TIMEOUT)
    assert not answer.done()
    kept[0].reply(StoredOffsets([None]))
    assert stage.result(answer, "source.start").wants_records is False


def bundle(tmp_path: Path, body: str, imports: str = "os, signal, sys, threading") -> str:
    """Write a bundle with one class whose ``version`` runs statements, and return its directory."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    text = f"import {imports}\nclass Plugin:\n    def version(self):\n{lines}\n"
    (tmp_path / "doer.py").write_text(text)
    return str(tmp_path)


def do(stage: Stage) -> Any:
    """Run the statements of the bundle's class."""
    stage.await_hello()
    return stage.call(Describe("doer:Plugin")).version


def test_stage_leads_a_session_and_a_group_of_its_own(started: Started, tmp_path: Path) -> None:
    """A plugin's signal to its group reaches no other stage, one of the terminal reaches no stage."""
    stage = started(bundle(tmp_path, "return f'{os.getpid()} {os.getpgid(0)} {os.getsid(0)}'"))
    assert do(stage) == " ".join([str(stage.pid)] * 3)


GROUP_SIGNAL = """
import sys
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth_stage.plugin_call import Describe, Ping
neighbour = Stage.start(python_environment("t", host(), ()), "neighbour")
stage = Stage.start(python_environment("t", host(), (sys.argv[1],)), "t")
stage.call(Describe("doer:Plugin"))
neighbour.call(Ping())
stage.close()
neighbour.close()
print("all is well")
"""


def test_signal_to_a_stages_group_spares_its_neighbours_and_its_host(tmp_path: Path) -> None:
    """A plugin that killed \"its\" group would otherwise end the host, or all tasks of an executor."""
    path = bundle(tmp_path, "os.killpg(0, signal.SIGTERM)\nreturn 'done'")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", GROUP_SIGNAL, path]
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, start_new_session=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (0, "all is well\n"), result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stage_ignores_signals_that_end_a_service(started: Started, number: int) -> None:
    """A service manager signals all processes; the task drains first and needs its stage for that."""
    stage = started()
    stage.await_hello()
    os.kill(stage.pid, number)
    stage.call(Ping())
    assert stage.is_alive


def test_children_of_a_plugin_receive_signals(started: Started, tmp_path: Path) -> None:
    """Neither a program nor a forked process inherits the ignored signals."""
    forked = """
        pid = os.fork()
        if pid == 0:
            threading.Event().wait(60)
            os._exit(0)
        os.kill(pid, signal.SIGTERM)
        program = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait(60)"])
        program.terminate()
        return f"{os.waitpid(pid, 0)[1]} {program.wait()}"
    """
    assert do(started(bundle(tmp_path, forked, "os, signal, subprocess, sys, threading"))) == "15 -15"


CHILD = """
    program = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait(60)"])
    if {ends}:
        print(program.pid, file=sys.stderr, flush=True)
        os._exit(3)
    return str(program.pid)
"""


def test_children_of_a_plugin_end_with_its_stage(started: Started, tmp_path: Path) -> None:
    """Nothing of a deleted connector continues."""
    stage = started(bundle(tmp_path, CHILD.format(ends=False), "os, subprocess, sys"))
    child = int(do(stage))
    stage.close(grace=10)
    assert wait_for_end(child)
    assert stage.died().args == ("the stage process of test-0 exited with 0",)


def test_children_of_a_plugin_end_with_a_dead_stage(started: Started, tmp_path: Path) -> None:
    """Also if the plugin's own process ended first."""
    stage = started(bundle(tmp_path, CHILD.format(ends=True), "os, subprocess, sys"))
    with pytest.raises(StageDied, match="exited with 3"):
        do(stage)
    assert wait_for_end(int(stage.last_words))


def frame(header: bytes) -> bytes:
    """Return a frame without bodies."""
    return (4 + len(header)).to_bytes(4, "little") + len(header).to_bytes(4, "little") + header


SPEAKER = """
    connection = next(each for each in gc.get_objects() if isinstance(each, socket.socket))
    connection.sendall({bytes!r})
    return "said"
"""


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xff\xff\x7f\x02\x00\x00\x00{}", "a frame of 2147483647 bytes exceeds the limit of 1073741824"),
        (b"\x10\x00\x00\x00\x0c\x00\x00\x00{'no': JSON}", "Expecting property name"),
        (
            frame(b'{"op":"source.batches","args":{"a":1}}'),
            "cannot handle notice 'source.batches': .* 'groups' is missing",
        ),
        (frame(b'{"op":"source.batches","args":{"groups":5}}'), "'groups': 5 is not a list"),
        (frame(b'{"op":"sink.context","args":{"rewind":[["t",0]]}}'), "'rewind': 2 values, expected 3"),
        (frame(b'{"op":"source.failed","args":{"error":"bad"}}'), "'error': 'bad' is not an object"),
    ],
    ids=["two gigabytes", "no JSON", "no member", "no list", "no offset", "no error"],
)
def test_stage_that_breaks_the_protocol_is_ended_with_the_reason(
    started: Started, tmp_path: Path, data: bytes, says: str
) -> None:
    """The reason is the protocol error and not a signal that was never sent."""
    died = threading.Event()

    stage = started(bundle(tmp_path, SPEAKER.format(bytes=data), "gc, socket"), on_death=lambda _: died.set())
    with pytest.raises(StageBroken, match=says):
        do(stage)
    assert died.wait(TIMEOUT)
    assert "broke the protocol" in str(stage.died())
    assert wait_for_end(stage.pid)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b'{"re":1,"args":{"version":5}}', "not a reply to 'describe': 'version': 5 is not text"),
        (b'{"re":1,"args":{"config":[1]}}', "'config': 1 is not an object"),
        (b'{"re":1,"args":[1]}', "the arguments are list, not an object"),
    ],
)
def test_stage_with_a_malformed_answer_is_ended_with_the_reason(
    started: Started, tmp_path: Path, reply: bytes, says: str
) -> None:
    """The caller gets an error of the stage with the answer, and the stage is not called again."""
    stage = started(bundle(tmp_path, SPEAKER.format(bytes=frame(reply)), "gc, socket"))
    with pytest.raises(StageBroken, match=says):
        do(stage)
    assert not stage.is_alive
    assert wait_for_end(stage.pid)


def test_long_errors_and_output_are_cut(started: Started, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """50 MB in an exception and 50 MB on the error output: the host keeps some KB of each."""
    (tmp_path / "doer.py").write_text(
        "import sys\nclass Plugin:\n    def __init__(self):\n        sys.stderr.write('w' * 50_000_000)\n"
        "        raise ValueError('v' * 50_000_000)\n"
    )
    stage = started(str(tmp_path))
    with pytest.raises(RemoteError) as caught:
        do(stage)
    assert len(str(caught.value)) < 100_000
    assert "characters left out" in str(caught.value.trace)
    stage.close()
    assert len(stage.last_words) < 100_000
    assert len(capfd.readouterr().err) < 200_000


BUSY = """
from hearth_api import ConfigDef, RetriableError, Transformation

class Busy(Transformation):
    def config(self): return ConfigDef()
    def configure(self, configs): pass
    def apply(self, record): raise RetriableError("later")
    def close(self): pass
"""


def test_retry_in_a_stage_ends_when_the_run_is_about_to_stop(started: Started, tmp_path: Path) -> None:
    """``errors.retry.timeout`` may be unlimited; the record that is being retried counts as failed."""
    (tmp_path / "busy.py").write_text(BUSY)
    stage = started(str(tmp_path))
    stage.await_hello()
    stage.call(Configure("sink", retry_timeout=-1, retry_delay_max=3_600_000))
    stage.call(Load([WantedPlugin("transforms.b", "b", "busy:Busy")]))
    columns = {"value": pa.array(["a"]), "row": pa.array([0], pa.int32())}
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    answer = stage.begin(Apply([Step("transforms.b")], [Batch("t", None, STRING_SCHEMA, data)]))
    stage.notify(Stopping())
    (failure,) = stage.result(answer, "apply", timeout=TIMEOUT).failures
    assert failure.error.kind == "retriable"

"""How much memory and processor time a stage uses, and what happens when it exceeds a limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists, tuples

from hearth.isolation.stage_watch import Usage, UsageBudget, Watch, usage_of
from hearth_stage.limit import Limits
from hearth_stage.lineage import new_lineage
from tests.timeouts import TIMEOUT, eventually
from tests.unit.isolation.test_stage import wait_for_end

MB = 1 << 20
BEGIN = f"import resource; resource.prlimit(0, 10, ({new_lineage()}, resource.RLIM_INFINITY))\n"
"""What the owner of a stage executes."""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system is asked as Linux is")


def test_memory_is_polled_more_often_near_the_limit() -> None:
    """A process over its limit is killed, and the key is named."""
    budget = UsageBudget(Limits(memory_bytes=4096 * MB), 0, Usage(30 * MB, 0))
    looks = [budget.judge(1, Usage(each * MB, each / 1000)) for each in (30, 3584, 4095)]
    assert [each.next_look for each in looks] == [1.0, 0.25, 0.02]
    assert not any(each.excess or each.pause for each in looks)
    excess = budget.judge(2, Usage(4097 * MB, 5)).excess
    assert excess == "it used 4296015872 bytes of memory, more than plugin.limits.memory.bytes=4294967296"


def test_excess_processor_time_is_paused() -> None:
    """Half a processor: after 0.2 s at full speed, of which 0.1 s was saved, it pauses for 0.2 s."""
    budget = UsageBudget(Limits(cpus=0.5), 0, Usage(0, 0))
    assert budget.judge(0.2, Usage(0, 0.2)).pause == pytest.approx(0.2)
    assert budget.judge(0.4, Usage(0, 0.2)).pause == 0
    assert budget.judge(0.6, Usage(0, 0.3)).pause == 0
    assert budget.judge(60, Usage(0, 0.4)).pause == 0
    assert budget.judge(60.1, Usage(0, 0.8)).pause == pytest.approx(0.45)


@given(
    cpus=floats(0.01, 4),
    steps=lists(tuples(floats(0, 8), floats(0.001, 2)), min_size=1, max_size=60),
)
def test_processor_limit_holds_on_average_and_delays_no_process_below_it(
    cpus: float, steps: list[tuple[float, float]]
) -> None:
    """Whatever it does between looks: the next pause compensates an excess."""
    budget = UsageBudget(Limits(cpus=cpus), 0, Usage(0, 0))
    now = taken = 0.0
    for speed, seconds in steps:
        now += seconds
        taken += speed * seconds
        pause = budget.judge(now, Usage(0, taken)).pause
        assert pause < 1e-6 or speed > cpus
        now += pause
        assert taken <= cpus * now + 1e-6
    allowed = 0.0
    for number in range(100):
        allowed += budget.judge(now + number + 1, Usage(0, taken + cpus * 0.99 * (number + 1))).pause
    assert allowed < 1e-6


@pytest.mark.parametrize("limits", [Limits(cpus=0.5), Limits(memory_bytes=128 * MB), Limits(64 * MB, 0.5)])
def test_idle_process_is_polled_once_a_second(limits: Limits) -> None:
    """However near it is to a limit; and more often once it is active."""
    budget = UsageBudget(limits, 0, Usage(60 * MB, 0))
    assert [budget.judge(each, Usage(60 * MB, 0)).next_look for each in range(1, 9)] == [
        0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0, 1.0
    ]  # fmt: skip
    assert budget.judge(9, Usage(60 * MB, 0.1)).next_look <= 0.1


def test_usage_includes_descendants() -> None:
    """Also what those have started, and memory that only they share."""
    code = f"""{BEGIN}
import mmap, subprocess, sys
own = bytearray(b"x") * (40 << 20)
shared = mmap.mmap(-1, 20 << 20); shared.write(b"x" * (20 << 20))
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "held = bytearray(b'x') * (60 << 20); print(); input()"])
input()
"""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        usage = usage_of(process.pid)
        process.kill()
    assert 120 * MB < usage.memory_bytes < 160 * MB
    assert usage.cpu_seconds > 0
    with pytest.raises(ProcessLookupError):
        usage_of(process.pid)


def test_memory_shared_by_forks_counts_once() -> None:
    """A plugin with eight worker processes does not use eight times the memory."""
    code = f"""{BEGIN}
import os
held = bytearray(b"x") * (40 << 20)
for _ in range(4):
    if os.fork() == 0: break
else: print(flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert usage_of(process.pid).memory_bytes > 200 * MB
        assert usage_of(process.pid, 200 * MB).memory_bytes < 100 * MB
        assert process.stdin is not None
        process.stdin.close()
        process.kill()


def state_of(pid: int) -> str:
    """Return the state of a process, T for a suspended one; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_daemon_counts_and_is_suspended() -> None:
    """It has left the session of the process, and its parent has ended."""
    code = f"""{BEGIN}
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    held = bytearray(b"x") * ({100 * MB})
    print(os.getpid(), flush=True)
    while True: pass
os.wait()
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=-1, start_new_session=True) as process:
        assert process.stdout is not None
        daemon = int(process.stdout.readline())
        assert usage_of(process.pid).memory_bytes > 100 * MB
        watch = Watch(process.pid, Limits(cpus=0.005), lambda _: None)
        assert eventually(lambda: state_of(daemon) == "T", TIMEOUT)
        watch.end()
        assert eventually(lambda: state_of(daemon) == "R", TIMEOUT)
        os.kill(daemon, signal.SIGKILL)
        process.kill()


def test_suspended_stages_end_with_their_owner(tmp_path: Path) -> None:
    """However it ends; one was started, the other forked."""
    (tmp_path / "busy.py").write_text("class Plugin:\n    def version(self):\n        while True: pass\n")
    code = f"""
from hearth.config.confinement_key import Confinement
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth_stage.limit import Limits
from hearth_stage.plugin_call import Describe
confinement = Confinement(limits=Limits(cpus=0.1))
stages = [Stage.start(python_environment("t", host(), ({str(tmp_path)!r},)).confined(confinement), "t") for _ in "ab"]
for each in stages: each.begin(Describe("busy:Plugin"))
print(*(each.pid for each in stages), flush=True)
input()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, env=environment, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(each) for each in owner.stdout.readline().split()]
        assert eventually(lambda: [state_of(each) for each in pids] == ["T", "T"], TIMEOUT)
        owner.kill()
    assert [wait_for_end(each) for each in pids] == [True, True]


def test_suspended_process_continues_when_its_watch_ends() -> None:
    """So that its owner can stop it cleanly, for example."""
    command = [sys.executable, "-I", "-S", "-c", "import time\nwhile time.process_time() < 0.7: pass"]
    began = time.monotonic()
    process = subprocess.Popen(command, start_new_session=True)
    watch = Watch(process.pid, Limits(cpus=0.005), lambda _: None)
    assert eventually(lambda: state_of(process.pid) == "T", TIMEOUT)
    watch.end()
    assert process.wait(TIMEOUT) == 0
    assert time.monotonic() - began < 2 * TIMEOUT

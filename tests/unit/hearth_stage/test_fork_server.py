"""Parts of a fork server; ``tests/unit/isolation/test_forked_process.py`` tests real ones and their forks."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from hearth_stage.fork_answer import ForkAnswer
from hearth_stage.fork_server import load

DEATH = """
import os
from hearth_stage.forked import die_with
held, life = os.pipe()
{before}
pid = os.fork()
if pid == 0:
    os.close(life) if {is_held} else None
    die_with(held)
    os.write(1, b"alive")
    while True:
        "a" * 1000 in "b" * 100_000
{after}
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def death(before: str, after: str) -> str:
    """Return how a process ended that never looks at anything, and whose lifeline ends before or after its start."""
    code = DEATH.format(before=before, after=after, is_held=not before)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True, timeout=20).strip()


def test_process_ends_with_its_lifeline() -> None:
    """Linux kills it, so it need not react; if the line ended before the start, the process exits itself."""
    assert death("", "os.close(life)") in (f"-{signal.SIGKILL.value}", f"alive-{signal.SIGKILL.value}", "1")
    assert death("os.close(life)", "") == "1"


def test_module_that_cannot_be_loaded_is_left_to_its_stage(capfd: pytest.CaptureFixture[str]) -> None:
    """The others are loaded, and no alarm fires later."""
    load(["there_is_no_such_module", "this"])
    output = capfd.readouterr()
    assert "No module named 'there_is_no_such_module'" in output.err
    assert "The Zen of Python" in output.out
    assert signal.alarm(0) == 0


@pytest.mark.parametrize("answer", [ForkAnswer(pid=7), ForkAnswer(status=-9), ForkAnswer(refusal="too late")])
def test_an_answer_arrives_as_it_was_sent(answer: ForkAnswer) -> None:
    """One message each; there is none if the sender has gone."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            answer.send(theirs)
            answer.send(theirs)
        assert [ForkAnswer.receive(ours) for _ in range(3)] == [answer, answer, None]
        with pytest.raises(OSError, match="Broken pipe"):
            answer.send(ours)

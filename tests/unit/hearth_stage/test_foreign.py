"""A stage in another language: a JVM takes over the connection as its standard input and speaks the protocol."""

from __future__ import annotations

import queue
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from hearth.foundation.java import find_java
from hearth_execution.failure import RemoteError
from hearth_stage.call import Call, decoded
from hearth_stage.channel import Channel, Request
from hearth_stage.frame import PROTOCOL_VERSION, read_frame
from hearth_stage.operation import FROM_STAGE, Hello
from hearth_stage.plugin_call import Ping
from hearth_stage.task_call import AddCredit, HandOver
from tests.unit.hearth_stage.test_frame import golden

SOURCE = Path(__file__).with_name("ForeignStage.java")
JARS = Path(pyspark.__file__).parent / "jars"
OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
SECONDS = 60


@dataclass(frozen=True)
class Nonsense(Call[None], op="nonsense"):
    """An operation that no stage knows."""


def java_compiler() -> str:
    """Return a Java that compiles source files; the test is skipped without one."""
    java = find_java().executable
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.compiler" not in modules:
        pytest.skip(f"{java} is a JRE: it compiles no source file")
    return str(java)


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """Start the stage with one end of a socket pair as its standard input; it ends with the other end."""
    java = java_compiler()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            command = [java, *OPTIONS, "-cp", str(JARS / "*"), str(SOURCE)]
            process = subprocess.Popen(command, stdin=theirs.fileno())
        try:
            yield process, ours
        finally:
            process.kill()
            process.wait()


def test_jvm_takes_over_the_connection_as_a_stage(
    started: tuple[subprocess.Popen[bytes], socket.socket],
) -> None:
    """It says hello, answers, hands over a batch from its own Arrow, and ends with the connection.

    The batch is that of the golden frame, whose bytes it wrote; Arrow's own bytes may change with its version.
    """
    process, connection = started
    messages: queue.Queue[Request] = queue.Queue()
    channel = Channel(connection, FROM_STAGE, messages.put, is_trusted=False).start()
    assert messages.get(timeout=SECONDS).message == Hello(PROTOCOL_VERSION, process.pid)
    channel.call(Ping(), timeout=SECONDS)
    with pytest.raises(RemoteError, match='unknown operation "nonsense"'):
        channel.call(Nonsense(), timeout=SECONDS)
    channel.notify(AddCredit(1))
    handed_over = messages.get(timeout=SECONDS).message
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(golden()["java"])
        kept = read_frame(theirs)
    assert kept is not None
    assert isinstance(handed_over, HandOver)
    golden_one: HandOver = decoded(HandOver, kept.header["args"], kept.batches)
    assert (handed_over.op, handed_over.groups) == (kept.header["op"], golden_one.groups)
    assert [batch.data for batch in handed_over.batches] == [batch.data for batch in golden_one.batches]
    channel.close()
    assert process.wait(SECONDS) == 0

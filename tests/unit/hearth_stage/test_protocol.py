"""PROTOCOL.md: what it says is what the programs do."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import hearth
import hearth_stage
from hearth.herder import task_link
from hearth.herder.plugin.stage import FRAME_BYTES
from hearth.isolation import output, stage
from hearth.runtime.link import ENDS
from hearth_execution import failure
from hearth_stage import frame, program
from hearth_stage.program import Program
from tests.unit.runtime.sample import task_plan

STAGE = Path(hearth_stage.__file__).parent
HOST = Path(hearth.__file__).parent
TEXT = (STAGE / "PROTOCOL.md").read_text(encoding="utf-8")
SENT = re.compile(r"\.(?:_?call|notify|_?begin)\(\s*\"([a-z_.]+)\"")
LINK = HOST / "runtime" / "link.py", HOST / "link" / "heartbeat.py"


def section(title: str) -> str:
    """Return the text of the sections whose title begins so."""
    parts = re.split(r"^(#{2,3} .*)$", TEXT, flags=re.MULTILINE)
    return "".join(body for head, body in zip(parts[1::2], parts[2::2], strict=True) if title in head)


def prose(title: str) -> str:
    """Return that text in one line."""
    return " ".join(section(title).split())


def documented(title: str) -> set[str]:
    """Return the operations in the tables of a section."""
    cells = re.findall(r"^\| (`[^|]*`) \|", section(title), flags=re.MULTILINE)
    return {op for cell in cells for op in re.findall(r"`([a-z_.]+)`", cell)}


def sent(*paths: Path) -> set[str]:
    """Return the operations that source files send."""
    return {op for path in paths for op in SENT.findall(path.read_text(encoding="utf-8"))}


def served() -> set[str]:
    """Return the operations a stage serves."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        return {*Program(theirs)._table(), "stacks", "stopping"}


ASKS_CONVERTERS = {"serialize", "deserialize", "serialize_headers", "deserialize_headers"}
"""Sent by ``hearth_stage.conversion``, which is the runtime's end of these calls as well as the stage's."""


def test_every_operation_a_stage_serves_is_documented_and_no_other() -> None:
    """A table row per operation, an operation per table row."""
    assert documented("Runtime to stage") == served()


def test_every_operation_the_runtime_sends_is_served() -> None:
    """Nothing that the host sends meets a stage that does not know it, and nothing is served in vain."""
    files = [path for path in HOST.rglob("*.py") if path not in LINK]
    assert sent(*files) | ASKS_CONVERTERS == served()


def test_every_operation_a_stage_sends_is_documented_and_no_other() -> None:
    """What a runtime must be ready for stands in one table."""
    assert documented("Stage to runtime") == sent(*STAGE.glob("*.py")) - ASKS_CONVERTERS


def test_operations_of_the_task_link_are_documented() -> None:
    """The link is the same protocol with operations of its own."""
    assert documented("The task link") == sent(*LINK) | {"pause", "resume", *ENDS}


def test_what_a_task_is_told_is_documented() -> None:
    """The answer to the first word of a task, member by member."""
    registration = task_link._Registration(task_plan("source"), 1, False, "token")
    (answer,) = re.findall(r"^\| `hello` .*\|([^|]*)\|$", section("The task link"), flags=re.MULTILINE)
    assert set(re.findall(r"(?:^|· )`(\w+)`", answer.strip())) == set(registration.welcome())


def test_columns_and_attributes_of_a_batch_are_documented() -> None:
    """Every column and every member of a batch's metadata has its row."""
    import json

    import pyarrow as pa

    from hearth_api import Batch

    data = pa.RecordBatch.from_arrays([pa.array(["a"])], names=["value"])
    metadata = json.loads(Batch("t", None, None, data).to_arrow().schema.metadata[b"hearth"])
    columns = set(re.findall(r"^    - `(\w+)`|`(\w+)`(?= int)", Batch.__doc__ or "", flags=re.MULTILINE))
    names = {name for pair in columns for name in pair if name} | {"key", "value"}
    assert documented("4. Record batches") == set(metadata) | names


def test_numbers_on_the_page_are_those_of_the_programs() -> None:
    """Version, limits and deadlines are stated once more in prose."""
    assert f"version {frame.PROTOCOL_VERSION}\n" in TEXT
    assert frame.MAX_FRAME == 2**31
    assert "less than 2^31" in prose("2. Frames")
    assert f"{frame.BUFFER_BYTES >> 20} MiB" in prose("1. Connection")
    assert f"Of a line {output.LINE_BYTES >> 10} KiB" in prose("1. Connection")
    assert f"{output.BURST_BYTES >> 20} MiB at once and {output.BYTES_A_SECOND >> 10} KiB" in prose("1. Connection")
    assert f"last {output.KEPT_LINES} lines" in prose("1. Connection")
    assert f"less than {stage.FRAME_BYTES >> 30} GiB from" in prose("2. Frames")
    assert f"less than {FRAME_BYTES >> 20} MiB where" in prose("2. Frames")
    assert f"`message` {failure.MESSAGE_CHARACTERS:,} characters" in prose("3. Messages")
    assert f"`trace` {failure.TRACE_CHARACTERS:,}" in prose("3. Messages")
    assert f"no longer than {program.END_SECONDS} seconds" in prose("9. Life cycles")
    assert f"longer than {task_link.GREETING_BYTES >> 10} KiB" in prose("11. The task link")

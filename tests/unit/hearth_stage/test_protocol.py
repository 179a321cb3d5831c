"""PROTOCOL.md describes what the programs do."""

from __future__ import annotations

import dataclasses
import re
import socket
from pathlib import Path
from typing import Any

import pytest

import hearth_stage
from hearth.herder import task_link
from hearth.herder.plugin.stage import FRAME_BYTES
from hearth.isolation import output, stage_connection
from hearth.isolation.shared_stage import MUTE_SECONDS
from hearth.link import link_call
from hearth.link.link_call import TO_HOST, TO_TASK
from hearth_execution import failure
from hearth_execution.transformation import Step
from hearth_stage import (
    connector_call,
    conversion_call,
    extension_call,
    frame,
    log_budget,
    log_call,
    offset_call,
    operation,
    plugin_call,
    policy_call,
    program,
    provider_call,
    task_call,
    token_call,
    transformation_call,
)
from hearth_stage.call import Call, Message, Notice, Operations, PluginCall
from hearth_stage.form import codec_of
from hearth_stage.log_call import SetLevels
from hearth_stage.operation import FROM_STAGE, TO_STAGE
from hearth_stage.plugin_call import AskMetrics, AskStacks, Stopping, WantedPlugin
from hearth_stage.program import Program
from hearth_stage.task_call import Group, SkipPuts
from tests.unit.runtime.sample import task_plan

STAGE = Path(hearth_stage.__file__).parent
TEXT = (STAGE / "PROTOCOL.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return the text of the sections with this title."""
    parts = re.split(r"^(#{2,3} .*)$", TEXT, flags=re.MULTILINE)
    return "".join(body for head, body in zip(parts[1::2], parts[2::2], strict=True) if title in head)


def prose(title: str) -> str:
    """Return that text in one line."""
    return " ".join(section(title).split())


def documented(title: str) -> set[str]:
    """Return the operations in the tables of a section."""
    cells = re.findall(r"^\| (`[^|]*`) \|", section(title), flags=re.MULTILINE)
    return {op for cell in cells for op in re.findall(r"`([a-z_.]+)`", cell)}


def rows(title: str) -> dict[str, list[str]]:
    """Return the table cells of a section by operation; a row may list several operations."""
    found = {}
    for line in re.findall(r"^\| (`.*) \|$", section(title), flags=re.MULTILINE):
        ops, *cells = [cell.strip() for cell in line.split("|")]
        found.update(dict.fromkeys(re.findall(r"`([a-z_.]+)`", ops), cells))
    return found


def kind_of(message: type[Message]) -> str:
    """Return the kind of a message in the words of the page."""
    return " or ".join(word for word, kind in (("call", Call), ("notice", Notice)) if issubclass(message, kind))


def members(kind: type[Any]) -> set[str]:
    """Return the members of a message or a reply."""
    return set() if kind is type(None) else set(codec_of(kind).members)


def check(table: dict[str, list[str]], known: Operations, kind: int, args: int) -> None:
    """Compare rows with messages: kind, members, and members of the reply."""
    for op, message in known.items():
        cells = table[op]
        assert cells[kind] == kind_of(message), op
        assert listed(cells[args]) == members(message), op
        if issubclass(message, Call):
            assert listed(cells[args + 1]) == members(message.reply), op
            assert bool(codec_of(message).bodies) == ("batch" in cells[args] or "record as it was" in cells[args]), op


def listed(cell: str) -> set[str]:
    """Return the members that a cell describes: each of its parts starts with one or more."""
    parts = [re.match(r"(?:any of )?((?:`\w+`(?:, | and )?)*)", part) for part in cell.split(" \u00b7 ")]
    return {name for part in parts if part is not None for name in re.findall(r"`(\w+)`", part[1])}


@pytest.mark.parametrize(
    ("title", "known"),
    [("Runtime to stage", TO_STAGE.all()), ("Stage to runtime", FROM_STAGE.all())],
    ids=["to", "from"],
)
def test_operations_of_a_stage_are_documented_and_no_others(title: str, known: Operations) -> None:
    """A table row per operation, and an operation per table row: its kind and its members."""
    table = rows(title)
    assert table.keys() == known.keys()
    check(table, known, 0, 1)


def test_operations_of_the_task_link_are_documented_and_no_others() -> None:
    """The link is the same protocol with its own operations, and its table has their directions."""
    table = rows("The task link")
    assert table.keys() == TO_HOST.keys() | TO_TASK.keys()
    check(table, TO_HOST, 1, 2)
    check(table, TO_TASK, 1, 2)
    ways = {"task to host": (True, False), "host to task": (False, True), "both ways": (True, True)}
    assert {op: ways[cells[0]] for op, cells in table.items()} == {op: (op in TO_HOST, op in TO_TASK) for op in table}


def test_every_declared_message_is_an_operation() -> None:
    """One without a list would be unknown to its receiver."""
    modules = (
        connector_call, conversion_call, extension_call, link_call, log_call, offset_call, operation, plugin_call,
        policy_call, provider_call, task_call, token_call, transformation_call,
    )  # fmt: skip
    declared = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Message) and kind.__module__ == module.__name__
    }
    assert declared == {
        kind for known in (TO_STAGE.all(), FROM_STAGE.all(), TO_HOST, TO_TASK) for kind in known.values()
    }


def test_members_that_may_be_left_out_of_a_message_are_named() -> None:
    """A default other than null and false is in the list; every list of a reply has one."""
    kinds: list[Any] = [*TO_STAGE.all().values(), *FROM_STAGE.all().values(), Group, WantedPlugin, Step]
    left_out = {
        field.name
        for kind in kinds
        for field in dataclasses.fields(kind)
        if field.default_factory is not dataclasses.MISSING
        or all(field.default is not each for each in (None, False, dataclasses.MISSING))
    }
    documented = re.findall(r"`(\w+)`", prose("5. Start").split("The default is")[1].split("always there")[0])
    assert left_out | {"mask", "headers"} == set(documented)


def test_every_operation_of_a_stage_has_a_handler() -> None:
    """By plugin calls, on the reading thread, or by a part of the program."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        program = Program(theirs)
        main = program.main
        served = {*main.handlers(), *main.of_worker().handlers(), AskMetrics, AskStacks, SetLevels, Stopping, SkipPuts}
    assert served == {kind for kind in TO_STAGE.all().values() if not issubclass(kind, PluginCall)}


def test_answer_to_hello_is_documented() -> None:
    """The answer to a task's first message, member by member."""
    registration = task_link._Registration(task_plan("source"), 1, False, "token")
    (answer,) = re.findall(r"^\| `hello` .*\|([^|]*)\|$", section("The task link"), flags=re.MULTILINE)
    assert set(re.findall(r"(?:^|· )`(\w+)`", answer.strip())) == members(type(registration.welcome()))


def test_columns_and_attributes_of_a_batch_are_documented() -> None:
    """Every column and every member of a batch's metadata has a row."""
    import json

    import pyarrow as pa

    from hearth_api.batch import Batch

    data = pa.RecordBatch.from_arrays([pa.array(["a"])], names=["value"])
    metadata = json.loads(Batch("t", None, None, data).to_arrow().schema.metadata[b"hearth"])
    columns = set(re.findall(r"^ *- `(\w+)`|`(\w+)`(?= int)", Batch.__doc__ or "", flags=re.MULTILINE))
    names = {name for pair in columns for name in pair if name} | {"key", "value"}
    assert documented("4. Record batches") == set(metadata) | names


def test_numbers_on_the_page_are_those_of_the_programs() -> None:
    """The prose repeats version, limits and deadlines."""
    assert f"version {frame.PROTOCOL_VERSION}\n" in TEXT
    assert frame.MAX_FRAME == 2**31
    assert "less than 2^31" in prose("2. Frames")
    assert f"{frame.BUFFER_BYTES >> 20} MiB" in prose("1. Connection")
    assert f"A line is cut to {output.LINE_BYTES >> 10} KiB" in prose("1. Connection")
    assert f"a log record's line to {output.LOG_LINE_BYTES >> 10} KiB" in prose("1. Connection")
    limits = f"{log_budget.BURST_BYTES >> 20} MiB at once and {log_budget.BYTES_A_SECOND >> 10} KiB"
    assert limits in prose("1. Connection")
    assert f"last {output.KEPT_LINES} lines" in prose("1. Connection")
    assert f"less than {stage_connection.FRAME_BYTES >> 30} GiB from" in prose("2. Frames")
    assert f"less than {FRAME_BYTES >> 20} MiB where" in prose("2. Frames")
    assert f"`message` is cut to {failure.MESSAGE_CHARACTERS:,} characters" in prose("3. Messages")
    assert f"`trace` to {failure.TRACE_CHARACTERS:,}" in prose("3. Messages")
    assert f"no longer than {program.END_SECONDS} seconds" in prose("9. Life cycles")
    assert f"not answered within {MUTE_SECONDS:g} seconds" in prose("9. Life cycles")
    assert f"longer than {task_link.GREETING_BYTES >> 10} KiB" in prose("11. The task link")

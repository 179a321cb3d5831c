"""A sink's task that receives rows, in a real stage, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from hearth.datasource.data_source_error import DataSourceFailed, instructive
from hearth.datasource.dead_letter_file import DeadLetterFile
from hearth.datasource.option import Options
from hearth.datasource.planning import Planned, planned
from hearth.datasource.row_form import RowForm, first_offset
from hearth.datasource.written_task import NotTaken, RetryBudget, RowsRequestedAgain, WrittenTask
from hearth.discovery import PluginType
from hearth.staging.tolerance import ToleranceExceeded
from tests.bundles.build import plugin_path
from tests.integration.datasource.writing import UPSERT, kept

RECORDER, REPORTING = "recorder.RecorderSinkConnector", "recorder.ReportingSinkConnector"
TABLE = spark.StructType([spark.StructField("value", spark.StringType())])
AT_ONCE = RetryBudget(retry=5.0, flush=0.0, keys=("flush.size",))


@pytest.fixture(scope="module")
def bundles() -> Path:
    """Provide a plugin.path with the recorder."""
    return plugin_path("recorder")


@pytest.fixture
def start_task(bundles: Path, tmp_path: Path) -> Iterator[Callable[..., WrittenTask]]:
    """Provide a function that starts a task of a sink with options; dots are two underscores."""
    tasks: list[WrittenTask] = []

    def task(connector: str = RECORDER, has_letters: bool = False, **options: str) -> WrittenTask:
        known = plan(bundles, connector, tmp_path, **options)
        tasks.append(WrittenTask(known.plans[0], AT_ONCE, has_letters=has_letters))
        return tasks[-1]

    yield task
    for each in tasks:
        each.close()


def plan(bundles: Path, connector: str, folder: Path, **options: str) -> Planned:
    """Return the plan of a sink."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    every = {"connector.class": connector, "plugin.path": str(bundles), "journal": str(folder / "journal"), **given}
    return planned(Options.parse(every), PluginType.SINK)


def rows(*values: str | None) -> pa.RecordBatch:
    """Return rows as Spark passes them."""
    return pa.RecordBatch.from_arrays([pa.array(values, pa.string())], names=["value"])


def write(task: WrittenTask, *values: str | None, partition: int = 0, batch: int = 0, **more: Any) -> int:
    """Write rows of a partition of a batch."""
    form = RowForm.of(TABLE, "t", "typed")
    return task.write([rows(*values)], form, partition, batch, more.get("letters"))


def journal(folder: Path, *calls: str) -> list[Any]:
    """Return the journal of a task, limited to some calls."""
    lines = [json.loads(line) for line in (folder / "journal").read_text().splitlines()]
    return [each for each in lines if each["call"] in calls]


def test_a_replay_has_the_same_records(start_task: Callable[..., WrittenTask], tmp_path: Path) -> None:
    """From any writer: a sink that keys by topic, partition and offset has each row once."""
    with closing(start_task()) as first:
        assert write(first, "a", "b", batch=3, partition=2) == 2
    other = start_task()
    write(other, "a", "b", batch=3, partition=2)
    base = first_offset(3)
    expected = [["t", 2, base, "a"], ["t", 2, base + 1, "b"]]
    assert [each["records"] for each in journal(tmp_path, "put")] == [expected, expected]
    assert [each["offsets"] for each in journal(tmp_path, "flush")] == [[["t", 2, base + 2]]] * 2


def test_partitions_are_written_one_after_the_other(start_task: Callable[..., WrittenTask], tmp_path: Path) -> None:
    """Each is opened before its first row and closed before the next; the last one when the task stops."""
    with closing(start_task()) as task:
        write(task, "a", partition=0)
        write(task, "b", partition=0, batch=1)
        write(task, "c", partition=1)
    calls = [(each["call"], each.get("partitions")) for each in journal(tmp_path, "open", "close", "stop")]
    assert calls == [
        ("open", [["t", 0]]), ("close", [["t", 0]]), ("open", [["t", 1]]), ("close", [["t", 1]]), ("stop", None),
    ]  # fmt: skip


def test_rows_before_a_requested_offset_are_skipped(tmp_path: Path) -> None:
    """A task that requests offsets after those it has stored skips them, as in Kafka Connect."""
    database = tmp_path / "d.sqlite"
    options = {"databaseFile": str(database), "resumes": "true"}
    known = plan(plugin_path("upsert"), UPSERT, tmp_path, **options)
    for values in (("a", "b"), ("a", "b", "c"), ("a", "b", "c")):
        with closing(WrittenTask(known.plans[0], AT_ONCE, has_letters=False)) as task:
            assert write(task, *values, batch=1) == len(values)
    base = first_offset(1)
    assert [(offset, value, times) for _, _, offset, value, _, times in kept(database)] == [
        (base, "a", 1), (base + 1, "b", 1), (base + 2, "c", 1),
    ]  # fmt: skip


def test_rows_refused_with_a_retriable_error_are_put_again(
    start_task: Callable[..., WrittenTask], tmp_path: Path
) -> None:
    """As often as the task requests it, and before any other rows."""
    write(start_task(retry__at="0", retry__times="2"), *map(str, range(700)))
    outcomes = [(each["outcome"], len(each["records"])) for each in journal(tmp_path, "put")]
    assert outcomes == [("refused", 500), ("refused", 500), ("taken", 500), ("taken", 200)]


def test_rows_refused_for_too_long_fail(bundles: Path, tmp_path: Path) -> None:
    """The error names the rows, and the wait is bounded."""
    known = plan(bundles, RECORDER, tmp_path, **{"retry.at": "0", "retry.times": "1000"})
    task = WrittenTask(known.plans[0], replace(AT_ONCE, retry=0.2), has_letters=False)
    with closing(task), pytest.raises(NotTaken, match="did not accept 1 rows: t-0 from offset 0 to 0"):
        write(task, "a")


def test_a_task_cannot_rewind_to_earlier_rows(start_task: Callable[..., WrittenTask]) -> None:
    """Spark no longer has them; it computes all of them again only when its own task fails."""
    with pytest.raises(RowsRequestedAgain, match="requests t-0 from offset 0 again, but has got it up to 1"):
        write(start_task(rewind__at="0"), "a")


def test_a_sink_that_withholds_rows_fails_with_the_setting(start_task: Callable[..., WrittenTask]) -> None:
    """A batch is complete only when no row of it can be lost."""
    with pytest.raises(DataSourceFailed) as caught, instructive():
        write(start_task(hold__below="1", flush__size="500"), "a", "b")
    last = str(caught.value).splitlines()[-1]
    assert "did not flush all rows at the end of a batch" in last
    assert "t-0 up to 1 of 2" in last
    assert "with flush.size (now 500); or increase hearth.flush.ms" in last


def test_bad_rows_fail_the_write(start_task: Callable[..., WrittenTask]) -> None:
    """The last line names the row, the reason and the remedy."""
    with pytest.raises(DataSourceFailed) as caught, instructive():
        write(start_task(REPORTING, has_letters=True), "data")
    last = str(caught.value).splitlines()[-1]
    assert last.startswith("a row failed: topic 't', partition 0, offset 0")
    assert "bad data" in last
    assert "errors.tolerance=all" in last
    assert "hearth.dead.letters" in last


def test_tolerated_bad_rows_become_dead_letters(start_task: Callable[..., WrittenTask], tmp_path: Path) -> None:
    """Rows that a step rejects, and rows that the task itself reports; a replay replaces them."""
    hoist = {"transforms": "fail", "transforms.fail.type": "org.apache.kafka.connect.transforms.ExtractField$Value"}
    settings = {**hoist, "transforms.fail.field": "x", "errors.tolerance": "all"}
    folder = tmp_path / "letters"
    for _ in range(2):
        task = start_task(
            REPORTING, has_letters=True, **{name.replace(".", "__"): each for name, each in settings.items()}
        )
        letters = DeadLetterFile(str(folder), 1, 0)
        assert write(task, "a", "b", batch=1, letters=letters) == 2
    (file,) = folder.iterdir()
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(each["offset"] - first_offset(1), each["value"], each["stage"]) for each in found] == [
        (0, '"a"', "TRANSFORMATION"), (1, '"b"', "TRANSFORMATION"),
    ]  # fmt: skip
    task = start_task(REPORTING, has_letters=True, errors__tolerance="all")
    letters = DeadLetterFile(str(folder), 1, 0)
    write(task, "data", "copy", "made", batch=1, letters=letters)
    (file,) = folder.iterdir()
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(each["topic"], each["value"], each["message"]) for each in found] == [
        ("t", '"data"', "bad data"), ("t", '"copy"', "copied"), ("made", '"mv"', "made up"),
    ]  # fmt: skip
    task = start_task(RECORDER, has_letters=True)
    write(task, "good", batch=1, letters=DeadLetterFile(str(folder), 1, 0))
    assert not [*folder.iterdir()]


def test_a_converter_reads_bytes(bundles: Path, tmp_path: Path) -> None:
    """As from Kafka: a schema in the message is the record's, and an unreadable message is a bad row."""
    known = plan(bundles, RECORDER, tmp_path, **{"errors.tolerance": "all"})
    text = '{"a": 1}'
    with closing(WrittenTask(known.plans[0], AT_ONCE, has_letters=True)) as task:
        form = RowForm.of(TABLE, "t", "json")
        letters = DeadLetterFile(str(tmp_path / "letters"), 0, 0)
        task.write([rows(text, "no json", None)], form, 0, 0, letters)
    (put,) = journal(tmp_path, "put")
    assert [each[3] for each in put["records"]] == [{"a": 1}, None]
    (letter,) = [json.loads(line) for line in next((tmp_path / "letters").iterdir()).read_text().splitlines()]
    assert (letter["stage"], letter["offset"], letter["value"]) == ("VALUE_CONVERTER", 1, '"no json"')


def test_an_untolerated_failure_in_a_step_fails_before_the_put(
    start_task: Callable[..., WrittenTask], tmp_path: Path
) -> None:
    """A bad row in a batch fails the write, and the task does not receive the batch."""
    extract = "org.apache.kafka.connect.transforms.ExtractField$Value"
    task = start_task(transforms="x", transforms__x__type=extract, transforms__x__field="f")
    with pytest.raises(ToleranceExceeded):
        write(task, "a")
    assert not journal(tmp_path, "put")

"""A batch read without Spark: tasks are planned here, and copies of the reader run them."""

from __future__ import annotations

import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

import hearth.datasource
from hearth.datasource import planning
from hearth.datasource.data_source import HearthDataSource
from hearth.datasource.data_source_error import DataSourceFailed
from hearth.datasource.spark_type import COLUMNS
from hearth.spark.installation import _NEEDED, _OWN
from hearth.staging import source_stage
from tests.unit.datasource.acting_source import acting_plan

VALUE = StructType([StructField("name", StringType()), StructField("more", IntegerType())])
SCHEMA = StructType([StructField("value", VALUE), StructField("source_offset", StringType())])
Read = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Return the options of a source that acts as its configuration says."""

    def planned(tasks: int = 1, name: str = "Connector", **config: str) -> dict[str, str]:
        plans = tuple(acting_plan(tmp_path, number, name, **config) for number in range(tasks))
        monkeypatch.setattr(planning, "planned", lambda *_: SimpleNamespace(plans=plans))
        return {"connector.class": "x"}

    return planned


def read(options: dict[str, str], schema: StructType = SCHEMA) -> list[dict[str, Any]]:
    """Return the rows of a read by a copy of its reader."""
    reader = HearthDataSource(options).reader(schema)
    copy = pickle.loads(pickle.dumps(reader))
    parts = [pickle.loads(pickle.dumps(each)) for each in reader.partitions()]
    return [row for part in parts for batch in copy.read(part) for row in batch.to_pylist()]


def test_read_returns_all_records_and_ends(plan: Callable[..., dict[str, str]]) -> None:
    """Fields are found by their names; what a record lacks is null."""
    rows = read(plan(last="25"))
    assert [row["value"] for row in rows] == [{"name": f"n{number}", "more": None} for number in range(1, 26)]
    assert rows[-1]["source_offset"] == '{"at":25}'


def test_source_that_reports_its_end_ends_the_read_at_once(
    plan: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless somebody says how long; and what it knows before its end is nothing."""
    monkeypatch.setattr(source_stage, "IDLE_MS", 3_600_000)
    assert len(read(plan(last="25", known=""))) == 25
    parts: list[Any] = HearthDataSource({**plan(known=""), "hearth.idle.ms": "7"}).reader(SCHEMA).partitions()
    assert [each.idle for each in parts] == [source_stage.Idle(7)]


def test_each_task_is_a_partition_with_an_optional_limit(plan: Callable[..., dict[str, str]]) -> None:
    """A source without end is, so that its read ends."""
    rows = read({**plan(tasks=2, last="1000000"), "hearth.max.records": "15"})
    assert len(rows) == 30


def test_columns_are_typed_by_the_first_record(plan: Callable[..., dict[str, str]]) -> None:
    """If the user gives no schema."""
    found = HearthDataSource(plan(last="3")).schema()
    assert tuple(found.names) == COLUMNS
    assert found["value"].dataType.simpleString() == "struct<id:int,name:string>"
    assert found["key"].dataType.simpleString() == "string"


def test_probe_polls_only_what_it_needs(plan: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    """Polled records are lost to the read, so a probe polls few and does not wait."""
    stopped = tmp_path / "stopped"
    HearthDataSource(plan(last="1000", step="3", stopped=str(stopped))).schema()
    assert stopped.read_text() == "3"


def test_probe_without_records_is_an_error(plan: Callable[..., dict[str, str]]) -> None:
    """The error has the remedy."""
    with pytest.raises(DataSourceFailed, match=r"(?s)no record within 300 ms.*\.schema"):
        HearthDataSource({**plan(last="0"), "hearth.probe.ms": "300"}).schema()


def test_source_that_acknowledges_is_refused(plan: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    """Neither for a snapshot nor for its columns: who polls it must say what is done."""
    options = plan(name="Acknowledging", last="3", heard=str(tmp_path / "heard"))
    with pytest.raises(DataSourceFailed, match="availableNow"):
        read(options)
    with pytest.raises(DataSourceFailed, match=r"\.schema"):
        HearthDataSource(options).schema()


def test_error_of_a_task_is_in_the_last_line(plan: Callable[..., dict[str, str]]) -> None:
    """In the last line, whatever Spark puts in front of it."""
    with pytest.raises(DataSourceFailed) as raised:
        read(plan(last="30", trap="fail 20"))
    assert "the source is broken" in str(raised.value).splitlines()[-1]


def test_incompatible_column_is_an_error_with_both_types(plan: Callable[..., dict[str, str]]) -> None:
    """And a column that no read has, with those there are."""
    wrong = StructType([StructField("value", StructType([StructField("name", IntegerType())]))])
    with pytest.raises(DataSourceFailed, match=r"value\.name is .*string.* int32"):
        read(plan(last="3"), wrong)
    with pytest.raises(DataSourceFailed, match="no column 'name'"):
        HearthDataSource({}).reader(StructType([StructField("name", StringType())]))


_EVERY_MODULE = """
import importlib, pkgutil, sys
sys.modules["confluent_kafka"] = None
import hearth.datasource as package
for module in pkgutil.iter_modules(package.__path__):
    importlib.import_module(f"{package.__name__}.{module.name}")
"""


_WITH_WHAT_IS_SENT = """
import importlib, sys
present = {*sys.argv[1].split(","), *sys.stdlib_module_names}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in present and not name.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
for name in sys.argv[2:]:
    importlib.import_module(f"hearth.datasource.{name}")
"""
_OF_THE_DRIVER = {"batch_number", "driver_task", "executor_task", "option_name", "planning", "write_planning"}
"""Modules that plan reads and writes, or hear of tasks elsewhere."""


def test_executor_modules_import_only_installed_packages() -> None:
    """An import of anything else fails every read and write on a cluster, as one of `importlib_metadata` did."""
    names = {each.name for each in pkgutil.iter_modules(hearth.datasource.__path__)}
    assert names > _OF_THE_DRIVER
    present = ",".join((*_OWN, *_NEEDED, "pyspark", "py4j", "pyarrow", "numpy"))
    command = [sys.executable, "-c", _WITH_WHAT_IS_SENT, present, *sorted(names - _OF_THE_DRIVER)]
    subprocess.run(command, check=True)


def test_executor_modules_do_not_import_the_kafka_client() -> None:
    """They have what ``hearth.spark.install`` brings and no more: records that fail are named without one as well."""
    subprocess.run([sys.executable, "-c", _EVERY_MODULE], check=True)

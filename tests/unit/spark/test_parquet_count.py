"""Spark counts the rows of Parquet files in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hearth.spark.parquet_count import count_rows
from hearth_api import ConnectError

pytestmark = pytest.mark.slow


def test_rows_are_counted_in_all_directories(tmp_path: Path) -> None:
    """And what Spark cannot read is an error in its words."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        parquet.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / name / "x.parquet")
    assert count_rows(tmp_path) == 6


def test_an_error_of_spark_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here its Java is missing."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    with pytest.raises(ConnectError, match=f"Spark cannot read {tmp_path}: ") as caught:
        count_rows(tmp_path)
    assert "\n" not in str(caught.value)

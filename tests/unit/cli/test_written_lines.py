"""Lines of a text file and of Parquet files are read alike."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from hearth.cli.written_lines import LinesInFile, LinesInParquet


def test_lines_of_a_file_are_complete(tmp_path: Path) -> None:
    """A line that is being written is read with its end."""
    written = LinesInFile(tmp_path / "sink.txt")
    assert (written.end(), written.read(0)) == (0, ([], 0))
    written.path.write_text("one\ntw")
    assert written.read(0) == (["one"], 4)
    written.path.write_text("one\ntwo\n")
    assert written.read(4) == (["two"], 8)
    assert written.end() == 8


def test_lines_of_parquet_files_come_in_the_order_of_names(tmp_path: Path) -> None:
    """Unfinished files, whose names begin with a point, are left out."""
    written = LinesInParquet(tmp_path / "lake")
    assert (written.end(), written.read(0)) == (0, ([], 0))
    folder = written.path / "topics" / "t" / "partition=0"
    folder.mkdir(parents=True)
    for name, lines in (("t+0+0000000002", ["c"]), ("t+0+0000000000", ["a", "b"]), (".half", ["x"])):
        parquet.write_table(pa.table({"id": range(len(lines)), "line": lines}), folder / f"{name}.snappy.parquet")
    assert written.read(1) == (["b", "c"], 3)
    assert written.end() == 3
    assert written.command() == f"duckdb -c \"select * from '{tmp_path}/lake/**/*.parquet'\""

"""Rows of many open files wait on the disk, and come into their files in order."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from hearth_storage.place.local_place import LocalPlace
from hearth_storage.sink import file_writer, storage_sink_task
from tests.unit.plugins.storage.world import committed, local_run, names, order


@pytest.mark.parametrize("direct", [1, 3_000, 1_000_000_000])
def test_rows_that_waited_on_the_disk_are_in_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: int
) -> None:
    """Whether a file's rows are encoded at once, when some have come, or at its end."""
    monkeypatch.setattr(storage_sink_task, "TAIL_SIZE", 2_000)
    monkeypatch.setattr(file_writer, "DIRECT_SIZE", direct)
    monkeypatch.setattr(file_writer, "_MAPPED", 3)
    countries = [f"c{at * at % 17}" if at % 3 else "most" for at in range(2_000)]
    more = {"partitioner_class": "FieldPartitioner", "partition_field_name": "country", "flush_size": "1000"}
    with local_run(tmp_path, True, **more) as run:  # type: ignore[arg-type]
        for start in range(0, 2_000, 50):
            run.put([order(at, countries[at]) for at in range(start, start + 50)])
        assert committed(run, 2_000)
    place = LocalPlace(tmp_path)
    for first in (0, 1_000):
        expected: dict[str, list[int]] = {}
        for at in range(first, first + 1_000):
            expected.setdefault(countries[at], []).append(at)
        for country, rows in expected.items():
            name = f"topics/orders/country={country}/orders+0+{rows[0]:010d}.json"
            assert [orjson.loads(line)["id"] for line in place.read(name).splitlines()] == rows
    assert len(names(place)) == 2 * len(set(countries))


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of files that are complete nor of those that a stop gives up."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(storage_sink_task, "TAIL_SIZE", 1)
    (tmp_path / "temporary").mkdir()
    (tmp_path / "files").mkdir()
    with local_run(tmp_path / "files") as run:
        run.put([order(at) for at in range(7)])
        assert committed(run, 6)
    assert list((tmp_path / "temporary").iterdir()) == []

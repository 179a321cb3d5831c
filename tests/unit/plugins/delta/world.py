"""A lake for each form of the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hearth_api.batch import BatchSinkTask
from tests.unit.plugins.delta.lake import TOPIC, Lake
from tests.unit.plugins.delta.test_round_trip import drawn_records


def put(_kind: type[BatchSinkTask], data: st.DataObject, folder: Path) -> tuple[list[Any], list[Any]]:
    """Return the rows that both forms wrote, and what they reported."""
    records = data.draw(drawn_records(), label="records")
    found = []
    for in_columns in (False, True):
        lake = Lake(folder / str(in_columns))
        with lake.sink(in_columns, auto_evolve="true") as run:
            run.put(records)
            run.pre_commit()
            reported = [(each.kafka_offset, str(error)) for each, error in run.reporter.reported]
        rows = lake.rows(TOPIC) if (folder / str(in_columns) / TOPIC).exists() else []
        found.append([*map(str, rows), *reported])
    return found[0], found[1]

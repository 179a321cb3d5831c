"""The examples in the author API's README work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hearth_api import Struct
from hearth_api.batch import batch_to_source_records
from hearth_api.testing import MemorySourceTaskContext

README = Path(__file__).parents[3] / "host" / "hearth_api" / "README.md"


def ran(words: str) -> dict[str, Any]:
    """Run the code block that contains the words, and return its names."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
    (found,) = [block for block in blocks if words in block]
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(found, str(README), "exec", dont_inherit=True), names)  # the README is trusted
    return names


def test_structs_and_headers() -> None:
    """Its assertions hold."""
    assert isinstance(ran("class Order")["order"], Struct)


def test_a_source_in_columns() -> None:
    """It resumes from its offset, and its batches equal its records."""
    task = ran("class TableTask")["TableTask"]()
    task.initialize(MemorySourceTaskContext(offsets=[({"table": "fruit"}, {"id": 41})]))
    task.start({})
    (batch,) = task.poll_batch()
    first, *_, last = batch_to_source_records(batch)
    assert (first.key, dict(first.value), first.source_offset) == (42, {"id": 42, "fruit": "pear"}, {"id": 42})
    assert first.source_partition == {"table": "fruit"}
    assert last.source_offset == {"id": 1041}
    assert [record.key for record in task.poll()] == [*range(1042, 2042)]

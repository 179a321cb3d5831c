"""A process with a sink task that writes numbers 0, 1, 2, ... each from the record of that offset; it may be killed.

The consumer group knows no offset: whatever the task does not take from the table, it writes again from 0.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping

import hearth_api as api
from hearth_api import SchemaBuilder, SinkRecord, Struct, TopicPartition
from hearth_api.testing import SinkRun
from hearth_delta.delta_sink import DeltaSinkConnector

TOPIC, MOST_PUT = "ledger", 300
_NUMBER = SchemaBuilder.struct().field("n", api.INT64_SCHEMA).build()


def numbers(start: int, end: int) -> list[SinkRecord]:
    """Return the records of a partition between two offsets."""
    return [SinkRecord(TOPIC, 0, None, None, _NUMBER, Struct.of(_NUMBER, {"n": n}), n) for n in range(start, end)]


def write(config: Mapping[str, str], count: int, seed: int) -> None:
    """Write from the offset in the table up to a count; print a line after each put."""
    chance = random.Random(seed)
    place = TopicPartition(TOPIC, 0)
    with SinkRun(DeltaSinkConnector, config, {place}, in_columns=True, seconds=60) as run:
        at = run.tasks[0].context.rewound.get(place, 0)  # type: ignore[attr-defined]
        while at < count:
            end = min(count, at + chance.randint(1, MOST_PUT))
            run.put(numbers(at, end))
            if chance.random() < 0.2:
                run.pre_commit()
            at = end
            print(at, flush=True)
        run.pre_commit()


if __name__ == "__main__":
    write(json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

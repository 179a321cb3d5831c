"""A task in a process of its own that sinks numbered records, commits its offsets to a file, and may be killed."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

from hearth_api import OffsetAndMetadata, RetriableError, SinkTask, TopicPartition
from hearth_api.batch import records_to_batches
from hearth_api.testing import MemorySinkTaskContext
from hearth_execution.load import load_class
from tests.unit.plugins.storage.world import TOPIC, order

COUNTRIES = ("de", "fr", "it", None)


def main() -> None:
    """Sink records from the committed offset up to a count, and end when they are committed."""
    kind, config, ledger, generation, count, seed = json.loads(sys.argv[1])
    offsets = Path(ledger)
    chance = random.Random(seed)
    place = TopicPartition(TOPIC, 0)
    task = load_class(kind)().task_class()()
    context = MemorySinkTaskContext(config, {place})
    task.initialize(context)
    start(task, config)
    task.open({place})
    position = context.rewound.get(place, committed(offsets))
    print("began", flush=True)
    while committed(offsets) < count:
        if position == count:
            time.sleep(0.02)
        until = min(count, position + chance.randint(1, 40))
        records = [order(at, COUNTRIES[at * at % 7 % 4], time=at * 1000) for at in range(position, until)]
        task.put_batch(records_to_batches(records))
        position = until
        found = task.pre_commit({place: OffsetAndMetadata(position)}).get(place)
        if found is not None:
            commit(offsets, generation, found.offset)
        time.sleep(0.002)
    print("done", flush=True)


def start(task: SinkTask, config: dict[str, str]) -> None:
    """Start a task, again while the store does not answer."""
    while True:
        try:
            return task.start(config)
        except RetriableError:
            time.sleep(0.01)


def committed(ledger: Path) -> int:
    """Return the committed offset."""
    return int(json.loads(ledger.read_text())["offset"])


def commit(ledger: Path, generation: int, offset: int) -> None:
    """Commit an offset, unless the group has a newer generation of its member."""
    found = json.loads(ledger.read_text())
    if found["generation"] == generation:
        unfinished = ledger.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps({"generation": generation, "offset": offset}))
        unfinished.replace(ledger)


if __name__ == "__main__":
    main()

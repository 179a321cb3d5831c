"""A ledger of sinks to tables: each of the numbers 0, 1, 2, ... is written from the record of that offset.

The consumer group knows no offset: whatever a task does not take from the tables, it writes again from 0.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

import hearth_api as api
from hearth_api import SchemaBuilder, SinkConnector, SinkRecord, Struct, TopicPartition
from hearth_api.testing import SinkRun
from hearth_execution.load import load_class
from tests.unit.plugins.task_process import running

TOPIC, MOST_PUT = "ledger", 300
_NUMBER = SchemaBuilder.struct().field("n", api.INT64_SCHEMA).build()


def write_with_kills(
    kind: type[SinkConnector], bundle: str, config: Mapping[str, str], kills: int, count: int, *, stops: bool = True
) -> None:
    """Write up to a count by tasks that are killed or, with `stops`, sleep while a successor writes and then go on."""
    name = f"{kind.__module__}:{kind.__name__}"

    def arguments(seed: int) -> list[str]:
        return [name, json.dumps(dict(config)), str(count), str(seed)]

    task = partial(running, __name__, bundles=[bundle])
    chance = random.Random(kills)
    with ExitStack() as sleepers:
        for kill in range(kills):
            with ExitStack() as own:
                process = own.enter_context(task(arguments(kill)))
                assert process.stdout is not None
                assert process.stdout.readline() or process.wait(60) == 0, process.communicate()[1]
                time.sleep(chance.uniform(0, 0.3))
                if stops and kill % 2 == 0:
                    process.send_signal(signal.SIGSTOP)
                    sleepers.push(own.pop_all())
                    sleepers.enter_context(task(arguments(kill + 1000)))
                    time.sleep(chance.uniform(0.5, 1))
                    process.send_signal(signal.SIGCONT)
    with task(arguments(kills)) as last:
        _, errors = last.communicate(timeout=600)
        assert last.returncode == 0, errors


def _numbers(start: int, end: int) -> list[SinkRecord]:
    """Return the records of a partition between two offsets."""
    return [SinkRecord(TOPIC, 0, None, None, _NUMBER, Struct.of(_NUMBER, {"n": n}), n) for n in range(start, end)]


def _write(kind: type[SinkConnector], config: Mapping[str, str], count: int, seed: int) -> None:
    """Write from the offset in the tables up to a count; print a line after each put."""
    chance = random.Random(seed)
    place = TopicPartition(TOPIC, 0)
    with SinkRun(kind, config, {place}, in_columns=True, seconds=60) as run:
        at = run.tasks[0].context.rewound.get(place, 0)  # type: ignore[attr-defined]
        while at < count:
            end = min(count, at + chance.randint(1, MOST_PUT))
            run.put(_numbers(at, end))
            if chance.random() < 0.2:
                run.pre_commit()
            at = end
            print(at, flush=True)
        run.pre_commit()


if __name__ == "__main__":
    _write(load_class(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

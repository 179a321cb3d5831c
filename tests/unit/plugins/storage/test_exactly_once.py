"""Each record is in one file, whatever ends when, whoever still writes, and whatever the store answers."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import obstore
import orjson
import pytest

from hearth_api import ConnectError, SinkConnector, TopicPartition
from hearth_api.testing import SinkRun
from hearth_storage.sink.store_sink import S3SinkConnector
from tests.object_store import StoreServer, make_bucket
from tests.timeouts import eventually
from tests.unit.plugins import task_process
from tests.unit.plugins.storage import ledger_process
from tests.unit.plugins.storage.fault_proxy import failing
from tests.unit.plugins.storage.test_place import s3_store
from tests.unit.plugins.storage.world import TOPIC, committed, order, s3_settings

PLACE = TopicPartition(TOPIC, 0)
FIELD = {"partitioner_class": "FieldPartitioner", "partition_field_name": "country"}
_numbers = itertools.count()


@pytest.fixture
def bucket(s3: StoreServer) -> str:
    """Provide a bucket of the test's own."""
    name = f"once{next(_numbers)}"
    make_bucket(s3, name)
    return name


def contents(server: StoreServer, bucket: str) -> dict[str, list[int]]:
    """Return the numbers of the records in each file."""
    store = s3_store(server, bucket)
    found = [each["path"] for page in obstore.list(store) for each in page]
    return {
        name: [orjson.loads(line)["id"] for line in bytes(obstore.get(store, name).bytes()).splitlines()]
        for name in found
    }


def numbers(files: dict[str, list[int]]) -> list[int]:
    """Return the numbers of all records."""
    return sorted(number for found in files.values() for number in found)


def run_of(url: str, bucket: str, **more: str) -> SinkRun:
    """Return a run of the S3 sink with short pauses."""
    more = {"s3_part_retries": "0", "retry_backoff_ms": "20", **more}
    return SinkRun(S3SinkConnector, s3_settings(url, bucket, **more), [PLACE], in_columns=True)


def test_a_file_whose_answer_was_lost_counts_as_written(s3: StoreServer, bucket: str) -> None:
    """The store has it, so the next attempt is refused, and finds the same offsets."""
    with failing(s3.url, 1) as proxy:
        proxy.kinds = ("cut behind",)
        with run_of(proxy.url, bucket) as run:
            proxy.rate = 0.6
            run.put([order(at) for at in range(30)])
            assert committed(run, 30)
        assert proxy.faults["cut behind"] > 0
    assert numbers(contents(s3, bucket)) == list(range(30))


def test_a_store_that_fails_gets_each_file_in_the_end(s3: StoreServer, bucket: str) -> None:
    """Offsets wait behind it."""
    with failing(s3.url, 2) as proxy, run_of(proxy.url, bucket) as run:
        run.put([order(at) for at in range(3)])
        assert committed(run, 3)
        proxy.rate, proxy.kinds = 1.0, ("500", "503", "cut before")
        run.put([order(at) for at in range(3, 10)])
        assert eventually(lambda: sum(proxy.faults.values()) > 3, 10)
        assert run.pre_commit()[PLACE].offset == 3
        proxy.rate = 0.0
        assert committed(run, 9)
    assert numbers(contents(s3, bucket)) == list(range(9))


@pytest.mark.parametrize("more", [{}, FIELD])
def test_files_without_committed_offset_are_found_again(s3: StoreServer, bucket: str, more: dict[str, str]) -> None:
    """Also if another flush.size makes other files of the same records."""
    countries = ["de", "fr", "de", "it", "fr", "de", "it", "de", "fr", "de"]
    records = [order(at, country) for at, country in enumerate(countries)]
    with run_of(s3.url, bucket, flush_size="4", **more) as run:
        run.put(records)
        assert committed(run, 8)
    before = contents(s3, bucket)
    for size in ("4", "3", "5", "10"):
        with run_of(s3.url, bucket, flush_size=size, **more) as run:
            run.put(records)
            assert committed(run, len(records) // int(size) * int(size))
        files = contents(s3, bucket)
        assert {name: files[name] for name in before} == before
        assert len(numbers(files)) == len(set(numbers(files)))
    assert numbers(contents(s3, bucket)) == list(range(10))


def test_a_file_of_another_task_is_not_replaced(s3: StoreServer, bucket: str) -> None:
    """The task fails; when it starts again, it goes on behind the file."""
    with run_of(s3.url, bucket, flush_size="2") as run:
        run.put([order(0), order(1)])
        assert committed(run, 2)
        with run_of(s3.url, bucket, flush_size="5") as other:
            other.put([order(at) for at in range(2, 7)])
            assert committed(other, 7)
        run.put([order(2), order(3)])
        with pytest.raises(ConnectError, match="exists with offsets up to 6, this task has them up to 3"):
            eventually(lambda: bool(run.pre_commit() and False), 10)
    with run_of(s3.url, bucket, flush_size="2") as run:
        run.put([order(at) for at in range(2, 10)])
        assert committed(run, 10)
    assert numbers(contents(s3, bucket)) == list(range(10))


def running(
    kind: type[SinkConnector], config: dict[str, str], ledger: Path, count: int, seed: int
) -> AbstractContextManager[subprocess.Popen[str]]:
    """Run a task in a process, of a new generation."""
    found = json.loads(ledger.read_text())
    generation = found["generation"] + 1
    ledger.write_text(json.dumps({**found, "generation": generation}))
    name = f"{kind.__module__}:{kind.__name__}"
    arguments = json.dumps([name, config, str(ledger), generation, count, seed])
    return task_process.running(ledger_process.__name__, [arguments], ("storage", "json", "registry"))


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, FIELD, {"rotate_schedule_interval_ms": "700", "timezone": "UTC", **FIELD}])
def test_a_ledger_of_kills_zombies_and_faults_has_no_gap_and_no_double(
    s3: StoreServer, bucket: str, tmp_path: Path, more: dict[str, str], request: pytest.FixtureRequest
) -> None:
    """Tasks are killed, or stopped while another takes over and continued then; the store fails one time in five.

    The names are those of an undisturbed run, unless the clock ends files.
    """
    rounds, count = (40, 37 * 500) if request.config.getoption("--long", default=False) else (3, 37 * 30)
    chance = random.Random(7)
    ledger = tmp_path / "ledger"
    ledger.write_text(json.dumps({"generation": 0, "offset": 0}))
    with failing(s3.url, 7) as proxy:
        proxy.rate = 0.2
        fast = {"flush_size": "37", "s3_part_retries": "1", "retry_backoff_ms": "10", "s3_retry_backoff_ms": "5"}
        config = s3_settings(proxy.url, bucket, **fast, **more)
        zombies: list[Any] = []
        for seed in range(rounds):
            context = running(S3SinkConnector, config, ledger, count, seed)
            process = context.__enter__()
            zombies.append(context)
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0.1, 0.6))
            process.send_signal(chance.choice((signal.SIGKILL, signal.SIGSTOP)))
            if chance.random() < 0.5 and len(zombies) > 1:
                let_go_on(zombies[-2])
        while True:
            with running(S3SinkConnector, config, ledger, count, 99) as last:
                assert last.stdout is not None
                assert last.stdout.readline() == "began\n", last.communicate()[1]
                for each in zombies:
                    let_go_on(each)
                if last.stdout.readline() == "done\n":
                    break
                error = last.communicate()[1]
                assert "another task writes there" in error or "exists with offsets" in error, error
        for each in zombies:
            each.__exit__(None, None, None)
        assert sum(proxy.faults.values()) > 10
    files = contents(s3, bucket)
    end = ledger_process.committed(ledger)
    assert numbers(files)[:end] == list(range(end))
    assert len(numbers(files)) == len(set(numbers(files)))
    if "timezone" not in more:
        make_bucket(s3, f"{bucket}-calm")
        calm = tmp_path / "calm"
        calm.write_text(json.dumps({"generation": 0, "offset": 0}))
        with running(
            S3SinkConnector, {**config, "store.url": s3.url, "s3.bucket.name": f"{bucket}-calm"}, calm, count, 1
        ) as process:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == ["began\n", "done\n"]
        assert contents(s3, f"{bucket}-calm") == files


def let_go_on(context: Any) -> None:
    """Let a stopped process go on, as a zombie."""
    process = next(each for each in context.gen.gi_frame.f_locals.values() if isinstance(each, subprocess.Popen))
    process.send_signal(signal.SIGCONT)

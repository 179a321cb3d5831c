"""The HDFS sinks on a real name node and data node: names, kills, zombies, and directories of Java's tasks."""

from __future__ import annotations

import itertools
import json
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from hearth_api import ConnectError, SinkConnector, TopicPartition
from hearth_api.testing import SinkRun
from hearth_storage.place.hdfs_place import HdfsPlace
from hearth_storage.sink.offset_log import BEGIN, END
from hearth_storage.sink.store_sink import Hdfs3SinkConnector, HdfsSinkConnector
from tests.hdfs_cluster import HdfsCluster
from tests.java_hdfs_log import JavaLog, file_system, read_log
from tests.timeouts import eventually
from tests.unit.plugins.storage import ledger_process
from tests.unit.plugins.storage.test_exactly_once import let_go_on, running
from tests.unit.plugins.storage.world import TOPIC, committed, keys, order, record

pytestmark = pytest.mark.slow
PLACE = TopicPartition(TOPIC, 0)
BY_COUNTRY = {
    "partitioner_class": "io.confluent.connect.hdfs.partitioner.FieldPartitioner",
    "partition_field_name": "country",
}
COUNTRIES = ("de", "fr", "it")
LOG = "logs/orders/0/log"
_numbers = itertools.count()


@pytest.fixture
def directory(hdfs: HdfsCluster) -> str:
    """Provide a directory that is not there."""
    return f"{hdfs.url}/sink{next(_numbers)}"


def settings(directory: str, **more: str) -> dict[str, str]:
    """Return a configuration with JSON files of three records; a keyword stands for a key with points."""
    kind = "io.confluent.connect.hdfs.json.JsonFormat"
    given = {"name": "copy", "store.url": directory, "flush.size": "3", "format.class": kind, "retry.backoff.ms": "20"}
    return {**given, "filename.offset.zero.pad.width": "2", **keys(more)}


def run_of(directory: str, **more: str) -> SinkRun:
    """Return a run of the sink."""
    return SinkRun(HdfsSinkConnector, settings(directory, **more), [PLACE], seconds=60, in_columns=True)


def orders(start: int, end: int) -> list[Any]:
    """Return records with the offsets of a range, of countries in turn."""
    return [order(at, COUNTRIES[at % 3]) for at in range(start, end)]


def files(directory: str) -> dict[str, list[int]]:
    """Return the numbers of the records in each file that readers see."""
    place = HdfsPlace(directory)
    found = [entry.name for page in place.list("topics/") for entry in page]
    return {name: [orjson.loads(line)["id"] for line in place.read(name).splitlines()] for name in found}


def numbers(directory: str) -> list[int]:
    """Return the numbers of all records."""
    return sorted(number for found in files(directory).values() for number in found)


def start_of(run: SinkRun) -> int | None:
    """Return the offset that the task asked for."""
    return run.tasks[0].context.rewound.get(PLACE)  # type: ignore[attr-defined,no-any-return]


def place_of(run: SinkRun) -> HdfsPlace:
    """Return the place of a task."""
    return run.tasks[0]._place  # type: ignore[attr-defined,no-any-return]


def failure(run: SinkRun, records: list[Any]) -> str:
    """Return what a task fails of that gets records."""

    def attempt() -> None:
        run.put(records)
        eventually(lambda: bool(run.pre_commit() and False), 20)

    with pytest.raises(ConnectError) as caught:
        attempt()
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "more", "extension"),
    [
        (HdfsSinkConnector, {"format.class": "io.confluent.connect.hdfs.parquet.ParquetFormat"}, "parquet"),
        (HdfsSinkConnector, {"hdfs.url": "", "format.class": "io.confluent.connect.hdfs.string.StringFormat"}, "txt"),
        (Hdfs3SinkConnector, {"storage.class": "io.confluent.connect.hdfs3.storage.HdfsStorage"}, "avro"),
    ],
)
def test_files_have_the_names_of_java(
    directory: str, kind: type[SinkConnector], more: dict[str, str], extension: str
) -> None:
    """The configurations of the quick starts, unchanged; the address by its older key."""
    config = {"name": "hdfs-sink", "hdfs.url": directory, "flush.size": "3", **more}
    if not config["hdfs.url"]:
        config["store.url"] = directory
    assert [value for value in kind().validate(config).values if value.error_messages] == []
    with SinkRun(kind, config, [PLACE], seconds=60, in_columns=True) as run:
        run.put(orders(0, 7))
        assert committed(run, 6)
    found = HdfsPlace(directory).all_files("topics")
    assert sorted(found) == [
        f"topics/orders/partition=0/orders+0+0000000000+0000000002.{extension}",
        f"topics/orders/partition=0/orders+0+0000000003+0000000005.{extension}",
    ]


def test_directories_of_topics_and_logs_follow_from_the_topic(directory: str) -> None:
    """By topic.capture.groups.regex."""
    more = {"topics_dir": "t/${1}", "logs_dir": "l/${1}", "topic_capture_groups_regex": "(or).*"}
    with run_of(directory, **more) as run:
        run.put(orders(0, 3))
        assert committed(run, 3)
    assert sorted(HdfsPlace(directory).all_files("t")) == ["t/or/orders/partition=0/orders+0+00+02.json"]
    assert HdfsPlace(directory).all_files("l") == ["l/or/orders/0/log"]


def test_a_topic_that_a_transformation_renamed_is_refused(directory: str) -> None:
    """Its offsets would mix with those of the other topic's files."""
    renamed = record(0, None, {"id": 1}, topic="other", original_topic=TOPIC, original_kafka_partition=0)
    with run_of(directory) as run, pytest.raises(ConnectError, match="a transformation renamed topic orders to other"):
        run.put([renamed])


@pytest.mark.parametrize("more", [{}, BY_COUNTRY])
@pytest.mark.parametrize("has_log", [True, False])
def test_a_task_goes_on_behind_the_files(directory: str, more: dict[str, str], has_log: bool) -> None:
    """Whatever its group has committed, with other limits of files than before, and if somebody deleted the logs."""
    begins, end = [], 0
    for size in (4, 3, 5):
        with run_of(directory, flush_size=str(size), **more) as run:
            begins.append(start_of(run))
            run.put(orders(end, end + 2 * size + 1))
            end += 2 * size
            assert committed(run, end)
        if not has_log:
            HdfsPlace(directory).delete_directory("logs")
    assert begins == [None, 8, 14]
    assert numbers(directory) == list(range(24))


class Hold:
    """Stops a task at a call of a method of its place, until it is let go."""

    def __init__(self, place: HdfsPlace, method: str, call: int) -> None:
        self._real, self._calls, self._call = getattr(place, method), itertools.count(), call
        self._arrived, self._go_on = threading.Event(), threading.Event()
        setattr(place, method, self._wait)

    def wait(self) -> None:
        """Wait until the task stands still."""
        assert self._arrived.wait(60)

    def let_go(self) -> None:
        """Let the task go on."""
        self._go_on.set()

    def _wait(self, *args: Any, **more: Any) -> Any:
        if next(self._calls) == self._call:
            self._arrived.set()
            assert self._go_on.wait(60)
        return self._real(*args, **more)


STEPS = [("write", 0), ("write", 2), ("write", 3), ("replace", 0), ("rename", 0), ("rename", 2)]
"""Steps of a group of three files: their temporary files, the log, its renaming, their renaming."""


@pytest.mark.parametrize(("method", "call"), STEPS)
def test_a_task_that_stands_still_changes_nothing_once_it_is_replaced(directory: str, method: str, call: int) -> None:
    """Its successor finishes the commit or does it again, and each record is in one file."""
    end = 3 if method == "rename" else 0
    with run_of(directory, **BY_COUNTRY) as zombie:
        hold = Hold(place_of(zombie), method, call)
        zombie.put(orders(0, 4))
        hold.wait()
        with run_of(directory, flush_size="5", **BY_COUNTRY) as run:
            assert start_of(run) == (end or None)
            run.put(orders(end, end + 6))
            assert committed(run, end + 5)
            before = files(directory)
            hold.let_go()
            assert failure(zombie, orders(4, 7)) == "another task writes the files of orders-0 now"
            assert files(directory) == before
            run.put(orders(end + 6, end + 11))
            assert committed(run, end + 10)
    assert numbers(directory) == list(range(end + 10))


def java_file(directory: str, name: str, *ids: int) -> None:
    """Write a file as a Java task does."""
    HdfsPlace(directory).put(name, b"".join(b'{"id":%d}\n' % each for each in ids))


def test_a_directory_of_a_killed_java_task_is_taken_over(hdfs: HdfsCluster, directory: str) -> None:
    """Its log is open, a commit is half done, the next one has no end: the first is finished, the other forgotten."""
    names = {f"topics/orders/country={each}/orders+0+{at}+{at}.json": at for each, at in (("de", "03"), ("fr", "04"))}
    log = JavaLog(hdfs, f"{directory}/{LOG}")
    java_file(directory, "topics/orders/partition=0/orders+0+00+02.json", 0, 1, 2)
    log.append(BEGIN)
    for name, at in names.items():
        log.append(f"{directory}/topics//+tmp/orders/country=x/{at}_tmp.json", f"{directory}/{name}")
    log.append(END)
    java_file(directory, "topics/orders/country=de/orders+0+03+03.json", 3)
    java_file(directory, "topics/+tmp/orders/country=x/04_tmp.json", 4)
    log.append(BEGIN)
    log.append(
        f"{directory}/topics//+tmp/orders/country=x/05_tmp.json", f"{directory}/topics/orders/orders+0+05+05.json"
    )
    java_file(directory, "topics/+tmp/orders/country=x/05_tmp.json", 5)
    with run_of(directory, **BY_COUNTRY) as run:
        assert start_of(run) == 5
        run.put(orders(5, 9))
        assert committed(run, 8)
    assert numbers(directory) == list(range(8))


def test_a_log_with_marks_of_java_is_read(hdfs: HdfsCluster, directory: str) -> None:
    """Java writes one every 2,000 bytes."""
    log = JavaLog(hdfs, f"{directory}/{LOG}")
    for at in range(30):
        name = f"topics/orders/partition=0/orders+0+{at}+{at}.json"
        for each in ((BEGIN,), (f"{directory}/{at}_tmp", f"{directory}/{name}"), (END,)):
            log.append(*each)
    log.close()
    with run_of(directory) as run:
        assert start_of(run) == 30


@pytest.mark.parametrize(
    ("log", "old", "begin"),
    [(None, 7, 8), (b"", 7, 8), (b"WAL\0" + bytes(16), 7, 8), (b"WAL\0" + bytes(19), 7, 3), (None, None, 3)],
)
def test_the_log_before_it_and_the_names_of_files_tell_the_offset(
    hdfs: HdfsCluster, directory: str, log: bytes | None, old: int | None, begin: int
) -> None:
    """Java's order: a log without commit defers to the one before it, one that cannot be read to the names."""
    java_file(directory, "topics/orders/_region=de/orders+0+00+02.json", 0, 1, 2)
    java_file(directory, "topics/orders/partition=1/orders+1+00+90.json")
    if log is not None:
        HdfsPlace(directory).put(LOG, log)
    if old is not None:
        before = JavaLog(hdfs, f"{directory}/{LOG}.1")
        for each in ((BEGIN,), (f"{directory}/x_tmp", f"{directory}/topics/orders/orders+0+3+{old}.json"), (END,)):
            before.append(*each)
        before.close()
    with run_of(directory) as run:
        assert start_of(run) == begin


def test_a_log_of_another_address_is_refused(hdfs: HdfsCluster, directory: str) -> None:
    """Its files are not below this one, and would be missed."""
    log = JavaLog(hdfs, f"{directory}/{LOG}")
    for each in ((BEGIN,), ("hdfs://other:1/a_tmp", "hdfs://other:1/topics/orders/orders+0+0+3.json"), (END,)):
        log.append(*each)
    log.close()
    with pytest.raises(ConnectError, match="the log names hdfs://other:1/a_tmp, which is not below"):
        run_of(directory).__enter__()


def test_java_takes_a_directory_back(hdfs: HdfsCluster, directory: str) -> None:
    """Also from a task that ended within a commit: by Java's rule, with the names and addresses of the log."""
    with run_of(directory, **BY_COUNTRY) as run:
        run.put(orders(0, 3))
        assert committed(run, 3)
        hold = Hold(place_of(run), "rename", 1)
        run.put(orders(3, 6))
        hold.wait()
        records = list(read_log(hdfs, f"{directory}/{LOG}"))
        assert [records[0], records[-1]] == [(BEGIN, ""), (END, "")]
        java, path = file_system(hdfs), hdfs.jvm.org.apache.hadoop.fs.Path
        done = [java.exists(path(name)) for _, name in records[1:-1]]
        assert sorted(done) == [False, False, True]
        for temporary, name in records[1:-1]:
            if not java.exists(path(name)):
                assert java.rename(path(temporary), path(name))
        java.close()
        hold.let_go()
    assert sorted(int(name.rpartition("+")[2].removesuffix(".json")) for _, name in records[1:-1]) == [3, 4, 5]
    assert numbers(directory) == list(range(6))


def test_temporary_files_go_with_their_task(directory: str) -> None:
    """Those of a task that stops, and those that a killed one left."""
    place = HdfsPlace(directory)
    place.put("topics/+tmp/orders/0/dead/1_tmp.json", b"left")
    with run_of(directory) as run:
        run.put(orders(0, 4))
        assert committed(run, 3)
    assert place.all_files("topics/+tmp") == []


def test_a_ledger_of_kills_and_zombies_has_no_gap_and_no_double(
    directory: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Tasks are killed, or stopped while another takes over and continued then; the names are those of a calm run."""
    rounds, count = (40, 37 * 500) if request.config.getoption("--long", default=False) else (3, 37 * 20)
    chance, ledger, zombies = random.Random(7), tmp_path / "ledger", list[Any]()
    config = settings(directory, flush_size="37", filename_offset_zero_pad_width="8", **BY_COUNTRY)
    ledger.write_text(json.dumps({"generation": 0, "offset": 0}))
    for seed in range(rounds):
        context = running(HdfsSinkConnector, config, ledger, count, seed)
        process = context.__enter__()
        zombies.append(context)
        assert process.stdout is not None
        assert process.stdout.readline() == "began\n"
        time.sleep(chance.uniform(0.1, 0.6))
        process.send_signal(chance.choice((signal.SIGKILL, signal.SIGSTOP)))
        if chance.random() < 0.5 and len(zombies) > 1:
            let_go_on(zombies[-2])
    with running(HdfsSinkConnector, config, ledger, count, 99) as last:
        assert last.stdout is not None
        assert last.stdout.readline() == "began\n"
        for each in zombies:
            let_go_on(each)
        assert last.stdout.readline() == "done\n", last.communicate()[1]
    for each in zombies:
        each.__exit__(None, None, None)
    found = files(directory)
    assert ledger_process.committed(ledger) == count
    assert numbers(directory) == list(range(count))
    ledger.write_text(json.dumps({"generation": 0, "offset": 0}))
    calm = f"{directory}-calm"
    with running(HdfsSinkConnector, {**config, "store.url": calm}, ledger, count, 1) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["began\n", "done\n"]
    assert files(calm) == found

"""Dead letters go back to the topics of their records, each once, whatever interrupts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.kafka.letter_context import StoredLetter
from hearth.kafka.letter_replay import LetterReplay, ReplayFailed, ReplayProgress
from hearth.kafka.topic_range import RawRecord, TopicRange
from hearth_execution.raw_header import RawHeaders
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

TIME = 1_700_000_000_000


def letter(topic: str, number: int, stage: str = "TASK_PUT", partition: int = 0, *own: tuple[str, bytes]) -> Record:
    """Return a letter of a queue."""
    context = {"topic": topic, "partition": str(partition), "offset": str(number), "stage": stage}
    headers = [(f"__connect.errors.{name}", text.encode()) for name, text in context.items()]
    return Record(b"k", str(number).encode(), (*own, *headers), timestamp=TIME + number)


@contextmanager
def replaying(servers: str, queue: str) -> Iterator[LetterReplay]:
    """Open the replay of a queue."""
    group = f"replay-{queue}"
    with TopicRange({"bootstrap.servers": servers, "group.id": group}, queue) as letters:
        yield LetterReplay(letters, {"bootstrap.servers": servers}, group)


def replay(
    servers: str, queue: str, matches: Callable[[StoredLetter], bool] = lambda _: True, most: int | None = None
) -> dict[str, int]:
    """Replay a queue once, and return the counts."""
    with replaying(servers, queue) as run:
        run.send(list(run.replay(matches, most)))
        return vars(run.count)


def read(broker: KafkaBroker, topic: str) -> list[RawRecord]:
    """Return the committed records of a topic, once the brokers have written the ends of its transactions."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"}

    def committed() -> list[RawRecord] | None:
        with (
            TopicRange(settings, topic) as found,
            TopicRange({**settings, "isolation.level": "read_uncommitted"}, topic) as all_,
        ):
            begins = {number: begin for number, (begin, _) in found.bounds.items()}
            return list(found.read(begins)) if found.bounds == all_.bounds else None

    assert eventually(lambda: committed() is not None, TIMEOUT)
    return committed() or []


def values(broker: KafkaBroker, topic: str) -> list[bytes | None]:
    """Return the values of the committed records of a topic."""
    return [each.value for each in read(broker, topic)]


def test_records_return_as_they_were(broker: KafkaBroker, topics: Topics) -> None:
    """Bytes, timestamp, partition and own headers; a counter is added, and nothing is sent twice."""
    topics.create("back", 2)
    topics.create("back-dead")
    sent = [letter("back", 1, "TASK_PUT", 1, ("own", b"x")), letter("back", 2), Record(b"k", b"no context")]
    topics.produce("back-dead", sent)
    assert replay(broker.bootstrap_servers, "back-dead")["replayed"] == 2
    found = {each.value: each for each in read(broker, "back")}
    headers: RawHeaders = [("own", b"x"), ("hearth.replay.count", b"1")]
    assert found[b"1"] == RawRecord("back", 1, 0, TIME + 1, b"k", b"1", headers)
    assert found[b"2"].partition == 0
    count = replay(broker.bootstrap_servers, "back-dead")
    assert (count["replayed"], count["without_context"]) == (0, 1)
    assert len(read(broker, "back")) == 2


def test_what_does_not_match_stays_for_later(broker: KafkaBroker, topics: Topics) -> None:
    """Progress has gaps: what was replayed between is not sent again."""
    topics.create("some")
    topics.create("some-dead")
    topics.produce("some-dead", [letter("some", each, "EVEN" if each % 2 == 0 else "ODD") for each in range(6)])

    def even(found: StoredLetter) -> bool:
        return found.context is not None and found.context.stage == "EVEN"

    assert replay(broker.bootstrap_servers, "some-dead", even, most=2)["replayed"] == 2
    assert replay(broker.bootstrap_servers, "some-dead", even)["replayed"] == 1
    assert replay(broker.bootstrap_servers, "some-dead")["replayed"] == 3
    assert values(broker, "some") == [b"0", b"2", b"4", b"1", b"3", b"5"]
    topics.produce("some-dead", [letter("some", 6)])
    assert replay(broker.bootstrap_servers, "some-dead")["replayed"] == 1


def test_a_record_is_replayed_three_times_at_most(broker: KafkaBroker, topics: Topics) -> None:
    """It is counted by its header."""
    topics.create("often")
    topics.create("often-dead")
    counts = (("hearth.replay.count", b"2"), ("hearth.replay.count", b"3"))
    topics.produce("often-dead", [letter("often", each, "S", 0, own) for each, own in enumerate(counts)])
    count = replay(broker.bootstrap_servers, "often-dead")
    assert (count["replayed"], count["too_often"]) == (1, 1)
    assert ("hearth.replay.count", b"3") in read(broker, "often")[0].headers


def test_a_replay_that_fails_writes_nothing(broker: KafkaBroker, topics: Topics) -> None:
    """One letter is refused by its topic: the transaction is aborted, and the next replay has all again."""
    topics.create("small", settings={"max.message.bytes": "300"})
    topics.create("small-dead")
    topics.produce("small-dead", [letter("small", 1), Record(b"k", b"x" * 1000, letter("small", 2).headers)])
    with pytest.raises(ReplayFailed, match="were not replayed"):
        replay(broker.bootstrap_servers, "small-dead")
    topics.configure("small", {"max.message.bytes": "100000"})
    assert replay(broker.bootstrap_servers, "small-dead")["replayed"] == 2
    assert [len(each or b"") for each in values(broker, "small")] == [1, 1000]


KILLED = """
import os, signal, sys
from hearth.kafka import letter_replay
from tests.integration.kafka.test_letter_replay import replaying

class Dying(letter_replay.Producer):
    commits = 0

    def commit_transaction(self, *arguments):
        self.commits += 1
        if self.commits == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        super().commit_transaction(*arguments)

letter_replay.Producer = Dying
with replaying(sys.argv[1], sys.argv[2]) as run:
    run.send(list(run.replay(lambda _: True)))
"""


def test_a_killed_replay_is_continued_without_loss_or_repetition(broker: KafkaBroker, topics: Topics) -> None:
    """It dies before the commit of its third transaction."""
    topics.create("killed")
    topics.create("killed-dead")
    topics.produce("killed-dead", [letter("killed", each) for each in range(1700)])
    command = [sys.executable, "-c", KILLED, broker.bootstrap_servers, "killed-dead"]
    root = Path(__file__).parents[3]
    path = os.pathsep.join(map(str, (root, root / "host")))
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert replay(broker.bootstrap_servers, "killed-dead")["replayed"] == 700
    assert values(broker, "killed") == [str(each).encode() for each in range(1700)]


def test_progress_is_kept_in_ranges() -> None:
    """And says so when it no longer fits."""
    progress = ReplayProgress.parse(3, "5-7,9")
    assert [each for each in range(12) if progress.has(each)] == [0, 1, 2, 5, 6, 7, 9]
    assert progress.text() == "5-7,9"
    assert ReplayProgress.parse(3, None) == ReplayProgress(3)
    with pytest.raises(ReplayFailed, match="separate runs"):
        ReplayProgress(0, set(range(1, 4001, 2))).text()

"""The ledger: writes numbered lines to a source file and checks continuously that none is lost.

A line's number is its place in the source file, so committed positions and arrived lines can be compared at any time.
The committed positions are read first, then the topic and the sink file: both only grow, so whatever is committed
must be in them.
"""

from __future__ import annotations

import re
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from hearth.storage.file import FileOffsetStore
from tests.profile import crash_lines
from tests.timeouts import TIMEOUT, eventually

_LINE = re.compile(rb"(?P<torn>.*)(?P<number>\d{9}) (?P<check>[0-9a-f]{8})", re.DOTALL)
WIDTH = len("000000000 00000000\n")
_EVERY = 0.025
_LOOK_EVERY = 0.2
_ANSWER_SECONDS = 2.0


def line(number: int) -> bytes:
    """Return a line that contains its number and a mark by which a torn line is detected."""
    text = b"%09d" % number
    return b"%s %08x\n" % (text, zlib.crc32(text))


def number_of(text: bytes) -> tuple[int, bytes]:
    """Return the number of a line without its line end, and the text before the line that is not part of it."""
    if text[:9].isdigit() and text + b"\n" == line(int(text[:9])):
        return int(text[:9]), b""
    match = _LINE.fullmatch(text)
    assert match, f"not a line of the ledger: {text!r}"
    assert line(int(match["number"])) == match["number"] + b" " + match["check"] + b"\n", f"damaged: {text!r}"
    return int(match["number"]), match["torn"]


@dataclass
class Track:
    """The numbers that arrived at one place, in order of arrival.

    A run of a task delivers its lines in order. The next run may start further back, but no further ahead than the
    line after the last one that arrived.
    """

    place: str
    reach: int = 0
    """How many lines arrived without a gap, counted from the first."""
    count: int = 0
    rewinds: int = 0
    faults: list[str] = field(default_factory=list)
    _last: int = -1
    _repeated: int = 0

    @property
    def repeats(self) -> int:
        """Return how many lines arrived again since the last `forgive`."""
        return self.count - self.reach - self._repeated

    def forgive(self) -> None:
        """Restart the count of repeats."""
        self._repeated += self.repeats
        self.rewinds = 0

    def add(self, number: int) -> None:
        """Add the next line."""
        if number > self._last + 1:
            self.faults.append(f"{self.place}: line {number} directly follows line {self._last}")
        if number <= self._last:
            self.rewinds += 1
        self.count += 1
        self._last = number
        self.reach += number == self.reach


class Ledger:
    """The lines written to a source file, and their arrival in the topic and in the sink file."""

    def __init__(self, folder: Path, bootstrap_servers: str, name: str, offsets: Path) -> None:
        """Describe a pipeline of the connectors NAME-source and NAME-sink over the topic NAME."""
        self.source, self.sink = folder / f"{name}.in", folder / f"{name}.out"
        self.written = 0
        self.looks = 0
        self.at_topic, self.at_sink = Track(f"topic {name}"), Track(f"file {name}.out")
        self.torn = 0
        self._name, self.offsets = name, offsets
        self._highest: list[int] = []
        self._sink_at = 0
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._place = TopicPartition(name, 0)
        self._consumer: Any = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": f"connect-{name}-sink",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(name, 0, 0)])
        self.source.touch()

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()

    # Writing --------------------------------------------------------------------------------------------------

    def write(self, count: int = 1) -> int:
        """Append lines and return the number of lines written."""
        with self._writing, self.source.open("ab") as file:
            file.write(b"".join(line(number) for number in range(self.written, self.written + count)))
            self.written += count
            return self.written

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Append lines and compare continuously until the end of the block."""
        stop = threading.Event()
        with _repeating(stop, _EVERY, lambda: self.write(crash_lines())), _repeating(stop, _LOOK_EVERY, self.look):
            yield

    # Looking --------------------------------------------------------------------------------------------------

    def look(self) -> bool:
        """Compare committed positions with the lines that arrived; False when the broker did not respond."""
        with self._lock:
            try:
                position, group = self.committed_position(), self.committed_group()
                self._read_topic()
            except KafkaException:
                return False
            finally:
                self._read_sink()
            self._compare(position, group)
            self.looks += 1
            return True

    def committed_position(self) -> int:
        """Return the position in the source file that the host has stored."""
        stored = FileOffsetStore(self.offsets).get(f"{self._name}-source", [{"filename": str(self.source)}])[0]
        return 0 if stored is None else int(stored["position"])

    def committed_group(self) -> int:
        """Return the offset that the sink's group has committed."""
        offset = int(self._consumer.committed([self._place], timeout=_ANSWER_SECONDS)[0].offset)
        return max(offset, 0)

    def has_arrived(self, number: int) -> bool:
        """Return whether the first ``number`` lines are in the sink file."""
        with self._lock:
            self._read_sink()
            return self.at_sink.reach >= number

    def await_arrival(self, number: int, timeout: float = 60.0) -> None:
        """Wait until the first ``number`` lines are in the sink file."""
        eventually(lambda: self.has_arrived(number), timeout, every=0.02)
        assert self.at_sink.reach >= number, f"line {number} did not arrive in {timeout:g} s: {self}"

    def await_new_line(self, timeout: float = 60.0) -> float:
        """Append a line, and return how many seconds it takes to arrive."""
        started = time.monotonic()
        self.await_arrival(self.write(), timeout)
        return time.monotonic() - started

    # Proving --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Check the lines written so far, and restart the counts of repeated and torn lines."""
        self.prove()
        self.at_topic.forgive()
        self.at_sink.forgive()
        self.torn = 0

    def prove(self, timeout: float = 60.0) -> None:
        """Wait for the remaining lines and prove at-least-once, order, and no position past a gap."""
        self.await_arrival(self.written, timeout)
        assert eventually(self.look, TIMEOUT), f"the broker did not respond: {self}"
        faults = self.at_topic.faults + self.at_sink.faults
        assert not faults, "\n".join([str(self), *faults[:20]])
        assert self.at_topic.reach == self.at_sink.reach == self.written, str(self)

    def prove_exactly_once(self, timeout: float = 60.0) -> None:
        """Prove in addition that no line arrived twice and that all of them are committed soon."""
        self.prove(timeout)
        assert self.at_topic.repeats == self.at_sink.repeats == self.torn == 0, str(self)
        self.prove_all_committed(timeout)

    def prove_all_committed(self, timeout: float = TIMEOUT) -> None:
        """Prove that everything is committed within the timeout."""
        assert eventually(self.is_all_committed, timeout), str(self)

    def is_all_committed(self) -> bool:
        """Return whether a restart now would repeat nothing; False when the broker did not respond."""
        try:
            return (self.committed_position(), self.committed_group()) == (self.written * WIDTH, self.at_topic.count)
        except KafkaException:
            return False

    def __str__(self) -> str:
        """Summarize the lines written and observed."""
        tracks = ", ".join(
            f"{each.place}: {each.reach} ({each.repeats} repeated in {each.rewinds} rewinds)"
            for each in (self.at_topic, self.at_sink)
        )
        return f"{self.written} lines written, {tracks}; {self.torn} torn lines, {self.looks} looks"

    def _compare(self, position: int, group: int) -> None:
        if position > self.at_topic.reach * WIDTH:
            self.at_topic.faults.append(f"position {position} is committed, the topic has {self.at_topic.reach} lines")
        needed = self._highest[group - 1] + 1 if group else 0
        if needed > self.at_sink.reach:
            self.at_sink.faults.append(f"offset {group} is committed, the file has {self.at_sink.reach} lines")

    def _read_topic(self) -> None:
        end = self._consumer.get_watermark_offsets(self._place, timeout=_ANSWER_SECONDS)[1]
        deadline = time.monotonic() + 10 * _ANSWER_SECONDS
        while len(self._highest) < end and time.monotonic() < deadline:
            for message in self._consumer.consume(5000, timeout=0.05):
                if message.error():
                    raise KafkaException(message.error())
                self._take(message)
        if len(self._highest) < end:
            raise KafkaException(f"{self._name} cannot be read to its end")

    def _take(self, message: Any) -> None:
        assert message.offset() == len(self._highest), "the ledger reads every offset once"
        number, torn = number_of(message.value())
        assert not torn, f"damaged in the topic: {message.value()!r}"
        self.at_topic.add(number)
        self._highest.append(max(number, self._highest[-1] if self._highest else 0))

    def _read_sink(self) -> None:
        """Continue reading the sink file; a kill may tear its last line, and the next run appends to it."""
        if not self.sink.exists():
            return
        with self.sink.open("rb") as file:
            file.seek(self._sink_at)
            whole = file.read().rpartition(b"\n")[0]
        for text in whole.splitlines():
            number, torn = number_of(text)
            self.torn += bool(torn)
            self.at_sink.add(number)
        self._sink_at += len(whole) + 1 if whole else 0


@contextmanager
def _repeating(stop: threading.Event, every: float, action: Any) -> Iterator[None]:
    """Call an action at intervals in a thread until the block ends; raise its exception at the end."""
    raised: list[BaseException] = []

    def repeat() -> None:
        try:
            while not stop.wait(every):
                action()
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised.append(error)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if raised:
        raise raised[0]

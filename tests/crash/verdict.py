"""The verdict: whether everything arrived in order, and no offset was committed before its records arrived.

Each look reads the committed offsets first, then the dead letters and the books: those only grow, so whatever is
committed must be in them. Order, owners and repeats are judged at the end, over all books by time.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from tests.crash.arrival import ANSWER_SECONDS, Arrived, Books, Event, Tail, new_consumer

ERRANT_EVERY = 101
"""Every n-th number is bad for a sink that refuses records, as in the bundle ``ledger``."""
_MOST_FAULTS = 5
_MOST_SILENCES = 100

Place = tuple[str, int]


@dataclass
class Verdict:
    """The verdict on the records of a sink or a source."""

    produced: int = 0
    arrived: int = 0
    lost: int = 0
    """Records that are missing although records after them are committed."""
    undelivered: int = 0
    """Records that had not arrived when the test stopped waiting."""
    disorders: int = 0
    """Records that came before one that should have come first."""
    gaps: int = 0
    """Ranges of records that had not arrived when an offset after them was committed."""
    strays: int = 0
    """Records of a partition that the task no longer owned."""
    repeats: int = 0
    repeats_agreed: int = 0
    """How many of them a sink had agreed to commit: those that the host repeats on its own account."""
    rewinds: int = 0
    """How often it went back to repeat records."""
    repeats_due: int = 0
    """Records repeated because a run was killed, or because the sink's flush failed."""
    letters: int = 0
    looks: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Return whether every promise was kept."""
        return not (self.lost or self.undelivered or self.disorders or self.gaps or self.strays or self.faults)

    def fault(self, text: str) -> None:
        """Keep the first faults of each kind (the first word of the text) for the message."""
        kind = text.split(" ", 1)[0]
        if sum(each.startswith(kind) for each in self.faults) < _MOST_FAULTS:
            self.faults.append(text)

    def __str__(self) -> str:
        """Summarize it in one line, with the faults below."""
        line = (
            f"{self.produced} produced, {self.arrived} arrived ({self.letters} dead letters), {self.lost} lost, "
            f"{self.undelivered} undelivered, {self.disorders} out of order, {self.gaps} commits past a gap, "
            f"{self.strays} strays, {self.repeats} repeated in {self.rewinds} rewinds, {self.repeats_agreed} of them "
            f"although the sink had agreed to them (and {self.repeats_due} after kills and failed flushes), "
            f"{self.looks} looks"
        )
        return "\n  ".join([line, *self.faults])


@dataclass
class Pace:
    """The longest intervals without a new record, for each of some places."""

    _last: dict[str, float] = field(default_factory=dict)
    _silences: list[tuple[float, float, str]] = field(default_factory=list)

    def add(self, place: str, moment: float, ahead: int) -> None:
        """Note an arrival at a wall-clock moment; it is new if it is ``ahead`` of the previous ones."""
        if ahead < 0:
            return
        self._silences.append((moment - self._last.get(place, moment), moment, place))
        self._silences = sorted(self._silences, reverse=True)[:_MOST_SILENCES]
        self._last[place] = max(moment, self._last.get(place, moment))

    def longest(self, since: float = 0.0) -> list[tuple[float, float, str]]:
        """Return the longest intervals that ended after a moment: seconds, moment and place of each."""
        return [each for each in self._silences if each[1] >= since]


class SinkJudge:
    """Judges a ledger sink that reads one topic, in which offsets and numbers are equal."""

    def __init__(self, servers: str, connector: str, topic: str, books: Books, letters: str) -> None:
        self.books = books
        self.verdict = Verdict()
        self.silence = ""
        self.partitions = 1
        self.pace = Pace()
        self.arrived: dict[Place, Arrived] = defaultdict(Arrived)
        self._topic = topic
        self._letters = Tail(servers, letters, 1)
        self._known_gaps: set[tuple[int, int]] = set()
        self._lock = threading.RLock()
        self._servers, self._group_id = servers, f"connect-{connector}"
        self._group = new_consumer(self._servers, self._group_id)

    def close(self) -> None:
        """Close the client."""
        self._group.close()
        self._letters.close()

    def look(self) -> bool:
        """Compare committed offsets with the records that arrived; False when the broker did not respond."""
        with self._lock:
            try:
                committed = self.committed()
                self._letters.read(self._take_letter)
            except KafkaException as error:
                self.silence = str(error)
                self._renew()
                return False
            finally:
                self._read_books()
            for number, offset in committed.items():
                self._compare(number, offset)
            self.verdict.looks += 1
            return True

    def _renew(self) -> None:
        self._group.close()
        self._group = new_consumer(self._servers, self._group_id)
        self._letters.renew()

    def committed(self) -> dict[int, int]:
        """Return the group's committed offset in each partition; 0 if there is none."""
        places = [TopicPartition(self._topic, number) for number in range(self.partitions)]
        with self._lock:
            found = self._group.committed(places, timeout=ANSWER_SECONDS)
            return {each.partition: max(0, each.offset) for each in found}

    def has_all(self, produced: dict[int, int]) -> bool:
        """Return whether everything up to these ends has arrived."""
        return all(self.arrived[(self._topic, number)].reach >= end for number, end in produced.items())

    def conclude(self, produced: dict[int, int]) -> Verdict:
        """Judge everything; call it when no record is in flight."""
        verdict, committed = self.verdict, self.committed()
        verdict.produced, verdict.arrived = sum(produced.values()), 0
        for number, end in produced.items():
            found = self.arrived[(self._topic, number)]
            verdict.arrived += found.distinct
            verdict.lost += found.missing(0, min(end, committed[number]))
            verdict.undelivered += found.missing(min(end, committed[number]), end)
            for first, after in found.gaps(end):
                kind = "lost" if first < committed[number] else "undelivered"
                verdict.fault(f"{kind}: {first} to {after - 1} of partition {number}, {committed[number]} committed")
        History(verdict, self._is_errant).judge(self.books.events)
        return verdict

    def _take_letter(self, message: Any) -> None:
        headers = dict(message.headers() or ())
        topic, *numbers = (headers[f"__connect.errors.{name}"].decode() for name in ("topic", "partition", "offset"))
        partition, offset = map(int, numbers)
        text = b"%d" % offset
        if (message.key(), message.value(), headers.get("number")) != (b"%d" % partition, text, text):
            self.verdict.fault(f"damaged dead letter: {message.key()!r} {message.value()!r} {headers!r}")
        self.verdict.letters += 1
        self.arrived[(topic, partition)].add(offset, 1)

    def _read_books(self) -> None:
        for event in self.books.read():
            if event.word == "put":
                place, offset, number, count = event.records()
                if offset != number:
                    self.verdict.fault(f"number {number} came as offset {offset} of {place}")
                self.pace.add(str(place[1]), event.time / 1e9, offset + count - 1 - self.arrived[place].end)
                self.arrived[place].add(offset, count)

    def _compare(self, number: int, offset: int) -> None:
        for first, after in self.arrived[(self._topic, number)].gaps(offset):
            if (number, first) not in self._known_gaps:
                self._known_gaps.add((number, first))
                self.verdict.gaps += 1
                self.verdict.fault(f"gap: {offset} of partition {number} is committed without {first} to {after - 1}")

    def _is_errant(self, number: int) -> bool:
        return self.verdict.letters > 0 and number % ERRANT_EVERY == ERRANT_EVERY - 1


class History:
    """Replays the books of all runs by time: who owned which partition, and in which order records came.

    A run delivers the records of an owned partition in order; it may go back and repeat, but never skips ahead. When
    it starts after an assignment, everything before its first record has arrived.
    """

    def __init__(self, verdict: Verdict, is_errant: Callable[[int], bool]) -> None:
        self._verdict, self._is_errant = verdict, is_errant
        self._owner: dict[Place, str] = {}
        self._given_up: set[Place] = set()
        self._expected: dict[Place, int] = {}
        self._arrived: dict[Place, Arrived] = defaultdict(Arrived)
        self._blamed: dict[Place, Arrived] = defaultdict(Arrived)
        self._due: dict[Place, int] = defaultdict(int)
        self._agreed: dict[Place, int] = defaultdict(int)
        self._kinds = {
            "open": self._open,
            "close": self._close,
            "fail": self._fail,
            "agree": self._agree,
            "put": self._put,
        }

    def judge(self, events: list[Event]) -> None:
        """Add the events to the verdict."""
        for event in sorted(events, key=lambda event: event.time):
            if event.word in self._kinds:
                self._kinds[event.word](event)

    def _open(self, event: Event) -> None:
        for place in event.places():
            if place in self._owner and place not in self._given_up:
                self._due[place] = self._arrived[place].end
            self._owner[place] = event.run
            self._given_up.discard(place)
            self._expected.pop(place, None)

    def _close(self, event: Event) -> None:
        self._given_up |= {place for place in event.places() if self._owner.get(place) == event.run}

    def _fail(self, event: Event) -> None:
        for place, owner in self._owner.items():
            if owner == event.run:
                self._due[place] = self._arrived[place].end

    def _agree(self, event: Event) -> None:
        for place, offset in event.offsets():
            if self._owner.get(place) == event.run:
                self._agreed[place] = max(self._agreed[place], offset)

    def _put(self, event: Event) -> None:
        place, first, _, count = event.records()
        if self._owner.get(place) != event.run or place in self._given_up:
            self._verdict.strays += count
            self._verdict.fault(f"stray: {place} {first} to {first + count - 1} at {event.time} in {event.run}")
            return
        is_back = first < self._expected.get(place, first + 1)
        self._judge_order(event, place, first, count)
        agreed = self._arrived[place].known(first, min(first + count, self._agreed[place]))
        known = self._arrived[place].add(first, count)
        if first < self._due[place]:
            self._verdict.repeats_due += known
        else:
            self._verdict.repeats += known
            self._verdict.repeats_agreed += agreed
            self._verdict.rewinds += is_back and known > 0

    def _judge_order(self, event: Event, place: Place, first: int, count: int) -> None:
        expected = self._expected.get(place)
        self._expected[place] = first + count
        missing = self._missing(place, first) if expected is None else self._skipped(expected, first)
        if missing:
            self._verdict.disorders += count
            where = "its first" if expected is None else f"after {expected - 1}"
            self._verdict.fault(f"disorder: {place} {first} came {where}, at {event.time} in {event.run}")

    def _skipped(self, expected: int, first: int) -> bool:
        return any(not self._is_errant(number) for number in range(expected, first))

    def _missing(self, place: Place, first: int) -> bool:
        """Return whether earlier records are missing for which no other run was blamed."""
        blamed = self._blamed[place]
        gaps = [(start, end) for start, end in self._arrived[place].gaps(first) if blamed.missing(start, end)]
        for start, end in gaps:
            blamed.add(start, end - start)
        return any(not self._is_errant(number) for start, end in gaps for number in range(start, end))


class SourceJudge:
    """Judges a ledger source: partition N of the topic holds the numbers of source partition N."""

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        stored: Callable[[], dict[int, int]],
        isolation: str = "read_uncommitted",
    ) -> None:
        self.verdict = Verdict()
        self.silence = ""
        self.pace = Pace()
        self._tail = Tail(servers, topic, partitions, isolation)
        self._stored = stored
        self._reach: Counter[int] = Counter()
        self._last: dict[tuple[int, str], int] = {}
        self._newest: dict[int, str] = {}
        self._before: dict[tuple[int, str], str] = {}
        self._repeats: Counter[str] = Counter()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the client."""
        self._tail.close()

    def look(self) -> bool:
        """Compare stored positions with the topic; False when the broker did not respond."""
        with self._lock:
            try:
                stored = self._stored()
                self._tail.read(self._take)
            except KafkaException as error:
                self.silence = str(error)
                self._tail.renew()
                return False
            for partition, position in stored.items():
                if position > self._reach[partition]:
                    self.verdict.gaps += 1
                    reach = self._reach[partition]
                    self.verdict.fault(f"gap: position {position} of {partition} is stored, the topic has {reach}")
            self.verdict.looks += 1
            return True

    def reaches(self) -> dict[int, int]:
        """Return how many numbers each partition has without a gap."""
        return dict(self._reach)

    def conclude(self, books: Books) -> Verdict:
        """Judge everything; call it when no record is in flight."""
        books.read()
        ended = {event.run for event in books.events if event.word == "stop"}
        self.verdict.produced = self.verdict.arrived = sum(self._reach.values())
        for run, count in self._repeats.items():
            if any(each.endswith(run) for each in ended):
                self.verdict.repeats += count
                self.verdict.rewinds += count > 0
            else:
                self.verdict.repeats_due += count
        return self.verdict

    def _take(self, message: Any) -> None:
        """Add a number: numbers of a run are consecutive, and a run starts no further ahead than the last arrival."""
        partition = message.partition()
        text, run = message.value().decode().split(" ")
        number = int(text)
        if self._is_stray(partition, run, number):
            return
        self.pace.add(str(partition), message.timestamp()[1] / 1000, number - self._reach[partition])
        expected = self._last.get((partition, run), number - 1) + 1
        if number != expected or number > self._reach[partition]:
            self.verdict.disorders += 1
            place = f"partition {partition}, {expected} expected, {self._reach[partition]} there"
            self.verdict.fault(f"disorder: {number} in {place}: {run}")
        self.verdict.lost += max(0, number - self._reach[partition])
        self._repeats[self._before[partition, run]] += number < self._reach[partition]
        self._reach[partition] = max(self._reach[partition], number + 1)
        self._last[(partition, run)] = number

    def _is_stray(self, partition: int, run: str, number: int) -> bool:
        """Return whether a run sends a number after a newer run started, which then sends all numbers again."""
        newest = self._newest.get(partition, run)
        self._before.setdefault((partition, run), newest)
        self._newest[partition] = max(newest, run)
        if run < newest:
            self.verdict.strays += 1
            self.verdict.fault(f"stray: {number} in partition {partition} of {run}, after {newest} began")
        return run < newest

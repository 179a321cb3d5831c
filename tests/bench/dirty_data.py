"""Real-world messages, with optional members and broken ones among them; equal in every run.

Each kind of message is a generator; each message says whether it arrives, so that a run knows when it is complete.
"""

from __future__ import annotations

import itertools
import json
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

_SEED = 31
_GOOD_EVERY = 5_000  # if all others fail, one message in 5,000 arrives and shows the progress of a run
_EXPONENT = 0.6  # exponent of the sizes' power law: their mean is 3 KB
_LARGEST = 5_000_000
_START = datetime(2026, 1, 1, tzinfo=timezone.utc)
_WORDS = ("Berlin", "Zürich", "San José", "Oslo", "New York", "Lima")


@dataclass(frozen=True)
class Message:
    """A Kafka message, or a line of a file; `arrives` says whether it reaches the output."""

    value: bytes | None
    arrives: bool = True
    headers: Sequence[tuple[str, bytes]] = ()
    key: bytes | None = None


Messages = Callable[[int], Iterator[Message]]
"""Generates that many messages."""


def members(share: float = 1.0) -> Messages:
    """Return objects of eight members, each of which exists with a probability."""

    def made(count: int) -> Iterator[Message]:
        chance = random.Random(_SEED)
        for number in range(count):
            yield Message(_json({name: value for name, value in _eight(number) if chance.random() < share}))

    return made


def sized(size: int, share: int) -> Messages:
    """Return texts of ``size`` bytes: the requested number divided by ``share``, 20 at least."""

    def made(count: int) -> Iterator[Message]:
        for number in range(max(count // share, 20)):
            yield Message(f"{number} ".encode().ljust(size, b"x")[:size])

    return made


def power_law(count: int) -> Iterator[Message]:
    """Make texts of 10 bytes to 5 MB, most of them small, with keys that are null, short or 1 KB long."""
    chance = random.Random(_SEED)
    for number in range(max(count // 10, 20)):
        size = min(int(10 * chance.random() ** (-1 / _EXPONENT)), _LARGEST)
        key = (None, b"k%d" % number, (b"k%d " % number).ljust(1000, b"k"))[number % 3]
        yield Message(f"{number} ".encode().ljust(size, b"x"), key=key)


def nested(count: int) -> Iterator[Message]:
    """Make objects with a list and a map of varying length and a member of varying type."""
    chance = random.Random(_SEED)
    for number in range(count):
        anything = (number, f"text {number}", number / 8, number % 2 == 0, [number], {"n": number}, None)
        value = {
            "id": number,
            "list": [chance.randrange(10_000) for _ in range(chance.randrange(9))],
            "map": {f"k{key}": f"value {number + key}" for key in range(chance.randrange(6))},
            "any": chance.choice(anything),
        }
        yield Message(_json(value))


def shapes(count: int) -> Iterator[Message]:
    """Make objects of 1 to 50 members, in fifty alternating shapes."""
    for number in range(count):
        pairs = ((f"m{place}", number + place if place % 2 else f"text {number}") for place in range(number % 50 + 1))
        yield Message(_json(dict(pairs)))


def enveloped(schemas: int = 1, absent: float = 0.0, null: float = 0.0) -> Messages:
    """Return structs as JSON with alternating schemas; optional members may be absent or null."""

    def made(count: int) -> Iterator[Message]:
        chance = random.Random(_SEED)
        heads = [_schema(more) for more in range(schemas)]
        for number in range(count):
            more = number % schemas
            payload: dict[str, Any] = {"id": number, "name": f"name {number}"}
            for name, value in (("city", _WORDS[number % 6]), ("count", number % 1000), ("price", number / 4)):
                draw = chance.random()
                if draw >= absent:
                    payload[name] = value if draw >= absent + null else None
            payload |= {f"more{place}": number + place for place in range(more)}
            yield Message(b'{"schema":' + heads[more] + b',"payload":' + _json(payload) + b"}")

    return made


def broken(share: float, messages: Messages | None = None) -> Messages:
    """Return objects, a share of which is not JSON; if all are, an occasional good one shows the progress."""

    def made(count: int) -> Iterator[Message]:
        good = (messages or members())(count)
        for number, fails in enumerate(_failing(share, count)):
            message = next(good)
            bad = b"oops %d" % number if number % 2 else (message.value or b"")[:24]
            yield Message(bad, arrives=False) if fails else message

    return made


def numbers(share: float) -> Messages:
    """Return objects, in a share of which the text member `n` is not a number."""

    def made(count: int) -> Iterator[Message]:
        for number, fails in enumerate(_failing(share, count)):
            value = {"id": number, "n": f"no number {number}" if fails else number, "name": f"name {number}"}
            yield Message(_json(value), arrives=not fails)

    return made


def lines(share: float) -> Messages:
    """Return lines with numbers, a share of which are not numbers."""

    def made(count: int) -> Iterator[Message]:
        for number, fails in enumerate(_failing(share, count)):
            yield Message(b"no number %d" % number if fails else b"%d" % number, arrives=not fails)

    return made


def tombstones(share: float, dropped: bool = False) -> Messages:
    """Return objects, a share of which are null; a predicate may drop them."""

    def made(count: int) -> Iterator[Message]:
        for message, is_null in zip(members()(count), _failing(share, count), strict=True):
            yield Message(None, arrives=not dropped) if is_null else message

    return made


def marked(count: int) -> Iterator[Message]:
    """Make objects half of which have the header `drop`."""
    for message, drops in zip(members()(count), _failing(0.5, count), strict=True):
        yield Message(message.value, not drops, [("drop", b"yes")]) if drops else message


def headed(kind: str) -> Messages:
    """Return texts with a header of a kind of value; `mixed` alternates the kinds."""

    def made(count: int) -> Iterator[Message]:
        chance = random.Random(_SEED)
        makers = list(HEADERS.values()) if kind == "mixed" else [HEADERS[kind]]
        for number, make in zip(range(count), itertools.cycle(makers)):
            yield Message(b"the quick brown fox %d" % number, headers=[("h", make(chance, number).encode())])

    return made


HEADERS: dict[str, Callable[[random.Random, int], str]] = {
    "hex": lambda _chance, number: f"{number * 2654435761 % 2**64:016x}",
    "trace": lambda chance, _number: f"{chance.getrandbits(64):016x}",
    "counter": lambda _chance, number: str(number * 37),
    "uuid": lambda chance, _number: str(uuid.UUID(int=chance.getrandbits(128))),
    "date": lambda _chance, number: (_START + timedelta(days=number % 20_000)).strftime("%Y-%m-%d"),
    "time": lambda _chance, number: (_START + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
    "truth": lambda _chance, number: "true" if number % 3 else "false",
    "json": lambda _chance, number: json.dumps({"a": number, "b": [number, str(number)]}),
    "decimal": lambda _chance, number: f"{number / 100:.2f}",
    "nothing": lambda _chance, number: "" if number % 2 else "null",
    "words": lambda _chance, number: f"service-{number % 5}",
}
"""Kinds of header values whose types SimpleHeaderConverter infers one by one."""


def _eight(number: int) -> tuple[tuple[str, Any], ...]:
    return (
        ("id", number),
        ("name", f"name {number}"),
        ("city", _WORDS[number % len(_WORDS)]),
        ("price", number / 4),
        ("active", number % 3 == 0),
        ("note", None if number % 5 == 0 else "a note"),
        ("count", number % 1000),
        ("tag", f"tag-{number % 17}"),
    )


def _schema(more: int) -> bytes:
    kinds = [("int64", "id"), ("string", "name"), ("string", "city"), ("int32", "count"), ("double", "price")]
    kinds += [("int64", f"more{place}") for place in range(more)]
    fields = [{"type": kind, "optional": name not in ("id", "name"), "field": name} for kind, name in kinds]
    return _json({"type": "struct", "fields": fields, "optional": False, "name": "dirty"})


def _failing(share: float, count: int) -> Iterator[bool]:
    """Yield for each record whether it fails; the first and the last never do."""
    chance = random.Random(_SEED)
    for number in range(count):
        fails = chance.random() < share
        yield fails and number % _GOOD_EVERY > 0 and number < count - 1


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

"""Java's answers to the suite's pipelines: a digest of each record, and one of the pipeline."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.peer.fuzz import dirty
from tests.peer.fuzz.agreement import SIZE, digest, java_form
from tests.peer.fuzz.draw import RECORDS, pipeline
from tests.peer.kept import GOLDEN

SEED = 1
COUNT = 21_000 // RECORDS
"""A few records are not compared: a pipeline may end at one that fails, and Java prints objects' addresses."""
DIRTY = 40
"""How many of the pipelines have dirty data."""
PATH = GOLDEN / "pipeline.jsonl"
COMMAND = "python -m tests.peer.fuzz"


def named() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the pipelines of the suite, each with its name for the command `show`."""
    yield from ((f"{number}", pipeline(SEED, number)) for number in range(COUNT))
    yield from ((f"--dirty {number}", dirty.pipeline(SEED, number)) for number in range(DIRTY))


def drawn() -> Iterator[dict[str, Any]]:
    """Yield the pipelines of the suite."""
    return (each for _, each in named())


def keep(answers: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Write the digests of Java's answers to the pipelines of the suite."""
    rows = (_row(each, row_answers) for each, row_answers in zip(drawn(), answers, strict=True))
    PATH.write_text("".join(f"{row}\n" for row in rows), encoding="ascii")


def _row(asked: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> str:
    digests = b"".join(digest(java_form(each, asked["config"])) for each in answers)
    return f"{question(asked)} {base64.b64encode(digests).decode()}"


def kept() -> list[tuple[str, list[bytes]]]:
    """Return the digests of each pipeline and of Java's answers to it."""
    return [_read(line) for line in PATH.read_text(encoding="ascii").splitlines()]


def _read(line: str) -> tuple[str, list[bytes]]:
    asked, text = line.split(" ")
    data = base64.b64decode(text)
    return asked, [data[start : start + SIZE] for start in range(0, len(data), SIZE)]


def question(asked: Mapping[str, Any]) -> str:
    """Return a digest of a pipeline with its records."""
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]

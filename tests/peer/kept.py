"""What Java's Kafka Connect 4.3.1 answered, kept beside the cases: a file for each kind, a line for each case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

GOLDEN = Path(__file__).with_name("golden")
CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = "python -m tests.peer.record"


class Named(Protocol):
    """A case, as far as keeping its answer goes."""

    @property
    def name(self) -> str:
        """Return what no other case of its kind is called."""


class KeptAnswers:
    """The answers to one kind of case; each stands beside a digest of what Java was asked."""

    def __init__(self, kind: str, folder: Path = GOLDEN) -> None:
        self.path = folder / f"{kind}.jsonl"

    def answer(self, case: Named) -> Any:
        """Return Java's answer to a case as it is now; raises AssertionError where that was never asked."""
        row = self._rows.get(case.name, {})
        assert row.get("asked") == digest(case), (
            f"Java was never asked {case.name!r} as it is now: `{COMMAND}` asks it, and keeps its answer"
        )
        return row["answer"]

    def unanswered(self, cases: Iterable[Named]) -> set[str]:
        """Return the names of cases without an answer to what they are now."""
        rows = self._rows
        return {case.name for case in cases if rows.get(case.name, {}).get("asked") != digest(case)}

    def names(self) -> set[str]:
        """Return the names of the cases that are kept."""
        return set(self._rows)

    def keep(self, cases: Sequence[Named], answers: Mapping[str, Any]) -> None:
        """Write answers beside those that are kept already; what belongs to none of the cases goes."""
        rows = self._rows | {
            case.name: {"case": case.name, "asked": digest(case), "answer": answers[case.name]}
            for case in cases
            if case.name in answers
        }
        kept = sorted({case.name for case in cases} & rows.keys())
        lines = [json.dumps(rows[name], ensure_ascii=False, separators=(",", ":")) for name in kept]
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        del self._rows

    @cached_property
    def _rows(self) -> dict[str, dict[str, Any]]:
        if not self.path.exists():
            return {}
        # Lines end at "\n" alone: texts hold other characters at which `splitlines` would cut.
        rows = (json.loads(line) for line in self.path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
        return {row["case"]: row for row in rows}


def digest(case: Named) -> str:
    """Return a digest of a case, the same in every checkout, and with every field that is added with a default."""
    text = ascii(_told(case)).replace(str(CHECKOUT), "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _told(value: Any) -> Any:
    """Return what a case says, without what it leaves as it is by default."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: _told(own) for each in fields(value) if (own := getattr(value, each.name)) != _default(each)
        }
    if isinstance(value, (tuple, list)):
        return [_told(each) for each in value]
    return {key: _told(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def plain(data: bytes | None) -> Any:
    """Return bytes as a kept answer holds them: a text where they are one, and of many the digest alone."""
    if data is None:
        return None
    if len(data) > 2000:
        return {"sha256": hashlib.sha256(data).hexdigest(), "length": len(data)}
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}

"""The answers of Java's Kafka Connect 4.3.1: a file for each kind of case, a line for each case."""

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
    """A case, as far as its kept answer needs it."""

    @property
    def name(self) -> str:
        """Return the name, unique within its kind."""


class KeptAnswers:
    """The answers to one kind of case, each with a digest of the case that Java ran."""

    def __init__(self, kind: str, folder: Path = GOLDEN) -> None:
        self.path = folder / f"{kind}.jsonl"

    def answer(self, case: Named) -> Any:
        """Return Java's answer to a case; raises AssertionError if Java never ran the case in its present form."""
        row = self._rows.get(case.name, {})
        assert row.get("asked") == digest(case), (
            f"no answer of Java's to the present form of {case.name!r}; run `{COMMAND}`"
        )
        return row["answer"]

    def unanswered(self, cases: Iterable[Named]) -> set[str]:
        """Return the names of cases without an answer to their present form."""
        rows = self._rows
        return {case.name for case in cases if rows.get(case.name, {}).get("asked") != digest(case)}

    def names(self) -> set[str]:
        """Return the names of the kept cases."""
        return set(self._rows)

    def keep(self, cases: Sequence[Named], answers: Mapping[str, Any]) -> None:
        """Add answers to the kept ones, and remove those of no present case."""
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
        # Lines end at "\n" only: texts contain other characters at which `splitlines` would split.
        rows = (json.loads(line) for line in self.path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
        return {row["case"]: row for row in rows}


def digest(case: Named) -> str:
    """Return a digest of a case, equal in every checkout, and unchanged by new fields with defaults."""
    text = ascii(_changed_fields(case)).replace(str(CHECKOUT), "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _changed_fields(value: Any) -> Any:
    """Return the fields of a case that differ from their defaults."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: _changed_fields(own)
            for each in fields(value)
            if (own := getattr(value, each.name)) != _default(each)
        }
    if isinstance(value, (tuple, list)):
        return [_changed_fields(each) for each in value]
    return {key: _changed_fields(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def plain(data: bytes | None) -> Any:
    """Return bytes in their kept form: short ones as text if they are UTF-8, long ones as a digest."""
    if data is None:
        return None
    if len(data) > 2000:
        return {"sha256": hashlib.sha256(data).hexdigest(), "length": len(data)}
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}

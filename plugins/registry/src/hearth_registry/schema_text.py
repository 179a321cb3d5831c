"""Schemas as a registry keeps them: a text of some type, and the other schemas it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"


@dataclass(frozen=True)
class Reference:
    """A schema that another one names: by `name` in its text, as `version` of `subject` in the registry."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class SchemaText:
    """A schema as it is sent and stored; equal when type, text and references are.

    `metadata` and `rules` are what the registry keeps beside it (`properties`, `tags`; `domainRules`, ...), as JSON.
    """

    schema_type: str
    text: str
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = field(default=None, compare=False)
    rules: Mapping[str, Any] | None = field(default=None, compare=False)

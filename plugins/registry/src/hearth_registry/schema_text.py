"""Schemas as a registry stores them: text, type and references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"


@dataclass(frozen=True)
class Reference:
    """A reference to another schema: `name` in the text, `version` of `subject` in the registry."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class SchemaText:
    """A schema as it is sent and stored; equal if type, text and references are equal.

    `metadata` and `rules` are the registry's additional data (`properties`, `tags`; `domainRules`, ...) as JSON.
    """

    schema_type: str
    text: str
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = field(default=None, compare=False)
    rules: Mapping[str, Any] | None = field(default=None, compare=False)

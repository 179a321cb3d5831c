"""The rule for every class: its name and keys are those of Kafka Connect 4.3.1 or of Confluent's documentation."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from hearth_api import Importance, Predicate, Transformation

PROJECT = Path(__file__).parents[4] / "plugins" / "transforms" / "pyproject.toml"
ENTRY = re.compile(r'"(?:org\.apache\.kafka|(io\.confluent))\.connect\.transforms\.(\S+)" = "(\S+):(\w+)"')
NULL_TO_DEFAULT = ("replace.null.with.default", "BOOLEAN", True, "MEDIUM", None)
NAMING_FIELDS = ("Cast", "HeaderFrom", "InsertField", "MaskField", "ReplaceField", "TimestampConverter", "ValueToKey")
"""Those that take paths as well, which in Java only ExtractField does; REST shows their key to those who use it."""
PAIRS = "list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"
KEYS = {
    "HoistField": [("field", "STRING", ..., "MEDIUM", None)],
    "InsertField": [
        ("topic.field", "STRING", None, "MEDIUM", None),
        ("partition.field", "STRING", None, "MEDIUM", None),
        ("offset.field", "STRING", None, "MEDIUM", None),
        ("timestamp.field", "STRING", None, "MEDIUM", None),
        ("static.field", "STRING", None, "MEDIUM", None),
        ("static.value", "STRING", None, "MEDIUM", None),
        NULL_TO_DEFAULT,
    ],
    "ExtractField": [
        ("field", "STRING", ..., "MEDIUM", None),
        NULL_TO_DEFAULT,
        ("field.syntax.version", "STRING", "V1", "HIGH", "(case insensitive) [V1, V2]"),
    ],
    "MaskField": [
        ("fields", "LIST", ..., "HIGH", ""),
        ("replacement", "STRING", None, "LOW", "non-empty string"),
        NULL_TO_DEFAULT,
    ],
    "RegexRouter": [
        ("regex", "STRING", ..., "HIGH", "valid regex"),
        ("replacement", "STRING", ..., "HIGH", None),
    ],
    "ReplaceField": [
        ("exclude", "LIST", [], "MEDIUM", ""),
        ("include", "LIST", [], "MEDIUM", ""),
        ("renames", "LIST", [], "MEDIUM", PAIRS),
        NULL_TO_DEFAULT,
    ],
    "Cast": [("spec", "LIST", ..., "HIGH", PAIRS), NULL_TO_DEFAULT],
    "Flatten": [("delimiter", "STRING", ".", "MEDIUM", None)],
    "ValueToKey": [("fields", "LIST", ..., "HIGH", ""), NULL_TO_DEFAULT],
    "SetSchemaMetadata": [
        ("schema.name", "STRING", None, "HIGH", None),
        ("schema.version", "INT", None, "HIGH", None),
        NULL_TO_DEFAULT,
    ],
    "Filter": [],
    "DropHeaders": [("headers", "LIST", ..., "HIGH", "")],
    "InsertHeader": [
        ("header", "STRING", ..., "HIGH", "non-null string"),
        ("value.literal", "STRING", ..., "HIGH", "non-null string"),
    ],
    "HeaderFrom": [
        ("fields", "LIST", ..., "HIGH", "non-empty list"),
        ("headers", "LIST", ..., "HIGH", "non-empty list"),
        ("operation", "STRING", ..., "HIGH", "[move, copy]"),
        NULL_TO_DEFAULT,
    ],
    "TimestampConverter": [
        ("field", "STRING", "", "HIGH", None),
        ("target.type", "STRING", ..., "HIGH", "[string, unix, Date, Time, Timestamp]"),
        ("format", "STRING", "", "MEDIUM", None),
        (
            "unix.precision",
            "STRING",
            "milliseconds",
            "LOW",
            "[nanoseconds, microseconds, milliseconds, seconds]",
        ),
        NULL_TO_DEFAULT,
    ],
    "TimestampRouter": [
        ("topic.format", "STRING", "${topic}-${timestamp}", "HIGH", None),
        ("timestamp.format", "STRING", "yyyyMMdd", "HIGH", None),
    ],
    "io.confluent:Drop": [
        ("schema.behavior", "STRING", "nullify", "MEDIUM", "[nullify, retain, validate, force_optional]")
    ],
    "io.confluent:ExtractTopic": [
        ("field", "STRING", "", "MEDIUM", None),
        ("field.format", "STRING", "PLAIN", "MEDIUM", "[JSON_PATH, PLAIN]"),
        ("skip.missing.or.null", "BOOLEAN", False, "MEDIUM", None),
    ],
    "io.confluent:Filter": [
        ("filter.condition", "STRING", ..., "HIGH", "valid json path"),
        ("filter.type", "STRING", ..., "HIGH", "[include, exclude]"),
        ("missing.or.null.behavior", "STRING", "fail", "MEDIUM", "[fail, include, exclude]"),
    ],
    "io.confluent:MessageTimestampRouter": [
        ("topic.format", "STRING", "${topic}-${timestamp}", "HIGH", None),
        ("message.timestamp.keys", "LIST", ..., "HIGH", ""),
        ("message.timestamp.format", "STRING", "", "HIGH", None),
        ("topic.timestamp.format", "STRING", "yyyyMMdd", "HIGH", None),
    ],
    "io.confluent:TombstoneHandler": [
        ("behavior", "STRING", "warn", "MEDIUM", "[ignore, warn, fail, drop_silent, drop_warn]")
    ],
    "predicates.TopicNameMatches": [("pattern", "STRING", ..., "MEDIUM", "non-empty string, valid regex")],
    "predicates.HasHeaderKey": [("name", "STRING", ..., "MEDIUM", "non-empty string")],
    "predicates.RecordIsTombstone": [],
}


def plugins() -> list[tuple[str, Any]]:
    """Return the classes the project announces, by their names without the package; those of others tell whose."""
    found = ENTRY.findall(PROJECT.read_text())
    return [
        (f"{vendor}:{name}" if vendor else name, getattr(importlib.import_module(module), attribute))
        for vendor, name, module, attribute in found
    ]


def test_every_class_of_the_list_is_announced() -> None:
    """Key and value variants are classes of their own, as in Kafka."""
    variants: dict[str, list[str]] = {name.partition("$")[0]: [] for name, _ in plugins()}
    for name, _ in plugins():
        variants[name.partition("$")[0]].append(name.partition("$")[2])
    assert set(variants) == set(KEYS)
    whole = {"DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter", "ValueToKey"}
    whole |= {name for name in KEYS if name.startswith("predicates.")}
    whole |= {"io.confluent:MessageTimestampRouter", "io.confluent:TombstoneHandler"}
    assert variants.pop("io.confluent:ExtractTopic") == ["Header", "Key", "Value"]
    assert all(sorted(found) == ([""] if name in whole else ["Key", "Value"]) for name, found in variants.items())


@pytest.mark.parametrize(("name", "kind"), plugins(), ids=[name for name, _ in plugins()])
def test_keys_are_those_of_kafka(name: str, kind: type[Transformation] | type[Predicate]) -> None:
    """Names, types, defaults, importance, checks and order; every key is documented and none is in a group."""
    plugin = kind()
    shown = [
        (
            each.name,
            each.type.name,
            each.default if each.has_default else ...,
            Importance(each.importance).name,
            None if each.validator is None else str(each.validator),
        )
        for each in plugin.config().keys.values()
        if not each.unlisted
    ]
    assert shown == KEYS[name.partition("$")[0]]
    unlisted = [each.name for each in plugin.config().keys.values() if each.unlisted]
    assert unlisted == (["field.syntax.version"] if name.partition("$")[0] in NAMING_FIELDS else [])
    assert all(each.doc and each.group is None for each in plugin.config().keys.values())
    assert plugin.version() == "4.3.1"

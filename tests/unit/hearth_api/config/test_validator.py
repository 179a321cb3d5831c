"""Validators accept, refuse and describe the same values as Kafka 4.3.1's classes, with the same messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hearth_api import (
    CaseInsensitiveValidString,
    Composite,
    ConfigError,
    Lambda,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Range,
    Regex,
    Validator,
    ValidList,
    ValidString,
)

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "config.json").read_text("ascii"))
VALIDATORS: dict[str, Validator] = {
    "Range.at_least(1)": Range.at_least(1),
    "Range.between(0, 10)": Range.between(0, 10),
    "Range.at_least(0.5)": Range.at_least(0.5),
    "Range.between(0.0, 1e10)": Range.between(0.0, 1e10),
    "ValidString('a', 'b')": ValidString("a", "b"),
    "ValidString('a', None)": ValidString("a", None),
    "ValidString()": ValidString(),
    "CaseInsensitiveValidString('x')": CaseInsensitiveValidString("x"),
    "CaseInsensitiveValidString('Requested', 'required')": CaseInsensitiveValidString("Requested", "required"),
    "NonNull()": NonNull(),
    "NonEmptyString()": NonEmptyString(),
    "NonEmptyStringWithoutControlChars()": NonEmptyStringWithoutControlChars(),
    "ListSize(1)": ListSize(1),
    "ValidList()": ValidList(),
    "ValidList('a', 'b')": ValidList("a", "b"),
    "ValidList('a', 'b', empty_allowed=False)": ValidList("a", "b", empty_allowed=False),
    "ValidList(empty_allowed=False, null_allowed=True)": ValidList(empty_allowed=False, null_allowed=True),
    "ValidList(empty_allowed=False)": ValidList(empty_allowed=False),
    "Regex()": Regex(),
    "Composite(NonNull(), NonEmptyString())": Composite(NonNull(), NonEmptyString()),
}


def objection(validator: Validator, value: Any) -> str | None:
    """Return the error message of a validator, or None if it accepts the value."""
    try:
        validator.ensure_valid("k", value)
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.parametrize("case", GOLDEN["validators"], ids=lambda case: f"{case['validator']}-{case['value']!a}")
def test_validator_matches_kafkas(case: dict[str, Any]) -> None:
    """Acceptance, message and description are those of Kafka's class."""
    validator = VALIDATORS[case["validator"]]
    assert objection(validator, case["value"]) == case["error"]
    assert str(validator) == case["describes"]


def test_golden_answers_cover_every_validator() -> None:
    """The golden answers cover each entry of the table above."""
    assert {case["validator"] for case in GOLDEN["validators"]} == set(VALIDATORS)


def test_lambda_calls_its_function() -> None:
    """A function and a description make a validator."""

    def even(name: str, value: Any) -> None:
        if value % 2:
            raise ConfigError(name, value, "Value must be even")

    validator = Lambda(even, "even numbers")
    assert objection(validator, 2) is None
    assert objection(validator, 3) == "Invalid value 3 for configuration k: Value must be even"
    assert str(validator) == "even numbers"


def test_open_range_describes_itself() -> None:
    """A side without a bound is shown as dots."""
    assert [str(Range()), str(Range(maximum=5))] == ["[...]", "[...,5]"]


def test_list_size_leaves_none_to_other_validators() -> None:
    """None is accepted, where Kafka's class raises a NullPointerException."""
    assert objection(ListSize(1), None) is None


def test_case_insensitive_texts_are_listed_in_the_order_of_a_java_set() -> None:
    """The order is that of a HashSet, including its growth."""
    letters = CaseInsensitiveValidString(*"zyxwvutsrqponmlkjihgfedcba")
    assert letters.valid == tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert CaseInsensitiveValidString("poll", "interval", "connector").valid == (
        "INTERVAL",
        "POLL",
        "CONNECTOR",
    )

"""Rules for transformations, predicates and converters with their records and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearth_api.errors import ConnectError
from hearth_api.record import ConnectRecord, SinkRecord
from hearth_api.schema import Schema
from hearth_api.testing.acceptance_rule import AcceptanceRules, Sample, Violation, require
from hearth_api.testing.plugin_rule import PLUGIN
from hearth_api.validation import validate_value

TRANSFORMATION, PREDICATE, CONVERTER = AcceptanceRules(PLUGIN), AcceptanceRules(PLUGIN), AcceptanceRules(PLUGIN)

_TOPIC = "acceptance"


@TRANSFORMATION.rule("config")
def apply_returns_records(sample: Sample) -> None:
    """apply() returns a record of the same class, or None; its key and value fit their schemas."""
    step = _configured(sample)
    for record in _records(sample):
        found = _answer(step.apply, record)
        if found is not None:
            require(type(found) is type(record), f"apply() returned {found!r} for a {type(record).__name__}")
            for schema, value in ((found.key_schema, found.key), (found.value_schema, found.value)):
                if schema is not None:
                    validate_value(schema, value)
    step.close()


@TRANSFORMATION.rule("config")
def apply_leaves_records_unchanged(sample: Sample) -> None:
    """apply() does not change the given record, which may be passed to it again."""
    step = _configured(sample)
    for record in _records(sample):
        before = repr(record)
        _answer(step.apply, record)
        require(repr(record) == before, f"apply() changed the record it was given: {before} to {record!r}")
    step.close()


@PREDICATE.rule("config")
def predicate_returns_a_boolean(sample: Sample) -> None:
    """test() returns true or false, the same each time, and does not change the record."""
    step = _configured(sample)
    for record in _records(sample):
        before = repr(record)
        found = _answer(step.test, record)
        require(found is None or isinstance(found, bool), f"test() returned {found!r}: return True or False")
        require(_answer(step.test, record) == found, "test() returns a different result the second time")
        require(repr(record) == before, f"test() changed the record it was given: {before} to {record!r}")
    step.close()


@CONVERTER.rule("config")
def values_round_trip(sample: Sample) -> None:
    """to_connect_data() reads the value that from_connect_data() wrote, with the same schema or none."""
    converter = _configured_converter(sample)
    for schema, value in _values(sample):
        data = converter.from_connect_data(_TOPIC, schema, value)
        require(
            data is None or isinstance(data, bytes), f"from_connect_data() returned {data!r}: return bytes or None"
        )
        found = converter.to_connect_data(_TOPIC, data)
        require(found.value == value, f"{value!r} came back as {found.value!r}")
        is_same = found.schema is None or schema is None or found.schema.type == schema.type
        require(is_same, f"a value of {schema!r} came back with {found.schema!r}")
    converter.close()


@CONVERTER.rule("config")
def unreadable_bytes_raise_data_errors(sample: Sample) -> None:
    """Unreadable bytes raise a DataError, which errors.tolerance handles, and nothing else."""
    converter = _configured_converter(sample)
    for data in (b"", b"\x00", b"\xff\xfe{", b"{"):
        _answer(lambda each: converter.to_connect_data(_TOPIC, each), data)
    converter.close()


def _configured(sample: Sample) -> Any:
    step = sample.plugin()
    step.configure(sample.settings())
    return step


def _configured_converter(sample: Sample) -> Any:
    converter = sample.plugin()
    converter.configure(sample.settings(), False)
    return converter


def _answer(function: Any, argument: Any) -> Any:
    """Return the result of a call, None if it raises an allowed error; any other exception is a violation."""
    try:
        return function(argument)
    except ConnectError:
        return None
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise Violation(f"{argument!r} raised {what}; raise a DataError for unsupported data") from error


def _records(sample: Sample) -> Sequence[ConnectRecord]:
    """Return the records of a sample, or a text, a map and a tombstone."""
    return sample.records or [
        SinkRecord(_TOPIC, 0, None, "key", None, "text", 0, timestamp=0),
        SinkRecord(_TOPIC, 0, None, "key", None, {"field": 1}, 1, timestamp=0),
        SinkRecord(_TOPIC, 0, None, "key", None, None, 2, timestamp=0),
    ]


def _values(sample: Sample) -> Sequence[tuple[Schema | None, Any]]:
    """Return the values of a sample, or none at all: not every converter takes texts."""
    return sample.values or [(None, None)]

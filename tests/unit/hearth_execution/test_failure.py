"""Failures as data: what is kept between two processes."""

from __future__ import annotations

import json
import re
import traceback
from typing import Any

import pytest

from hearth_api import (
    ConfigError,
    ConflictError,
    ConnectError,
    DataError,
    NotFoundError,
    RetriableError,
    SchemaBuilderError,
)
from hearth_api.java import SchemaProjectorError
from hearth_execution.failure import (
    MESSAGE_CHARACTERS,
    TRACE_CHARACTERS,
    ErrorInfo,
    Failure,
    RemoteError,
    first_of_each_row,
    is_retriable,
    summary_of,
    trace_of,
)
from hearth_execution.plugins import Attempts, Plugins
from hearth_execution.retry import NO_RETRY


class BusyError(RetriableError):
    """An error that a plugin derives from the API's."""


class Ported(ConnectError):
    """An error from Java with its original name."""

    java_name = "com.example.PortedException"


class Misnamed(ConnectError):
    """An error with a mistake of its author."""

    java_name: Any = 7


class Wordless(Exception):
    """An exception whose text raises."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError("no words")


def raised(error: Exception) -> Exception:
    """Return an exception with a trace, as raised."""
    try:
        raise error
    except type(error) as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RetriableError("x"), "retriable"),
        (BusyError("x"), "retriable"),
        (DataError("x"), "data"),
        (ConfigError("x"), "config"),
        (NotFoundError("x"), "not_found"),
        (ConnectError("x"), "plugin"),
        (ValueError("x"), "plugin"),
    ],
)
def test_kind_follows_the_class_of_the_error(error: Exception, kind: str) -> None:
    """Derived classes count as their base class; unknown ones are failures of the plugin."""
    assert ErrorInfo.of(error).kind == kind


def test_description_keeps_class_text_and_trace() -> None:
    """Names of built-in classes have no module, others do."""
    info = ErrorInfo.of(raised(ValueError("five")))
    assert (info.class_name, info.message) == ("ValueError", "five")
    assert info.trace.startswith("ValueError: five\nTraceback")
    assert "in raised" in info.trace
    assert ErrorInfo.of(BusyError("x")).class_name == f"{__name__}.BusyError"


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ConnectError("x"), "org.apache.kafka.connect.errors.ConnectException"),
        (DataError("x"), "org.apache.kafka.connect.errors.DataException"),
        (RetriableError("x"), "org.apache.kafka.connect.errors.RetriableException"),
        (NotFoundError("x"), "org.apache.kafka.connect.errors.NotFoundException"),
        (SchemaBuilderError("x"), "org.apache.kafka.connect.errors.SchemaBuilderException"),
        (SchemaProjectorError("x"), "org.apache.kafka.connect.errors.SchemaProjectorException"),
        (ConfigError("x"), "org.apache.kafka.common.config.ConfigException"),
        (ConflictError("x"), "hearth_api.errors.ConflictError"),
        (Ported("x"), "com.example.PortedException"),
        (Misnamed("x"), f"{__name__}.Misnamed"),
    ],
)
def test_error_has_the_name_of_its_counterpart_in_kafka_connect(error: Exception, name: str) -> None:
    """Readers of dead letters route by these names; a class without a counterpart keeps its own."""
    info = ErrorInfo.of(raised(error))
    assert info.class_name == name
    assert info.trace.startswith(f"{name}: x\n")


def raised_from(error: Exception, cause: Exception) -> Exception:
    """Return an exception raised from another one."""
    try:
        raise error from raised(cause)
    except type(error) as caught:
        return caught


def test_trace_shows_causes_before_the_stack() -> None:
    """``raise … from`` reads as in Java, followed by Python's own trace; an error without text shows its class."""
    trace = ErrorInfo.of(
        raised_from(DataError("outer", hint="mend it"), raised_from(ValueError(), KeyError("k")))
    ).trace
    assert trace.splitlines()[:4] == [
        "org.apache.kafka.connect.errors.DataException: outer",
        "hint: mend it",
        "Caused by: ValueError",
        "Caused by: KeyError: 'k'",
    ]
    assert "direct cause" in trace


def test_cause_of_another_process_keeps_its_trace() -> None:
    """An error raised here because of it shows where it came from."""
    remote = ErrorInfo("data", "lib.BadError", "bad", "lib.BadError: bad\n  at its place").to_error()
    summary = "org.apache.kafka.connect.errors.ConnectException: no\nCaused by: lib.BadError: bad\n  at its place"
    assert summary_of(raised_from(ConnectError("no"), remote)) == summary


def test_error_that_is_its_own_cause_ends() -> None:
    """Python allows circles of causes."""
    first, second = ConnectError("1"), ConnectError("2")
    first.__cause__, second.__cause__ = second, first
    assert len(summary_of(first).splitlines()) == 2


def test_trace_begins_with_the_plugin() -> None:
    """Frames of the host before it are omitted; an error of the host itself keeps them."""

    def fail(_: Any) -> bytes:
        raise ValueError("mine")

    made = Attempts(NO_RETRY, "TRANSFORMATION", "the.Class")
    made.one_by_one([0], fail, [None], None)
    lines = made.failures[0].error.trace.splitlines()
    assert lines[:2] == ["ValueError: mine", "Traceback (most recent call last):"]
    assert "in fail" in lines[2]
    with pytest.raises(KeyError) as caught:
        Plugins("sink")["nobody"]
    assert "plugins.py" in ErrorInfo.of(caught.value).trace


def test_exception_without_words_is_still_described() -> None:
    """An exception whose text raises is still reported."""
    info = ErrorInfo.of(Wordless())
    assert info.class_name.endswith("Wordless")
    assert info.message == ""


def test_description_round_trips_through_json() -> None:
    """Reading returns what was written; missing members are empty, as later versions may omit some."""
    info = ErrorInfo.of(raised(DataError("x")))
    assert ErrorInfo.from_json(json.loads(json.dumps(info.to_json()))) == info
    assert ErrorInfo.from_json({"kind": "data"}) == ErrorInfo("data", "", "", "")


def test_remote_error_keeps_class_and_text() -> None:
    """Raised on this side it shows class and text; passed on again it is unchanged."""
    info = ErrorInfo("retriable", "lib.BusyError", "busy", "the trace")
    error = info.to_error()
    assert isinstance(error, RemoteError)
    assert str(error) == "lib.BusyError: busy"
    assert error.trace == "the trace"
    assert is_retriable(error)
    assert ErrorInfo.of(raised(error)) == info


def test_error_without_text_shows_its_class() -> None:
    """There is no colon without text after it."""
    assert str(ErrorInfo("plugin", "KeyError", "", "").to_error()) == "KeyError"


def test_value_deeper_than_the_stack_is_a_data_error() -> None:
    """So its row has a useful message, not only the interpreter's; running out of memory is no row's fault."""
    failure = Failure.of(3, "TRANSFORMATION", "c", raised(RecursionError("maximum recursion depth exceeded")))
    assert (failure.row, failure.error.kind) == (3, "data")
    assert failure.error.class_name == "org.apache.kafka.connect.errors.DataException"
    assert "nested deeper than Python's stack" in failure.error.message
    assert "\nCaused by: RecursionError: maximum recursion depth exceeded\n" in failure.error.trace
    assert "in raised" in failure.error.trace
    with pytest.raises(MemoryError):
        Failure.of(3, "TRANSFORMATION", "c", MemoryError())


def test_only_the_first_failure_of_a_record_counts() -> None:
    """A failed record goes through no further phase, so it is reported once."""
    info = ErrorInfo("data", "e", "m", "t")
    failures = [Failure(row, phase, "c", info) for row, phase in [(2, "KEY"), (1, "KEY"), (2, "VALUE"), (0, "VALUE")]]
    assert [(each.row, each.phase) for each in first_of_each_row(failures)] == [(2, "KEY"), (1, "KEY"), (0, "VALUE")]


def test_long_text_is_cut_in_the_middle_with_a_note() -> None:
    """A plugin may raise a whole response of its system; log and status get its start and end."""
    info = ErrorInfo.of(raised(ValueError("<" + "x" * 5_000_000 + ">")))
    assert len(info.message) <= MESSAGE_CHARACTERS
    assert info.message.startswith("<xxx")
    assert info.message.endswith("xxx>")
    assert re.search(r"\n\.\.\. 49\d{5} characters left out \.\.\.\n", info.message)
    assert len(info.trace) <= TRACE_CHARACTERS
    assert "in raised" in info.trace
    assert ErrorInfo.from_json(json.loads(json.dumps(info.to_json()))) == info


def test_the_reader_cuts_as_well() -> None:
    """Another process may not keep to our limits."""
    members = dict.fromkeys(("kind", "class_name", "message", "trace"), "y" * 1000000)
    info = ErrorInfo.from_json(members)
    assert len(info.message) <= MESSAGE_CHARACTERS
    assert max(len(info.kind), len(info.class_name), len(info.trace)) <= TRACE_CHARACTERS


def _raised(kind: int) -> Exception:
    """Return an error raised in one of several ways."""

    def inner(depth: int) -> None:
        if depth:
            inner(depth - 1)
        raise ValueError(f"bad {kind}\nin two lines")

    try:
        try:
            inner(kind)
        except ValueError as error:
            if kind % 4 == 0:
                raise
            if kind % 4 == 1:
                raise DataError("about that") from error
            if kind % 4 == 2:
                raise DataError("without that") from None
            raise KeyError("meanwhile")  # noqa: B904 -- the test needs the context
    except (ValueError, DataError, KeyError) as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("kind", [*range(8), 200])
def test_cached_trace_equals_pythons(kind: int) -> None:
    """Cached frames of an earlier error are combined with the text of this one."""
    for _ in range(2):
        error = _raised(kind)
        printed = "".join(traceback.format_exception(error)).rstrip("\n")
        assert trace_of(error).endswith(printed)


def test_a_name_that_is_missing_keeps_what_python_suggests() -> None:
    """Such an error says more than its text."""
    try:
        eval("valeu", {"value": 1})
    except NameError as error:
        found = error
    assert trace_of(found).endswith("".join(traceback.format_exception(found)).rstrip("\n"))


class Hostile(Exception):
    """Has a member like those of exception groups, which raises."""

    @property
    def exceptions(self) -> Any:
        """Raise."""
        raise RuntimeError("hostile")


def test_error_that_looks_like_a_group_is_printed_as_an_error() -> None:
    """Members of a plugin's error are not accessed."""
    with pytest.raises(Hostile) as raised:
        raise Hostile("bad")
    assert trace_of(raised.value).endswith("Hostile: bad")

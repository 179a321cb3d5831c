"""Failures as data: what survives the way between two processes."""

from __future__ import annotations

import json
import re

import pytest

from hearth_api import ConfigError, ConnectError, DataError, NotFoundError, RetriableError
from hearth_execution.failure import (
    MESSAGE_CHARACTERS,
    TRACE_CHARACTERS,
    ErrorInfo,
    Failure,
    RemoteError,
    first_of_each_row,
    is_retriable,
)


class BusyError(RetriableError):
    """What a plugin may derive from the API's errors."""


class Wordless(Exception):
    """An exception that fails even to say what it is."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError("no words")


def raised(error: Exception) -> Exception:
    """Return an exception with the trace of having been raised."""
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
def test_kind_says_what_the_caller_may_do(error: Exception, kind: str) -> None:
    """Derived classes count as what they derive from; anything unknown is a plugin's failure."""
    assert ErrorInfo.of(error).kind == kind


def test_description_keeps_class_text_and_trace() -> None:
    """Names of built-in classes stand alone, others with their module."""
    info = ErrorInfo.of(raised(ValueError("five")))
    assert (info.class_name, info.message) == ("ValueError", "five")
    assert "in raised" in info.trace
    assert ErrorInfo.of(DataError("x")).class_name == "hearth_api.errors.DataError"


def test_chain_of_causes_is_in_the_trace() -> None:
    """``raise … from`` survives as text."""
    try:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise DataError("outer") from error
    except DataError as error:
        trace = ErrorInfo.of(error).trace
    assert "KeyError: 'inner'" in trace
    assert "direct cause" in trace


def test_exception_without_words_is_still_described() -> None:
    """A plugin's exception whose text cannot be told does not hide that it was raised."""
    info = ErrorInfo.of(Wordless())
    assert info.class_name.endswith("Wordless")
    assert info.message == ""


def test_description_goes_through_json_unchanged() -> None:
    """What is read is what was written, and missing members are empty: a later version may leave some out."""
    info = ErrorInfo.of(raised(DataError("x")))
    assert ErrorInfo.from_json(json.loads(json.dumps(info.to_json()))) == info
    assert ErrorInfo.from_json({"kind": "data"}) == ErrorInfo("data", "", "", "")


def test_error_of_the_other_side_speaks_with_its_words() -> None:
    """Raised on this side it shows class and text, and passed on once more it stays what it was."""
    info = ErrorInfo("retriable", "lib.BusyError", "busy", "the trace")
    error = info.to_error()
    assert isinstance(error, RemoteError)
    assert str(error) == "lib.BusyError: busy"
    assert error.trace == "the trace"
    assert is_retriable(error)
    assert ErrorInfo.of(raised(error)) == info


def test_error_without_text_shows_its_class() -> None:
    """No colon without something behind it."""
    assert str(ErrorInfo("plugin", "KeyError", "", "").to_error()) == "KeyError"


def test_only_the_first_failure_of_a_record_counts() -> None:
    """A record that failed goes through no further phase, so it is reported once."""
    info = ErrorInfo("data", "e", "m", "t")
    failures = [Failure(row, phase, "c", info) for row, phase in [(2, "KEY"), (1, "KEY"), (2, "VALUE"), (0, "VALUE")]]
    assert [(each.row, each.phase) for each in first_of_each_row(failures)] == [(2, "KEY"), (1, "KEY"), (0, "VALUE")]


def test_long_text_is_cut_in_the_middle_with_a_note() -> None:
    """A plugin may raise a whole response of its system; log and status get the beginning and the end."""
    info = ErrorInfo.of(raised(ValueError("<" + "x" * 5_000_000 + ">")))
    assert len(info.message) <= MESSAGE_CHARACTERS
    assert info.message.startswith("<xxx")
    assert info.message.endswith("xxx>")
    assert re.search(r"\n\.\.\. 49\d{5} characters left out \.\.\.\n", info.message)
    assert len(info.trace) <= TRACE_CHARACTERS
    assert "in raised" in info.trace
    assert ErrorInfo.from_json(json.loads(json.dumps(info.to_json()))) == info


def test_the_reader_cuts_as_well() -> None:
    """What another process sends keeps to no limit of ours."""
    members = dict.fromkeys(("kind", "class_name", "message", "trace"), "y" * 1000000)
    info = ErrorInfo.from_json(members)
    assert len(info.message) <= MESSAGE_CHARACTERS
    assert max(len(info.kind), len(info.class_name), len(info.trace)) <= TRACE_CHARACTERS

"""Failed rows in batch methods."""

from __future__ import annotations

from hearth_api import DataError
from hearth_api.batch import frameless
from hearth_execution.failure import ErrorInfo


def test_an_error_without_frames_keeps_its_words_and_causes() -> None:
    """It does not keep the batch alive."""
    try:
        try:
            int("x")
        except ValueError as cause:
            raise DataError("no number") from cause
    except DataError as caught:
        error = caught
    with_frames = ErrorInfo.of(error).trace
    found = frameless(error)
    assert found is error
    assert (found.__traceback__, found.__cause__.__traceback__) == (None, None)  # type: ignore[union-attr]
    trace = ErrorInfo.of(found).trace
    assert with_frames.startswith(f"{trace}\nTraceback ")
    assert trace.endswith("Caused by: ValueError: invalid literal for int() with base 10: 'x'")

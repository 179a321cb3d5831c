"""Futures with the outcome of a call."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from hearth.foundation.future import fulfil


def test_what_is_returned_is_the_result() -> None:
    """Also where it is nothing."""
    future: Future[Any] = Future()
    fulfil(future, lambda: None)
    assert future.result(0) is None


@pytest.mark.parametrize("error", [ValueError("wrong"), SystemExit(3), KeyboardInterrupt()])
def test_any_exception_completes_the_future(error: BaseException) -> None:
    """On the thread that runs the function nothing would handle it."""

    def fail() -> None:
        raise error

    future: Future[None] = Future()
    fulfil(future, fail)
    assert future.exception(0) is error

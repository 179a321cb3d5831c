"""Futures whose outcome is that of a call."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def fulfil(future: Future[T], act: Callable[[], T]) -> None:
    """Do something, and have a future return or raise what comes of it: whoever waits hears of it, whatever it is."""
    try:
        future.set_result(act())
    except BaseException as error:  # noqa: BLE001
        future.set_exception(error)

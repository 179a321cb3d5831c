"""Completes futures with the outcome of a call."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def fulfil(future: Future[T], act: Callable[[], T]) -> None:
    """Call a function and complete a future with its result or its exception of any kind."""
    try:
        future.set_result(act())
    except BaseException as error:  # noqa: BLE001
        future.set_exception(error)

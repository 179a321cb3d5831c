"""A model of conversion threads: a test controls when their work is done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any


class Piece(Future):  # type: ignore[type-arg]
    """A piece on another thread, done after a number of checks or when somebody waits for it."""

    def __init__(self, work: Callable[[], Any], looks: int) -> None:
        super().__init__()
        self._work, self._looks, self._is_begun = work, looks, False

    @property
    def is_over(self) -> bool:
        """Return whether it is done, without counting as a check."""
        return super().done()

    def done(self) -> bool:
        """Check for it; return whether it is done."""
        self._looks -= 1
        if self._looks < 0:
            self.finish()
        return self.is_over

    def finish(self) -> None:
        """Do the work unless it is in progress."""
        if self._is_begun:
            return
        self._is_begun = True
        try:
            self.set_result(self._work())
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits for it is told
            self.set_exception(error)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for it."""
        self.finish()
        return super().exception(timeout)

    def result(self, timeout: float | None = None) -> Any:
        """Wait for it."""
        self.finish()
        return super().result(timeout)


class FakeThread(Executor):
    """The conversion threads; they do batches in order."""

    def __init__(self, looks: int) -> None:
        """``looks`` is how many checks find a batch unfinished."""
        self._looks = looks
        self._pieces: list[Piece] = []

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Piece:
        """Accept a piece."""
        self._pieces.append(Piece(partial(work, *args, **kwargs), self._looks))
        return self._pieces[-1]

    def go_on(self) -> bool:
        """Do the next piece while the loop waits; return whether there was one."""
        self._pieces = [each for each in self._pieces if not each.is_over]
        for each in self._pieces[:1]:
            each.finish()
            return True
        return False

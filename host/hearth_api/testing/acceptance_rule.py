"""Rules of the plugin contract, each with a stable name, and the samples to check them with."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hearth_api.record import ConnectRecord

T = TypeVar("T")


class Violation(AssertionError):
    """A plugin breaks a rule; the message says how, and how to fix it."""


@dataclass(frozen=True)
class Sample:
    """A plugin and the data to check it with; see `acceptance_tests`."""

    plugin: type
    config: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None
    records: Sequence[ConnectRecord] = ()
    values: Sequence[tuple[Any, Any]] = ()
    count: int = 2
    seconds: float = 10.0
    read_back: Callable[[Mapping[str, str]], Iterable[Any]] | None = None

    def settings(self) -> dict[str, str]:
        """Return the configuration to check the plugin with, calling the function if it is one."""
        found = self.config() if callable(self.config) else self.config
        return dict(found or {})


@dataclass(frozen=True)
class AcceptanceRule:
    """One rule: its name, its statement, and the function that checks a plugin."""

    name: str
    says: str
    check: Callable[[Sample], None] = field(repr=False)
    needs: tuple[str, ...] = ()
    """The parts of a sample that the check requires."""

    def is_tried_with(self, sample: Sample) -> bool:
        """Return whether a sample has what the rule requires."""
        return all(getattr(sample, name) not in (None, ()) for name in self.needs)


class AcceptanceRules:
    """The rules for plugins of one type, in the order of declaration."""

    def __init__(self, *others: AcceptanceRules) -> None:
        """Start with the rules of others."""
        self.all: list[AcceptanceRule] = [rule for each in others for rule in each.all]

    def rule(self, *needs: str) -> Callable[[Callable[[Sample], None]], Callable[[Sample], None]]:
        """Add a function to the rules under its name; the first line of its docstring is the rule's statement."""

        def add(check: Callable[[Sample], None]) -> Callable[[Sample], None]:
            says = (check.__doc__ or "").strip().partition("\n")[0]
            self.all.append(AcceptanceRule(check.__name__, says, check, needs))
            return check

        return add


def require(condition: object, text: str) -> None:
    """Raise a `Violation` with the text unless the condition holds."""
    if not condition:
        raise Violation(text)


class Caller:
    """Calls a plugin on a single thread, and abandons the thread if a call does not return."""

    def __init__(self, seconds: float) -> None:
        """Limit every call to a number of seconds."""
        self.seconds = seconds
        self.is_stuck = False
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="plugin", daemon=True).start()

    def call(self, what: str, function: Callable[..., T], *arguments: Any) -> T:
        """Return or raise the outcome of a call; raise a `Violation` if it does not finish in time."""
        answer: Future[T] = Future()

        def run() -> None:
            try:
                answer.set_result(function(*arguments))
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises belongs to who called it
                answer.set_exception(error)

        self._calls.put(run)
        try:
            error = answer.exception(self.seconds)
        except FutureTimeoutError:
            self.is_stuck = True
            raise Violation(f"{what} did not return within {self.seconds:g} s: a host would fail the task") from None
        if error is not None:
            raise error
        return answer.result()

    def end(self) -> None:
        """Let the thread end after the calls it was given."""
        self._calls.put(None)

    def _serve(self) -> None:
        while (run := self._calls.get()) is not None:
            run()

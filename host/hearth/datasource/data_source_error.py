"""Errors for Spark: their last line, after the traceback, has the fact and the remedy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hearth.staging.tolerance import ToleranceExceeded
from hearth_api import ConnectError

_TOLERATE = "correct the row, or set errors.tolerance=all to skip rows that fail and hearth.dead.letters to keep them"


class DataSourceFailed(ConnectError):
    """A read or a write failed: the trace of a plugin, if any, then the fact with its remedy."""

    code = "datasource.failed"

    def __str__(self) -> str:
        """Return the trace, then the fact with its remedy."""
        trace, fact = self.args
        return f"{trace}\n{fact}" if trace else str(fact)


@contextlib.contextmanager
def instructive() -> Iterator[None]:
    """Raise DataSourceFailed for an error that the user can correct: Spark shows the end of its text."""
    try:
        yield
    except DataSourceFailed:
        raise
    except ConnectError as error:
        raise DataSourceFailed(getattr(error, "trace", None), fact_of(error), code=error.code) from None


def fact_of(error: BaseException) -> str:
    """Return the messages of an error and its causes in one line, with the first hint among them."""
    if isinstance(error, ToleranceExceeded):
        failure = error.failure
        what = failure.error.message or failure.error.class_name
        where = f"{failure.phase} with {failure.class_name}"
        return f"a row failed: {error.place or f'number {failure.row}'}: {_line(what)} ({where}); {_TOLERATE}"
    texts: list[str] = []
    hint = None
    cause: BaseException | None = error
    while cause is not None:
        text = _line(str(cause))
        if text and not any(text in each for each in texts):
            texts.append(text)
        hint = hint or (cause.hint if isinstance(cause, ConnectError) else None)
        cause = cause.__cause__
    fact = ": ".join(texts) or type(error).__name__
    return f"{fact}; {hint}" if hint else fact


def _line(text: str) -> str:
    return " ".join(text.split())

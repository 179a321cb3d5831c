"""Errors as Spark shows them: a trace that is Spark's, and in its last line what is wrong and what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hearth.staging.tolerance import ToleranceExceeded
from hearth_api import ConnectError

_TOLERATE = "mend the row, or leave rows that fail out with errors.tolerance=all, and keep them in hearth.dead.letters"


class DataSourceFailed(ConnectError):
    """Something of a read or a write did not succeed: what a plugin's trace says of it, and the fact and remedy."""

    code = "datasource.failed"

    def __str__(self) -> str:
        """Return what is told, the fact with its remedy last."""
        trace, fact = self.args
        return f"{trace}\n{fact}" if trace else str(fact)


@contextlib.contextmanager
def instructive() -> Iterator[None]:
    """Raise DataSourceFailed for an error that is the user's to mend: Spark shows the end of it, whatever it wraps."""
    try:
        yield
    except DataSourceFailed:
        raise
    except ConnectError as error:
        raise DataSourceFailed(getattr(error, "trace", None), fact_of(error), code=error.code) from None


def fact_of(error: BaseException) -> str:
    """Return in one line what an error and its causes say, and the remedy of the first that knows one."""
    if isinstance(error, ToleranceExceeded):
        failure = error.failure
        what = failure.error.message or failure.error.class_name
        where = f"{failure.phase} with {failure.class_name}"
        return f"a row failed: {error.place or f'number {failure.row}'}: {_line(what)} ({where}); {_TOLERATE}"
    said: list[str] = []
    hint = None
    cause: BaseException | None = error
    while cause is not None:
        text = _line(str(cause))
        if text and not any(text in each for each in said):
            said.append(text)
        hint = hint or (cause.hint if isinstance(cause, ConnectError) else None)
        cause = cause.__cause__
    fact = ": ".join(said) or type(error).__name__
    return f"{fact}; {hint}" if hint else fact


def _line(text: str) -> str:
    return " ".join(text.split())

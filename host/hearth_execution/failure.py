"""Errors of plugins as data, which crosses processes as JSON and keeps its trace."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import CodeType, TracebackType
from typing import Any

from hearth_api import ConfigError, ConnectError, DataError, NotFoundError, PluginError, RetriableError

MESSAGE_CHARACTERS = 16_384
TRACE_CHARACTERS = 65_536
"""Longer texts are cut: a plugin may raise what it has read, and the log and every status show it."""
_NOTE = 64
_MOST_FRAMES = 100
_MOST_CAUSES = 20
_MOST_KINDS = 256
_SAYS_MORE = tuple(
    getattr(builtins, name)
    for name in ("SyntaxError", "NameError", "AttributeError", "ImportError", "BaseExceptionGroup")
    if hasattr(builtins, name)  # Python 3.10 lacks exception groups
)
"""Errors to which Python adds a suggestion, a source line or other errors."""
_HEADING = "Traceback (most recent call last):\n"
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
_known_frames: dict[tuple[tuple[CodeType, int], ...], str] = {}
_MEMBERS = ("kind", "class_name", "message", "trace")
_HOSTS = ("hearth", "hearth_execution", "hearth_stage")

_KINDS: dict[str, type[ConnectError]] = {
    "retriable": RetriableError,
    "data": DataError,
    "config": ConfigError,
    "not_found": NotFoundError,
}


class _Late:
    """Holds the source of an error, which is fetched and described on first access."""

    __slots__ = ("_errors", "_place")
    _errors: Mapping[int, Any]
    _place: int


_set_errors, _set_place = (vars(_Late)[name].__set__ for name in ("_errors", "_place"))


@dataclass(frozen=True, slots=True)
class ErrorInfo(_Late):
    """An exception as data: kind, class name, message and trace.

    ``kind`` tells the caller how to react: ``retriable`` (call again), ``data`` (tolerate the record), ``config``,
    ``not_found`` or ``plugin`` (anything else). ``class_name`` is Kafka Connect's if the class has a counterpart
    there, else Python's; ``trace`` starts like a Java trace (see ``trace_of``).
    """

    kind: str
    class_name: str
    message: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> ErrorInfo:
        """Describe ``error`` with its whole trace; an error that was never raised is described on first access.

        Most tolerated records are never looked at. A raised error holds the local variables of all its frames, so it
        is described at once.
        """
        if isinstance(error, RemoteError):
            return error.info
        return cls._described(error) if _has_traceback(error) else cls.late({0: error}, 0)

    @classmethod
    def late(cls, errors: Mapping[int, BaseException], place: int) -> ErrorInfo:
        """Describe the error of a row on first access, to avoid the objects until then."""
        info = object.__new__(cls)
        _set_errors(info, errors)
        _set_place(info, place)
        return info

    def __getattr__(self, name: str) -> str:
        if name not in _MEMBERS:
            raise AttributeError(name)
        found = self._described(_error_of(self._errors, self._place))
        for member in _MEMBERS:
            object.__setattr__(self, member, getattr(found, member))
        return str(getattr(found, name))

    @classmethod
    def _described(cls, error: BaseException) -> ErrorInfo:
        kind: Any = type(error)
        return cls._cut(_kind_of(kind), _name(kind), _text(error), trace_of(error))

    def to_json(self) -> dict[str, Any]:
        """Return the members as in an error frame."""
        return asdict(self)

    @classmethod
    def from_json(cls, members: dict[str, Any]) -> ErrorInfo:
        """Read what ``to_json`` wrote; applies this side's limits, whatever the other side's are."""
        return cls._cut(*(str(members.get(name, "")) for name in ("kind", "class_name", "message", "trace")))

    @classmethod
    def _cut(cls, kind: str, class_name: str, message: str, trace: str) -> ErrorInfo:
        return cls(
            cut(kind, MESSAGE_CHARACTERS),
            cut(class_name, MESSAGE_CHARACTERS),
            cut(message, MESSAGE_CHARACTERS),
            cut(trace, TRACE_CHARACTERS),
        )

    def to_error(self) -> ConnectError:
        """Return an exception to raise on this side, with the text and trace of the other side."""
        return RemoteError(self)


def _error_of(errors: Mapping[int, Any], place: int) -> BaseException:
    """Return the error that a plugin creates for a row, or what it raises instead."""
    try:
        error = errors[place]
    except Exception as raised:
        return raised
    if not isinstance(error, BaseException):
        return PluginError(f"returned {error!r} as the error of a row")
    return error


def cut(text: str, most: int) -> str:
    """Return a text; one longer than ``most`` keeps its start and end, with the number of characters left out."""
    if len(text) <= most:
        return text
    half = (most - _NOTE) // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def trace_of(error: BaseException) -> str:
    """Return an error and its causes, line by line as in a Java trace, followed by Python's own trace.

    A search for ``org.apache.kafka.connect.errors.DataException: …`` or ``Caused by: …`` at the start of a line finds
    it. An error that was never raised has no Python trace, and one that already has a trace, such as one of another
    process, keeps it.
    """
    if (own := _own_trace(error)) is not None:
        return own
    return f"{summary_of(error)}\n{_python_trace(error)}" if _has_traceback(error) else summary_of(error)


def _has_traceback(error: BaseException) -> bool:
    """Return whether an error or its cause was raised."""
    if error.__traceback__ is not None:
        return True
    before = error.__cause__ or error.__context__
    return before is not None and before.__traceback__ is not None


def summary_of(error: BaseException) -> str:
    """Return the text of an error and its causes with their hints, without stack frames."""
    lines: list[str] = []
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        lines.append(("Caused by: " if lines else "") + (_own_trace(cause) or _line(cause)))
        cause = None if _own_trace(cause) else cause.__cause__
    return "\n".join(lines)


def _line(error: BaseException) -> str:
    text = cut(_text(error), MESSAGE_CHARACTERS)
    kind: Any = type(error)
    name = _name(kind)
    line = f"{name}: {text}" if text else name
    hint = error.hint if isinstance(error, ConnectError) else None
    return f"{line}\nhint: {hint}" if hint else line


@lru_cache(maxsize=_MOST_KINDS)
def _kind_of(kind: type[BaseException]) -> str:
    return next((name for name, known in _KINDS.items() if issubclass(kind, known)), "plugin")


@lru_cache(maxsize=_MOST_KINDS)
def _name(kind: type[BaseException]) -> str:
    """Return the Kafka Connect class that an error's own class, not only a base class, stands for."""
    counterpart = vars(kind).get("java_name")
    if counterpart and isinstance(counterpart, str):
        return counterpart
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # even this may fail for a plugin's exception
        return ""


def _own_trace(error: BaseException) -> str | None:
    trace = getattr(error, "trace", None) if isinstance(error, ConnectError) else None
    return trace if trace and isinstance(trace, str) else None


def _python_trace(error: BaseException) -> str:
    """Return Python's trace without the host's frames before the plugin."""
    tb = error.__traceback__
    while tb is not None and str(tb.tb_frame.f_globals.get("__name__")).partition(".")[0] in _HOSTS:
        tb = tb.tb_next
    tb = tb or error.__traceback__
    parts = _chained(error, tb, set())
    return ("".join(traceback.format_exception(type(error), error, tb)) if parts is None else parts).rstrip("\n")


def _chained(error: BaseException, tb: TracebackType | None, seen: set[int]) -> str | None:
    """Return what ``traceback.format_exception`` does, with formatted frames cached by code position.

    Formatting them takes a hundred times as long as raising the error. Returns None for errors that Python prints with
    more than frames and text.
    """
    seen.add(id(error))
    if isinstance(error, _SAYS_MORE) or len(seen) > _MOST_CAUSES:
        return None
    before, joint = error.__cause__, _CAUSED
    if before is None and not error.__suppress_context__:
        before, joint = error.__context__, _DURING
    opening = ""
    if before is not None and id(before) not in seen:
        earlier = _chained(before, before.__traceback__, seen)
        if earlier is None:
            return None
        opening = earlier + joint
    if tb is not None:
        frames = _frames(tb)
        if frames is None:
            return None
        opening += _HEADING + frames
    return opening + _last_lines(error)


def _last_lines(error: BaseException) -> str:
    """Return what ``traceback.format_exception_only`` does, without its visit to every frame of all causes."""
    if getattr(error, "__notes__", None) is not None:
        return "".join(traceback.format_exception_only(type(error), error))
    kind = type(error)
    is_known = kind.__module__ in ("__main__", "builtins")
    name = kind.__qualname__ if is_known else f"{kind.__module__}.{kind.__qualname__}"
    try:
        text = str(error)
    except Exception:
        text = "<exception str() failed>"
    return f"{name}: {text}\n" if text else f"{name}\n"


def _frames(tb: TracebackType) -> str | None:
    """Return the frames of a trace as Python prints them, cached by code position; None for too many."""
    passed: list[tuple[CodeType, int]] = []
    step: TracebackType | None = tb
    while step is not None:
        passed.append((step.tb_frame.f_code, step.tb_lasti))
        step = step.tb_next
    if len(passed) > _MOST_FRAMES:
        return None
    steps = tuple(passed)
    found = _known_frames.get(steps)
    if found is None:
        found = "".join(traceback.format_tb(tb))
        if len(_known_frames) >= _MOST_KINDS:
            _known_frames.clear()
        _known_frames[steps] = found
    return found


class RemoteError(PluginError):
    """An error that a plugin raised in another process; ``info`` describes it, ``trace`` says where."""

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(f"{info.class_name}: {info.message}" if info.message else info.class_name)
        self.info = info
        self.trace = info.trace

    @property
    def is_retriable(self) -> bool:
        """Return whether the same call may be repeated."""
        return self.info.kind == "retriable"


def is_retriable(error: BaseException) -> bool:
    """Return whether ``error`` is retriable, whichever process raised it."""
    return isinstance(error, RetriableError) or (isinstance(error, RemoteError) and error.is_retriable)


@dataclass(slots=True)
class Failure:
    """A record that could not be processed: its row, the error, and the phase and class in Kafka Connect's words.

    Treat it as immutable. It is not frozen because one is created per failed record, which takes a third of the time
    this way.
    """

    row: int
    phase: str
    class_name: str
    error: ErrorInfo

    @classmethod
    def of(cls, row: int, phase: str, class_name: str, error: Exception) -> Failure:
        """Describe the failure of a row; raises the error instead if no record is to blame.

        That is ``MemoryError``: Java tolerates no ``Error`` either. A value nested deeper than Python's stack counts
        as bad data.
        """
        if isinstance(error, MemoryError):
            raise error
        if isinstance(error, RecursionError):
            error = _too_deep(error)
        return cls(row, phase, class_name, ErrorInfo.of(error))


def _too_deep(error: RecursionError) -> DataError:
    too_deep = DataError("the value is nested deeper than Python's stack, or the plugin calls itself without end")
    too_deep.__cause__ = error
    return too_deep


def first_of_each_row(failures: Iterable[Failure]) -> list[Failure]:
    """Return the first failure of each row: a failed record goes through no further phase."""
    found: dict[int, Failure] = {}
    for failure in failures:
        found.setdefault(failure.row, failure)
    return list(found.values())

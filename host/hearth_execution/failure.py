"""What a plugin raised, as data: it crosses processes as JSON and keeps its trace."""

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
"""More of a text than that is left out: a plugin may raise what it has read, and the log and every status show it."""
_NOTE = 64
_MOST_FRAMES = 100
_MOST_CAUSES = 20
_MOST_KINDS = 256
_SAYS_MORE = tuple(
    getattr(builtins, name)
    for name in ("SyntaxError", "NameError", "AttributeError", "ImportError", "BaseExceptionGroup")
    if hasattr(builtins, name)  # Python 3.10 has no groups
)
"""Errors to which Python adds a suggestion, a line of source or other errors."""
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
    """An error that is looked up among others, and made there, as soon as somebody looks."""

    __slots__ = ("_errors", "_place")
    _errors: Mapping[int, Any]
    _place: int


_set_errors, _set_place = (vars(_Late)[name].__set__ for name in ("_errors", "_place"))


@dataclass(frozen=True, slots=True)
class ErrorInfo(_Late):
    """An exception without its objects: kind, class name, message and trace.

    ``kind`` says what the caller may do: ``retriable`` (call again), ``data`` (tolerate the record), ``config``,
    ``not_found`` or ``plugin`` (anything else). ``class_name`` is Kafka Connect's where the class stands for one of
    its, else Python's; ``trace`` begins as Java's do (see ``trace_of``).
    """

    kind: str
    class_name: str
    message: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> ErrorInfo:
        """Describe ``error`` with its whole trace; where it was never raised, as soon as somebody looks.

        Of a thousand bad records that are tolerated, mostly nobody looks at one. An error that was raised holds all
        that was in the hands of whom it passed, and is described at once.
        """
        if isinstance(error, RemoteError):
            return error.info
        return cls._described(error) if _was_raised(error) else cls.late({0: error}, 0)

    @classmethod
    def late(cls, errors: Mapping[int, BaseException], place: int) -> ErrorInfo:
        """Describe the error of a row as soon as somebody looks; one object is made for it until then."""
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
        """Return the members as they stand in an error frame."""
        return asdict(self)

    @classmethod
    def from_json(cls, members: dict[str, Any]) -> ErrorInfo:
        """Read what ``to_json`` wrote; the limits are those of this side, whatever the other one keeps to."""
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
        """Return an exception to raise on this side; its text and trace are those of the other side."""
        return RemoteError(self)


def _error_of(errors: Mapping[int, Any], place: int) -> BaseException:
    """Return the error that a plugin makes for a row; where it cannot, what it raises instead."""
    try:
        error = errors[place]
    except Exception as raised:
        return raised
    if not isinstance(error, BaseException):
        return PluginError(f"named {error!r} as the error of a row")
    return error


def cut(text: str, most: int) -> str:
    """Return a text; of one longer than ``most`` its beginning and end, and how much was left out."""
    if len(text) <= most:
        return text
    half = (most - _NOTE) // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def trace_of(error: BaseException) -> str:
    """Return what an error and its causes say, line by line as in a trace of Java, and Python's own trace below.

    Whoever looks for ``org.apache.kafka.connect.errors.DataException: …`` or ``Caused by: …`` finds it at the begin
    of a line. An error that was never raised has no more to say, and one that has a trace already, such as one of
    another process, keeps that.
    """
    if (own := _own_trace(error)) is not None:
        return own
    return f"{summary_of(error)}\n{_python_trace(error)}" if _was_raised(error) else summary_of(error)


def _was_raised(error: BaseException) -> bool:
    """Tell whether an error was raised, or what it followed from."""
    if error.__traceback__ is not None:
        return True
    before = error.__cause__ or error.__context__
    return before is not None and before.__traceback__ is not None


def summary_of(error: BaseException) -> str:
    """Return what an error and its causes say, with their hints and without the way they took."""
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
    """Return the class of Kafka Connect that an error's own class, and not only one above it, stands for."""
    counterpart = vars(kind).get("java_name")
    if counterpart and isinstance(counterpart, str):
        return counterpart
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a plugin's exception may fail even at this
        return ""


def _own_trace(error: BaseException) -> str | None:
    trace = getattr(error, "trace", None) if isinstance(error, ConnectError) else None
    return trace if trace and isinstance(trace, str) else None


def _python_trace(error: BaseException) -> str:
    """Return Python's trace, which begins with the plugin: the way through the host to it is nobody's business."""
    way = error.__traceback__
    while way is not None and str(way.tb_frame.f_globals.get("__name__")).partition(".")[0] in _HOSTS:
        way = way.tb_next
    way = way or error.__traceback__
    parts = _chained(error, way, set())
    return ("".join(traceback.format_exception(type(error), error, way)) if parts is None else parts).rstrip("\n")


def _chained(error: BaseException, way: TracebackType | None, seen: set[int]) -> str | None:
    """Return what ``traceback.format_exception`` does, whose frames are formatted once for all errors of one kind.

    To format them takes a hundred times as long as to raise the error. Returns None for errors that Python has more
    to say of than their frames and their text.
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
    if way is not None:
        frames = _frames(way)
        if frames is None:
            return None
        opening += _HEADING + frames
    return opening + _last_lines(error)


def _last_lines(error: BaseException) -> str:
    """Return what ``traceback.format_exception_only`` does, which looks at every frame of all causes for it."""
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


def _frames(way: TracebackType) -> str | None:
    """Return the frames of a trace as Python prints them, kept for the next error of this kind; None for too many."""
    passed: list[tuple[CodeType, int]] = []
    step: TracebackType | None = way
    while step is not None:
        passed.append((step.tb_frame.f_code, step.tb_lasti))
        step = step.tb_next
    if len(passed) > _MOST_FRAMES:
        return None
    steps = tuple(passed)
    found = _known_frames.get(steps)
    if found is None:
        found = "".join(traceback.format_tb(way))
        if len(_known_frames) >= _MOST_KINDS:
            _known_frames.clear()
        _known_frames[steps] = found
    return found


class RemoteError(PluginError):
    """A plugin raised in another process; ``info`` says what, ``trace`` keeps where."""

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(f"{info.class_name}: {info.message}" if info.message else info.class_name)
        self.info = info
        self.trace = info.trace

    @property
    def is_retriable(self) -> bool:
        """Return whether the same call may be made again."""
        return self.info.kind == "retriable"


def is_retriable(error: BaseException) -> bool:
    """Return whether ``error`` says that the same call may succeed later, wherever it was raised."""
    return isinstance(error, RetriableError) or (isinstance(error, RemoteError) and error.is_retriable)


@dataclass(slots=True)
class Failure:
    """A record that could not be processed: its row, its phase and class as Kafka Connect names them, and why.

    Nobody changes one. It is not frozen, because one is made for each record that fails, which takes a third of the
    time so.
    """

    row: int
    phase: str
    class_name: str
    error: ErrorInfo

    @classmethod
    def of(cls, row: int, phase: str, class_name: str, error: Exception) -> Failure:
        """Describe what a row failed with; raises the error where no record is to blame for it.

        That is so when the machine has no memory left: Java tolerates no ``Error`` either. A value nested deeper than
        Python's stack is one that cannot be handled, whatever was done with it.
        """
        if isinstance(error, MemoryError):
            raise error
        if isinstance(error, RecursionError):
            error = _too_deep(error)
        return cls(row, phase, class_name, ErrorInfo.of(error))


def _too_deep(error: RecursionError) -> DataError:
    told = DataError("the value is nested deeper than Python's stack, or the plugin calls itself without end")
    told.__cause__ = error
    return told


def first_of_each_row(failures: Iterable[Failure]) -> list[Failure]:
    """Return one failure per row, the first: a record that failed goes through no further phase."""
    found: dict[int, Failure] = {}
    for failure in failures:
        found.setdefault(failure.row, failure)
    return list(found.values())

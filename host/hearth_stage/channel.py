"""A channel: calls, replies and notices over one socket, in both directions at once."""

from __future__ import annotations

import contextlib
import itertools
import logging
import select
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import cached_property
from typing import Any, Protocol, TypeVar

from hearth_api import ConnectError
from hearth_api.batch import Batch
from hearth_execution.failure import ErrorInfo, cut
from hearth_stage.call import Call, Message, Notice, Operations, decoded, encoded
from hearth_stage.frame import MAX_FRAME, PROTOCOL_VERSION, Frame, read_frame, write_frame

R = TypeVar("R")

log = logging.getLogger(__name__)


class ChannelClosed(ConnectError):
    """The other side is gone, so the call has no answer and a notice no reader."""

    code = "channel.closed"


class CallTimeout(ConnectError):
    """The other side did not answer within the deadline."""

    code = "channel.timeout"


class Request:
    """A call or notice that arrived; a call is answered exactly once."""

    def __init__(self, channel: Channel, frame: Frame, known: Operations) -> None:
        self._channel = channel
        self._frame = frame
        self.op = str(frame.header["op"])
        self.tenant = _tenant(frame)
        """Who of those that share the stage it is for, or is from; 0 is the stage as a whole."""
        self.kind: type[Message] | None = None
        """What it is; ``None`` where this side knows no such operation."""
        with contextlib.suppress(KeyError):
            self.kind = known[self.op]

    @property
    def is_call(self) -> bool:
        """Return whether somebody waits for an answer."""
        return self._frame.header.get("id") is not None

    @cached_property
    def message(self) -> Message:
        """Return what the other side said; raises ``ValueError`` where that cannot be read.

        Raises ``LookupError`` for an operation that this side does not know.
        """
        if self.kind is None:
            raise LookupError(f"protocol {PROTOCOL_VERSION} has no operation {cut(self.op, 200)!r}")
        batches = self._frame.batches
        try:
            message: Message = decoded(self.kind, _members(self._frame), batches)
        except ValueError as error:
            raise ValueError(f"{self.op}: {error}") from error
        return message

    def reply(self, answer: Any = None) -> None:
        """Answer a call with what it is answered with; does nothing for a notice."""
        if self.is_call:
            members, batches = encoded(answer)
            self._channel.send({"re": self._frame.header["id"], "args": members}, batches)

    def fail(self, error: BaseException) -> None:
        """Answer a call with what was raised; a notice has nobody to tell."""
        if self.is_call:
            self._channel.send({"re": self._frame.header["id"], "error": ErrorInfo.of(error).to_json()})

    def answer(self, handler: Callable[[Any], Any]) -> None:
        """Give the message to ``handler`` and send what it returns, or what was raised."""
        try:
            self.reply(handler(self.message))
        except ChannelClosed:
            raise
        except Exception as error:  # raised by the handler, or by a reply that is no JSON
            self.fail(error)


def _tenant(frame: Frame) -> int:
    number = frame.header.get("tenant", 0)
    if type(number) is not int:
        raise ValueError(f"not a message: the tenant is {type(number).__name__}, not a number")
    return number


def _members(frame: Frame) -> dict[str, Any]:
    members = frame.header.get("args") or {}
    if not isinstance(members, dict):
        raise ValueError(f"not a message: the arguments are {type(members).__name__}, not an object")
    return members


def _reply(call: Call[R], frame: Frame) -> R:
    """Return the answer in a frame; raises what the other side raised."""
    if (error := frame.header.get("error")) is not None:
        raise ErrorInfo.from_json(error).to_error()
    batches = frame.batches
    try:
        answer: R = decoded(call.reply, _members(frame), batches)
        return call.verify(answer)
    except ValueError as error:
        raise ValueError(f"not a reply to {call.op!r}: {error}") from error


class MessageSender(Protocol):
    """What a plugin speaks through to the other side, for itself or for one of several that share a stage."""

    def call(self, call: Call[R], timeout: float | None = None) -> R:
        """Send a call and wait for its answer."""

    def begin(self, call: Call[R]) -> Future[R]:
        """Send a call and return the future of its answer."""

    def notify(self, notice: Notice) -> None:
        """Send a notice."""


class Channel:
    """One end of a connection.

    A thread of its own reads: a reply completes its call, a request goes to ``on_request`` on that thread, which
    must not block. ``known`` is what the other side may say. What ``on_request`` raises is the answer of a call. A
    notice has no answer, so there it ends the connection, as does what is no frame or longer than ``limit``; ``fault``
    then says why. One that nobody knows is dropped. ``on_close`` runs once, on
    that thread, when the other side is gone. The owner may change the limit when it knows the other side. Batches of
    another side that is not trusted are checked before anything reads them.
    """

    def __init__(
        self,
        sock: socket.socket,
        known: Operations,
        on_request: Callable[[Request], None],
        on_close: Callable[[], None] | None = None,
        name: str = "channel",
        limit: int = MAX_FRAME,
        is_trusted: bool = True,
    ) -> None:
        self.limit = limit
        self.fault: str | None = None
        self._is_trusted = is_trusted
        self._complaint_level = logging.ERROR
        self._socket = sock
        self._known = known
        self._on_request = on_request
        self._on_close = on_close
        self._numbers = itertools.count(1)
        self._calls: dict[int, tuple[Call[Any], Future[Any]]] = {}
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self.closed = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"{name}-reader", daemon=True)

    def start(self) -> Channel:
        """Begin to read."""
        self._reader.start()
        return self

    def call(self, call: Call[R], timeout: float | None = None) -> R:
        """Send a call and wait for its answer; ``timeout`` is in seconds.

        Raises what the other side raised as ``RemoteError``, ``CallTimeout`` or ``ChannelClosed``, and ``ValueError``
        where the answer cannot be understood.
        """
        return _awaited(self.begin(call), call.op, timeout)

    def of(self, tenant: int) -> MessageSender:
        """Return what one of those speaks through who share the stage."""
        return _TenantSender(self, tenant)

    def begin(self, call: Call[R], tenant: int = 0) -> Future[R]:
        """Send a call, to or from a tenant, and return the future of its answer."""
        answer: Future[R] = Future()
        members, batches = encoded(call)
        with self._lock:
            if self.closed.is_set():
                raise ChannelClosed(f"the connection is closed, {call.op!r} was not sent")
            number = next(self._numbers)
            self._calls[number] = call, answer
        try:
            self.send({"id": number, **_head(call, tenant), "args": members}, batches)
        except BaseException:
            self._calls.pop(number, None)
            raise
        return answer

    def notify(self, notice: Notice, tenant: int = 0) -> None:
        """Send a notice, to or from a tenant."""
        members, batches = encoded(notice)
        self.send({**_head(notice, tenant), "args": members}, batches)

    def remind(self, notice: Notice) -> None:
        """Send a notice where that waits for nobody.

        It is left out while another thread writes, and where the other side takes in nothing.
        """
        if not self._write_lock.acquire(blocking=False):
            return
        try:
            if _has_room(self._socket):
                write_frame(self._socket, {**_head(notice, 0), "args": encoded(notice)[0]})
        except OSError as error:
            raise _gone(error) from error
        finally:
            self._write_lock.release()

    def send(self, header: dict[str, Any], batches: Sequence[Batch] = ()) -> None:
        """Write one frame; raises ``ChannelClosed`` when nobody reads any more."""
        try:
            with self._write_lock:
                write_frame(self._socket, header, batches)
        except OSError as error:
            raise _gone(error) from error

    def close(self) -> None:
        """Close the connection; calls that wait end with ``ChannelClosed``. May be called from any thread, again."""
        with contextlib.suppress(OSError):  # the other side was quicker, which is what was wanted
            self._socket.shutdown(socket.SHUT_RDWR)
        if self._reader.is_alive() and threading.current_thread() is not self._reader:
            self._reader.join(timeout=5)

    def _read(self) -> None:
        try:
            while (frame := read_frame(self._socket, self.limit, self._is_trusted)) is not None:
                self._dispatch(frame)
        except (OSError, EOFError, ChannelClosed):
            pass  # a stream that breaks off ends the connection like a closed one
        except Exception as error:
            self.fault = cut(f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}", 1000)
        finally:
            self._end()

    def _dispatch(self, frame: Frame) -> None:
        if "op" in frame.header:
            self._serve(Request(self, frame, self._known))
            return
        with self._lock:
            found = self._calls.pop(frame.header.get("re", 0), None)
        if found is None:
            return
        call, answer = found
        try:
            answer.set_result(_reply(call, frame))
        except Exception as error:
            answer.set_exception(error)

    def _serve(self, request: Request) -> None:
        try:
            self._on_request(request)
        except ChannelClosed:
            raise
        except Exception as error:
            if request.kind is None:
                request.fail(error)
                return
            op = cut(request.op, 200)
            log.log(self._complaint_level, "%r of the other side was not served", op, exc_info=True)
            self._complaint_level = logging.DEBUG  # one is enough: it may ask again without end
            if not request.is_call:
                raise ValueError(f"notice {op!r} was not served: {type(error).__name__}: {error}") from error
            request.fail(error)

    def _end(self) -> None:
        with self._lock:
            self.closed.set()
            calls, self._calls = self._calls, {}
        for _, answer in calls.values():
            answer.set_exception(ChannelClosed("the other side closed the connection"))
        self._socket.close()
        if self._on_close is not None:
            self._on_close()


class _TenantSender:
    """The words of one of those who share a stage."""

    def __init__(self, channel: Channel, tenant: int) -> None:
        self._channel = channel
        self._tenant = tenant

    def call(self, call: Call[R], timeout: float | None = None) -> R:
        return _awaited(self.begin(call), call.op, timeout)

    def begin(self, call: Call[R]) -> Future[R]:
        return self._channel.begin(call, self._tenant)

    def notify(self, notice: Notice) -> None:
        self._channel.notify(notice, self._tenant)


def _gone(error: OSError) -> ChannelClosed:
    return ChannelClosed(f"the other side is gone: {error.strerror or error}")


def _has_room(sock: socket.socket) -> bool:
    """Return whether the kernel takes in a few bytes more; raises ``OSError`` for a socket that is closed."""
    asked = select.poll()
    try:
        asked.register(sock, select.POLLOUT)
    except ValueError as error:
        raise OSError("it is closed") from error
    return bool(asked.poll(0))


def _head(message: Message, tenant: int) -> dict[str, Any]:
    return {"op": message.op, "tenant": tenant} if tenant else {"op": message.op}


def _awaited(answer: Future[R], op: str, timeout: float | None) -> R:
    try:
        return answer.result(timeout)
    except FutureTimeoutError:
        raise CallTimeout(f"no answer to {op!r} within {timeout:g} s") from None

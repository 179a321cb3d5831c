"""A channel: calls, replies and notices over one socket, in both directions at the same time."""

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
    """The other side is gone, so a call gets no answer and a notice no reader."""

    code = "channel.closed"


class CallTimeout(ConnectError):
    """The other side did not answer within the deadline."""

    code = "channel.timeout"


class Request:
    """A received call or notice; a call is answered exactly once."""

    def __init__(self, channel: Channel, frame: Frame, known: Operations) -> None:
        self._channel = channel
        self._frame = frame
        self.op = str(frame.header["op"])
        self.tenant = _tenant(frame)
        """The tenant that sends or receives it; 0 is the whole stage."""
        self.kind: type[Message] | None = None
        """Its message class; ``None`` for an unknown operation."""
        with contextlib.suppress(KeyError):
            self.kind = known[self.op]

    @property
    def is_call(self) -> bool:
        """Return whether it expects an answer."""
        return self._frame.header.get("id") is not None

    @cached_property
    def message(self) -> Message:
        """Return the message; raises ``ValueError`` if it is malformed.

        Raises ``LookupError`` for an unknown operation.
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
        """Answer a call; does nothing for a notice."""
        if self.is_call:
            members, batches = encoded(answer)
            self._channel.send({"re": self._frame.header["id"], "args": members}, batches)

    def fail(self, error: BaseException) -> None:
        """Answer a call with an error; does nothing for a notice."""
        if self.is_call:
            self._channel.send({"re": self._frame.header["id"], "error": ErrorInfo.of(error).to_json()})

    def answer(self, handler: Callable[[Any], Any]) -> None:
        """Pass the message to ``handler``, and answer with its result or error."""
        try:
            self.reply(handler(self.message))
        except ChannelClosed:
            raise
        except Exception as error:  # raised by the handler, or for a reply that is not JSON
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
    """Return the answer in a frame; raises the error of the other side."""
    if (error := frame.header.get("error")) is not None:
        raise ErrorInfo.from_json(error).to_error()
    batches = frame.batches
    try:
        answer: R = decoded(call.reply, _members(frame), batches)
        return call.verify(answer)
    except ValueError as error:
        raise ValueError(f"not a reply to {call.op!r}: {error}") from error


class MessageSender(Protocol):
    """Sends messages of a plugin, for the whole stage or for one of its tenants."""

    def call(self, call: Call[R], timeout: float | None = None) -> R:
        """Send a call and wait for its answer."""

    def begin(self, call: Call[R]) -> Future[R]:
        """Send a call and return the future of its answer."""

    def notify(self, notice: Notice) -> None:
        """Send a notice."""


class Channel:
    """One end of a connection.

    Its own thread reads: a reply completes its call, a request is passed to ``on_request`` on that thread, which must
    not block. ``known`` are the operations of the other side. An error of ``on_request`` is sent as the answer to a
    call. A notice has no answer, so there the error ends the connection, as does a malformed frame or one longer than
    ``limit``; ``fault`` holds the reason. An unknown notice is dropped. ``on_close`` runs once, on that thread, when
    the other side is gone. The owner may change the limit once it knows the other side. Batches from a side that is
    not trusted are validated before use.
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
        """Start to read."""
        self._reader.start()
        return self

    def call(self, call: Call[R], timeout: float | None = None) -> R:
        """Send a call and wait for its answer; ``timeout`` is in seconds.

        Raises the other side's error as ``RemoteError``, ``CallTimeout`` or ``ChannelClosed``, and ``ValueError`` if
        the answer is malformed.
        """
        return _awaited(self.begin(call), call.op, timeout)

    def of(self, tenant: int) -> MessageSender:
        """Return the sender of one tenant of the stage."""
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

    def remind(self, notice: Notice) -> bool:
        """Send a notice only if that does not block; return whether it was sent.

        It is dropped while another thread writes, and if the other side does not read.
        """
        if not self._write_lock.acquire(blocking=False):
            return False
        try:
            if has_room := _has_room(self._socket):
                write_frame(self._socket, {**_head(notice, 0), "args": encoded(notice)[0]})
            return has_room
        except OSError as error:
            raise _gone(error) from error
        finally:
            self._write_lock.release()

    def send(self, header: dict[str, Any], batches: Sequence[Batch] = ()) -> None:
        """Write one frame; raises ``ChannelClosed`` if the other side has closed."""
        try:
            with self._write_lock:
                write_frame(self._socket, header, batches)
        except OSError as error:
            raise _gone(error) from error

    def close(self) -> None:
        """Close the connection; pending calls fail with ``ChannelClosed``. May be called from any thread, again."""
        with contextlib.suppress(OSError):  # the other side closed first
            self._socket.shutdown(socket.SHUT_RDWR)
        if self._reader.is_alive() and threading.current_thread() is not self._reader:
            self._reader.join(timeout=5)

    def _read(self) -> None:
        try:
            while (frame := read_frame(self._socket, self.limit, self._is_trusted)) is not None:
                self._dispatch(frame)
        except (OSError, EOFError, ChannelClosed):
            pass  # a stream that breaks off is the same as a closed one
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
            log.log(self._complaint_level, "cannot handle %r of the other side", op, exc_info=True)
            self._complaint_level = logging.DEBUG  # log once: the other side may repeat it forever
            if not request.is_call:
                raise ValueError(f"cannot handle notice {op!r}: {type(error).__name__}: {error}") from error
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
    """Sends the messages of one tenant of a stage."""

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
    """Return whether the kernel accepts a few more bytes; raises ``OSError`` for a closed socket."""
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

"""A channel: requests, replies and notices over one socket, in both directions at once."""

from __future__ import annotations

import contextlib
import itertools
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from typing import Any

from hearth_api import Batch, ConnectError
from hearth_execution.failure import ErrorInfo, cut
from hearth_stage.frame import MAX_FRAME, Frame, read_frame, write_frame

log = logging.getLogger(__name__)


class ChannelClosed(ConnectError):
    """The other side is gone, so the call has no answer and a notice no reader."""

    code = "channel.closed"


class CallTimeout(ConnectError):
    """The other side did not answer within the deadline."""

    code = "channel.timeout"


@dataclass(frozen=True)
class Reply:
    """The answer to a call: its members and record batches."""

    args: dict[str, Any] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)


class Request:
    """A call or notice that arrived; a call is answered exactly once."""

    def __init__(self, channel: Channel, frame: Frame) -> None:
        self._channel = channel
        self._frame = frame
        self.op = str(frame.header["op"])
        self.args: dict[str, Any] = frame.header.get("args") or {}
        if not isinstance(self.args, dict):
            raise ValueError(f"not a request: the arguments are {type(self.args).__name__}, not an object")

    @property
    def is_call(self) -> bool:
        """Return whether somebody waits for an answer."""
        return self._frame.header.get("id") is not None

    @property
    def batches(self) -> list[Batch]:
        """Return the record batches that came with the request."""
        return self._frame.batches

    def reply(self, args: dict[str, Any] | None = None, batches: Sequence[Batch] = ()) -> None:
        """Answer a call; does nothing for a notice."""
        if self.is_call:
            self._channel.send({"re": self._frame.header["id"], "args": args or {}}, batches)

    def fail(self, error: BaseException) -> None:
        """Answer a call with what was raised; a notice has nobody to tell."""
        if self.is_call:
            self._channel.send({"re": self._frame.header["id"], "error": ErrorInfo.of(error).to_json()})

    def answer(self, handler: Callable[[Request], Reply | None]) -> None:
        """Run ``handler`` and send its reply, or what it raised."""
        try:
            reply = handler(self) or Reply()
            self.reply(reply.args, reply.batches)
        except ChannelClosed:
            raise
        except Exception as error:  # raised by the handler, or by a reply that is no JSON
            self.fail(error)


def _reply(frame: Frame) -> Reply:
    """Return the answer in a frame; raises what the other side raised."""
    if (error := frame.header.get("error")) is not None:
        raise ErrorInfo.from_json(error).to_error()
    args = frame.header.get("args") or {}
    if not isinstance(args, dict):
        raise ValueError(f"not a reply: the arguments are {type(args).__name__}, not an object")
    return Reply(args, frame.batches)


class Channel:
    """One end of a connection.

    A thread of its own reads: a reply completes its call, a request goes to ``on_request`` on that thread, which
    must not block. What ``on_request`` raises is the answer of a call. A notice has no answer, so there it ends the
    connection, as does what is no frame or longer than ``limit``; ``fault`` then says why. ``on_close`` runs once, on
    that thread, when the other side is gone. The owner may change the limit when it knows the other side. Batches of
    another side that is not trusted are checked before anything reads them.
    """

    def __init__(
        self,
        sock: socket.socket,
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
        self._on_request = on_request
        self._on_close = on_close
        self._numbers = itertools.count(1)
        self._calls: dict[int, Future[Reply]] = {}
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self.closed = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"{name}-reader", daemon=True)

    def start(self) -> Channel:
        """Begin to read."""
        self._reader.start()
        return self

    def call(
        self,
        op: str,
        args: dict[str, Any] | None = None,
        batches: Sequence[Batch] = (),
        timeout: float | None = None,
    ) -> Reply:
        """Send a request and wait for its answer; ``timeout`` is in seconds.

        Raises what the other side raised as ``RemoteError``, ``CallTimeout`` or ``ChannelClosed``.
        """
        call = self.begin(op, args, batches)
        try:
            return call.result(timeout)
        except FutureTimeoutError:
            raise CallTimeout(f"no answer to {op!r} within {timeout:g} s") from None

    def begin(self, op: str, args: dict[str, Any] | None = None, batches: Sequence[Batch] = ()) -> Future[Reply]:
        """Send a request and return the future of its answer."""
        call: Future[Reply] = Future()
        with self._lock:
            if self.closed.is_set():
                raise ChannelClosed(f"the connection is closed, {op!r} was not sent")
            number = next(self._numbers)
            self._calls[number] = call
        try:
            self.send({"id": number, "op": op, "args": args or {}}, batches)
        except BaseException:
            self._calls.pop(number, None)
            raise
        return call

    def notify(self, op: str, args: dict[str, Any] | None = None, batches: Sequence[Batch] = ()) -> None:
        """Send a request that has no answer."""
        self.send({"op": op, "args": args or {}}, batches)

    def send(self, header: dict[str, Any], batches: Sequence[Batch] = ()) -> None:
        """Write one frame; raises ``ChannelClosed`` when nobody reads any more."""
        try:
            with self._write_lock:
                write_frame(self._socket, header, batches)
        except OSError as error:
            raise ChannelClosed(f"the other side is gone: {error.strerror or error}") from error

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
            self._serve(Request(self, frame))
            return
        with self._lock:
            call = self._calls.pop(frame.header.get("re", 0), None)
        if call is None:
            return
        try:
            call.set_result(_reply(frame))
        except Exception as error:
            call.set_exception(error)

    def _serve(self, request: Request) -> None:
        try:
            self._on_request(request)
        except ChannelClosed:
            raise
        except Exception as error:
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
        for call in calls.values():
            call.set_exception(ChannelClosed("the other side closed the connection"))
        self._socket.close()
        if self._on_close is not None:
            self._on_close()

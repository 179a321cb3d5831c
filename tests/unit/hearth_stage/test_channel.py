"""Channels: the two ends of a socket pair call each other."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import STRING_SCHEMA, ConfigError, DataError, RetriableError
from hearth_api.batch import Batch
from hearth_execution.failure import ErrorInfo, RemoteError, is_retriable
from hearth_stage.call import Call, Notice, operations
from hearth_stage.channel import CallTimeout, Channel, ChannelClosed, Request
from hearth_stage.frame import Frame, read_frame, widen, write_frame
from tests.timeouts import TIMEOUT

Connect = Callable[..., tuple[Channel, Channel]]
RAISED: dict[str, BaseException] = {
    "data": DataError("bad data"),
    "retriable": RetriableError("later"),
    "config": ConfigError("topic", None, "missing"),
    "plugin": RuntimeError("whatever"),
}


@dataclass(frozen=True)
class Echoed:
    """The reply of ``Echo``."""

    value: Any = None
    batches: list[Batch] = field(default_factory=list)


@dataclass(frozen=True)
class Echo(Call[Echoed], op="echo"):
    """Returns its members."""

    value: Any = None
    batches: list[Batch] = field(default_factory=list)


@dataclass(frozen=True)
class Raise(Call[None], op="raise"):
    """Raises an error."""

    what: str


@dataclass(frozen=True)
class Odd(Call[Echoed], op="odd"):
    """Returns what no frame can hold."""


@dataclass(frozen=True)
class Nothing(Call[None], op="nothing"):
    """Returns nothing."""


@dataclass(frozen=True)
class Silence(Call[None], op="silence"):
    """Is not answered."""


@dataclass(frozen=True)
class Late(Call[Echoed], op="late"):
    """Is answered later."""


@dataclass(frozen=True)
class Unknown(Call[None], op="unknown"):
    """An operation that the other side does not know."""


@dataclass(frozen=True)
class Note(Notice, op="note"):
    """A notice."""

    value: int
    batches: list[Batch] = field(default_factory=list)


@dataclass(frozen=True)
class Word(Notice, op="word"):
    """A notice with a word."""

    text: str


KNOWN = operations(Echo, Raise, Odd, Nothing, Silence, Late, Note)


def serve(request: Request) -> None:
    """Answer the operations of the tests."""

    def handle(asked: Any) -> Echoed | None:
        if isinstance(asked, Raise):
            raise RAISED[asked.what]
        if isinstance(asked, Echo):
            return Echoed(asked.value, asked.batches)
        return Echoed(object()) if isinstance(asked, Odd) else None

    if request.kind is not Silence:
        request.answer(handle)


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connect two channels that are closed after the test."""
    opened: list[Channel] = []

    def start(
        left: Callable[[Request], None] = serve,
        right: Callable[[Request], None] = serve,
        on_close: Callable[[], None] | None = None,
    ) -> tuple[Channel, Channel]:
        ours, theirs = socket.socketpair()
        widen(ours)
        widen(theirs)
        opened.extend([Channel(ours, KNOWN, left).start(), Channel(theirs, KNOWN, right, on_close).start()])
        return opened[-2], opened[-1]

    yield start
    for channel in opened:
        channel.close()


def sample(*values: str) -> Batch:
    """Return a batch of values."""
    data = pa.RecordBatch.from_arrays([pa.array(values, pa.string())], names=["value"])
    return Batch("t", None, STRING_SCHEMA, data)


def test_call_gets_its_answer(connect: Connect) -> None:
    """Members and batches of the reply are those of the other side."""
    left, _ = connect()
    reply = left.call(Echo({"a": 1}, [sample("x"), sample("y", "z")]), timeout=TIMEOUT)
    assert reply.value == {"a": 1}
    assert [batch.column("value").to_pylist() for batch in reply.batches] == [["x"], ["y", "z"]]


def test_handler_that_returns_nothing_answers_with_nothing(connect: Connect) -> None:
    """Every call has an answer, possibly an empty one."""
    left, _ = connect()
    assert left.call(Nothing(), timeout=TIMEOUT) is None


def test_both_ends_call_at_once(connect: Connect) -> None:
    """Call numbers belong to the side that makes the call, so equal numbers do not collide."""
    left, right = connect()
    answers = [(left.begin(Echo(n)), right.begin(Echo(-n))) for n in range(100)]
    assert [ours.result(TIMEOUT).value for ours, _ in answers] == list(range(100))
    assert [theirs.result(TIMEOUT).value for _, theirs in answers] == [-n for n in range(100)]


def test_threads_share_a_channel(connect: Connect) -> None:
    """Frames of several threads do not mix, and each thread gets its own answer."""
    left, _ = connect()
    with ThreadPoolExecutor(8) as pool:
        wanted = [f"{number}" * 3000 for number in range(100)]
        found = pool.map(lambda text: left.call(Echo(batches=[sample(text)]), timeout=TIMEOUT), wanted)
        assert [reply.batches[0].column("value")[0].as_py() for reply in found] == wanted


def test_answers_may_come_in_another_order(connect: Connect) -> None:
    """An answer is matched to its call by number."""
    kept: list[Request] = []
    both = threading.Event()

    def keep(request: Request) -> None:
        kept.append(request)
        if len(kept) == 2:
            both.set()

    left, _ = connect(right=keep)
    first, second = left.begin(Late()), left.begin(Late())
    assert both.wait(TIMEOUT)
    kept[1].reply(Echoed("b"))
    assert second.result(TIMEOUT).value == "b"
    assert not first.done()
    kept[0].reply(Echoed("a"))
    assert first.result(TIMEOUT).value == "a"


def test_reminder_does_not_block() -> None:
    """It is dropped while another thread writes, and if the other side does not read."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, {}, serve)
        channel.remind(Word("first"))
        long = threading.Thread(target=channel.notify, args=[Word("long" * (1 << 20))])
        long.start()
        assert read_frame(theirs) == Frame({"op": "word", "args": {"text": "first"}})
        assert theirs.recv(1, socket.MSG_PEEK)  # the thread writes and blocks
        channel.remind(Word("meanwhile"))
        assert read_frame(theirs) == Frame({"op": "word", "args": {"text": "long" * (1 << 20)}})
        long.join()
        room = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                room += ours.send(bytes(1 << 16), socket.MSG_DONTWAIT)
        channel.remind(Word("full"))
        ours.shutdown(socket.SHUT_WR)
        assert sum(map(len, iter(lambda: theirs.recv(1 << 16), b""))) == room
        with pytest.raises(ChannelClosed, match="the other side is gone"):
            channel.remind(Word("late"))
    with pytest.raises(ChannelClosed, match="the other side is gone"):
        channel.remind(Word("later"))


def test_notice_has_no_answer(connect: Connect) -> None:
    """A notice arrives like a call; answering it sends nothing."""
    came: list[Request] = []
    arrived = threading.Event()

    def note(request: Request) -> None:
        came.append(request)
        request.reply(Echoed("to nobody"))
        request.fail(ValueError("nobody hears this"))
        arrived.set()

    sent: list[Any] = []
    left, right = connect(right=note)
    right.send = lambda *frame: sent.append(frame)  # type: ignore[method-assign]
    left.notify(Note(1, [sample("x")]))
    assert arrived.wait(TIMEOUT)
    message = came[0].message
    assert isinstance(message, Note)
    assert (came[0].op, message.value, message.batches[0].num_rows) == ("note", 1, 1)
    assert sent == []


@pytest.mark.parametrize("what", RAISED)
def test_remote_error_is_raised_locally(connect: Connect, what: str) -> None:
    """Kind, text and trace of an exception are sent; the exception itself is not."""
    left, _ = connect()
    with pytest.raises(RemoteError) as caught:
        left.call(Raise(what), timeout=TIMEOUT)
    error = RAISED[what]
    assert str(caught.value) == f"{ErrorInfo.of(error).class_name}: {error}"
    assert caught.value.info.kind == what
    assert "in handle" in caught.value.info.trace
    assert is_retriable(caught.value) == (what == "retriable")


def test_reply_that_is_not_json_fails_its_call(connect: Connect) -> None:
    """A handler that returns what a frame cannot hold fails its own call only."""
    left, _ = connect()
    with pytest.raises(RemoteError, match="not JSON serializable"):
        left.call(Odd(), timeout=TIMEOUT)
    assert left.call(Echo({"a": 1}), timeout=TIMEOUT).value == {"a": 1}


def test_request_that_is_not_json_is_rejected_locally(connect: Connect) -> None:
    """A call that cannot be written raises at once, and the connection stays usable."""
    left, _ = connect()
    with pytest.raises(TypeError):
        left.begin(Echo(object()))
    assert left.call(Echo({"a": 1}), timeout=TIMEOUT).value == {"a": 1}


def test_call_without_answer_times_out_by_name(connect: Connect) -> None:
    """The timeout of a call names the operation; the channel stays usable."""
    left, _ = connect()
    with pytest.raises(CallTimeout, match=r"no answer to 'silence' within 0\.05 s"):
        left.call(Silence(), timeout=0.05)
    assert left.call(Echo({"a": 1}), timeout=TIMEOUT).value == {"a": 1}


def test_late_answer_is_ignored(connect: Connect) -> None:
    """An answer to a call that was given up, or to no call, does no harm."""
    kept: list[Request] = []
    left, right = connect(right=lambda request: kept.append(request) if request.kind is Late else serve(request))
    with pytest.raises(CallTimeout):
        left.call(Late(), timeout=0.05)
    left.call(Echo(), timeout=TIMEOUT)  # the first has arrived by now
    kept[0].reply()
    right.send({"re": 4711, "args": {}})
    assert left.call(Echo({"a": 1}), timeout=TIMEOUT).value == {"a": 1}


def test_end_of_the_other_side_ends_waiting_calls(connect: Connect) -> None:
    """A call whose answer can no longer arrive fails, and so does every later call."""
    left, right = connect()
    waiting = left.begin(Silence())
    right.close()
    with pytest.raises(ChannelClosed):
        waiting.result(TIMEOUT)
    with pytest.raises(ChannelClosed, match="'echo' was not sent"):
        left.call(Echo())
    with pytest.raises(ChannelClosed):
        left.notify(Note(1))


def test_close_is_reported_once_on_either_side(connect: Connect) -> None:
    """``on_close`` runs once, whichever side closed, however often."""
    closed: list[int] = []
    done = threading.Event()

    def on_close() -> None:
        closed.append(1)
        done.set()

    left, right = connect(on_close=on_close)
    left.close()
    assert done.wait(TIMEOUT)
    right.close()
    right.close()
    left.close()
    assert closed == [1]


def test_handler_may_close_its_own_channel(connect: Connect) -> None:
    """The reading thread does not wait for itself when it closes the channel."""
    ends: list[Channel] = []
    left, right = connect(right=lambda request: ends[0].close())
    ends.append(right)
    with pytest.raises(ChannelClosed):
        left.call(Nothing(), timeout=TIMEOUT)


def test_broken_stream_ends_the_connection() -> None:
    """A malformed frame ends a channel as a closed connection does."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(ours, KNOWN, serve).start()
        waiting = channel.begin(Silence())
        theirs.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(ChannelClosed):
            waiting.result(TIMEOUT)
        channel.close()


def test_reply_that_cannot_be_read_fails_its_call() -> None:
    """A body that is not an Arrow stream fails the call at once."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(ours, KNOWN, serve).start()
        waiting = channel.begin(Echo())
        asked = read_frame(theirs)
        assert asked is not None
        text = b'{"re":%d,"args":{},"batches":[3]}' % asked.header["id"]
        theirs.sendall((7 + len(text)).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text + b"abc")
        with pytest.raises(pa.ArrowInvalid):
            waiting.result(TIMEOUT)
        channel.close()


def test_calls_match_the_specification() -> None:
    """A call has ``id``, ``op`` and ``args``, a notice no ``id``; an answer has its call's number in ``re``."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(ours, KNOWN, serve).start()
        channel.begin(Raise("x"))
        channel.notify(Note(2))
        frames = [read_frame(theirs), read_frame(theirs)]
        assert frames == [
            Frame({"id": 1, "op": "raise", "args": {"what": "x"}}),
            Frame({"op": "note", "args": {"value": 2}}),
        ]
        write_frame(theirs, {"id": 9, "op": "raise", "args": {"what": "data"}})
        answer = read_frame(theirs)
        assert answer is not None
        assert answer.header["re"] == 9
        assert list(answer.header["error"]) == ["kind", "class_name", "message", "trace"]
        channel.close()


def careless(request: Request) -> None:
    """Serve requests like a handler with a bug."""
    if request.kind is not Echo:
        raise KeyError("groups")
    serve(request)


def test_error_of_a_call_handler_is_the_answer(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    """An error on the reader's thread is sent to the caller and logged once; the connection stays open."""
    left, right = connect(right=careless)
    for _ in range(100):
        with pytest.raises(RemoteError, match="KeyError: 'groups'"):
            left.call(Nothing(), timeout=TIMEOUT)
    assert len(caplog.records) == 1
    assert left.call(Echo({"a": 1}), timeout=TIMEOUT).value == {"a": 1}
    assert right.fault is None


def test_error_of_a_notice_handler_ends_the_connection_with_the_reason(connect: Connect) -> None:
    """No caller waits for an answer, so continuing would lose the notice."""
    closed = threading.Event()
    left, right = connect(right=careless, on_close=closed.set)
    left.notify(Note(1))
    assert closed.wait(TIMEOUT)
    assert right.fault == "cannot handle notice 'note': KeyError: 'groups'"
    with pytest.raises(ChannelClosed):
        left.call(Echo(), timeout=TIMEOUT)


def test_unknown_call_is_rejected_by_name(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    """It may come from a later version of the protocol, so it is not logged."""
    left, right = connect(right=lambda request: request.answer(lambda message: None))
    with pytest.raises(RemoteError, match="protocol 5 has no operation 'unknown'"):
        left.call(Unknown(), timeout=TIMEOUT)
    left.send({"op": "unknown", "args": {}})  # as a notice
    left.call(Nothing(), timeout=TIMEOUT)
    assert (right.fault, caplog.records) == (None, [])


def test_malformed_call_is_answered_with_the_reason(connect: Connect) -> None:
    """The caller gets the reason."""
    left, _ = connect()
    with pytest.raises(RemoteError, match="raise: 'what': 5 is not text"):
        left.call(Raise(5), timeout=TIMEOUT)  # type: ignore[arg-type]


def test_malformed_notice_ends_the_connection_with_the_reason(connect: Connect) -> None:
    """The reason is reported."""
    closed = threading.Event()
    left, right = connect(right=lambda request: print(request.message), on_close=closed.set)
    left.notify(Note("five"))  # type: ignore[arg-type]
    assert closed.wait(TIMEOUT)
    assert right.fault == "cannot handle notice 'note': ValueError: note: 'value': 'five' is not a whole number"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"re":[1]}', "TypeError"),
        (b'{"op":"note","args":[1]}', "the arguments are list"),
        (b'{"op":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "RecursionError"),
        (b'{"op":"x","batches":"x"}', "not a list of numbers"),
    ],
    ids=["odd number", "odd arguments", "deep", "odd lengths"],
)
def test_malformed_message_ends_the_connection_with_the_reason(text: bytes, says: str) -> None:
    """The reader's thread survives any input and reports the reason."""
    ours, theirs = socket.socketpair()
    closed = threading.Event()
    with theirs:
        channel = Channel(ours, KNOWN, lambda request: print(request.message), closed.set).start()
        channel.begin(Echo())
        theirs.sendall((4 + len(text)).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text)
        assert closed.wait(TIMEOUT)
        assert says in str(channel.fault)
        channel.close()


def test_reply_with_malformed_arguments_fails_its_call() -> None:
    """The caller may rely on an object."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(ours, KNOWN, serve).start()
        waiting = channel.begin(Echo())
        write_frame(theirs, {"re": 1, "args": ["x"]})
        with pytest.raises(ValueError, match="not a reply"):
            waiting.result(TIMEOUT)
        channel.close()

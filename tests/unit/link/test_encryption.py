"""An encrypted connection: one reads, many write, and it is known who ended it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from hearth.foundation.certificate import make_identity
from hearth.link.encryption import EncryptedSocket, client_context, server_context
from hearth_stage.call import operations
from hearth_stage.channel import Channel, ChannelClosed, Request
from tests.timeouts import TIMEOUT
from tests.unit.hearth_stage.test_channel import Echo, Echoed, Word

KNOWN = operations(Echo, Word)
WRITERS, CALLS = 8, 60


@pytest.fixture
def pair() -> Iterator[tuple[EncryptedSocket, EncryptedSocket]]:
    """Provide both ends of a connection, the server's first."""
    identity = make_identity()
    near, far = socket.socketpair()
    with (
        EncryptedSocket(near, server_context(identity), is_server=True) as server,
        EncryptedSocket(far, client_context(identity.certificate), is_server=False) as client,
    ):
        for each in (server, client):
            each.settimeout(TIMEOUT)
        yield server, client


def echo(request: Request) -> None:
    """Answer with what was sent."""
    request.answer(lambda asked: Echoed(asked.said))


def text_of(number: int, count: int) -> str:
    """Return a text that is like no other, some of them longer than any buffer."""
    return f"{number}:{count}:" + "x" * (1 << 20 if count % 20 == 7 else count)


def test_many_write_while_one_reads(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Calls one way, their answers and notices the other: nothing is mixed up or left out."""
    greet(pair)
    noticed: list[str] = []
    server = Channel(pair[0], KNOWN, echo, name="server").start()
    answers: list[str] = []

    def note(request: Request) -> None:
        word = request.message
        assert isinstance(word, Word)
        noticed.append(word.text)

    client = Channel(pair[1], KNOWN, note, name="client").start()

    def call(number: int) -> None:
        answers.extend(client.call(Echo(text_of(number, count)), timeout=TIMEOUT).said for count in range(CALLS))

    def notify(number: int) -> None:
        for count in range(CALLS):
            server.notify(Word(text_of(number, count)))

    threads = [threading.Thread(target=each, args=(number,)) for each in (call, notify) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * TIMEOUT)
    assert not any(thread.is_alive() for thread in threads)
    client.call(Echo(), timeout=TIMEOUT)  # behind all notices
    expected = sorted(text_of(number, count) for number in range(WRITERS) for count in range(CALLS))
    assert sorted(answers) == expected
    assert sorted(noticed) == expected
    client.close()


def greet(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Let both ends agree on their keys."""
    other = threading.Thread(target=pair[0].greet)
    other.start()
    pair[1].greet()
    other.join(TIMEOUT)


def test_end_by_the_peer_is_told_from_an_end_by_oneself(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Only the peer can say that it is done."""
    greet(pair)
    pair[0].end()
    for each in pair:
        with pytest.raises(OSError):  # noqa: PT011 -- an end within the encryption, of which ssl has several
            each.recv_into(bytearray(1))
    assert [each.has_ended for each in pair] == [False, True]


def test_what_was_changed_on_its_way_ends_the_connection(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Nobody between the two can alter a bit."""
    greet(pair)
    server, client = pair
    client._tls.write(b"offsets")
    record = bytearray(client._leaving.read())
    record[-1] ^= 1
    socket.socket.sendall(client, record)
    with pytest.raises(OSError, match=r"(?i)bad record mac|decryption failed"):
        server.recv_into(bytearray(10))


def test_writer_whose_peer_takes_nothing_ends_the_connection(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Half a record is of no use to anybody, so nothing may follow it."""
    greet(pair)
    server = Channel(pair[0], KNOWN, echo, name="server").start()
    pair[0].settimeout(0.2)
    with pytest.raises(ChannelClosed):
        server.notify(Word("x" * (8 << 20)))
    assert server.closed.wait(TIMEOUT)

"""An encrypted connection: one thread reads, many write, and the side that ended it is known."""

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
    """Return the request."""
    request.answer(lambda asked: Echoed(asked.value))


def text_of(number: int, count: int) -> str:
    """Return a unique text, sometimes longer than any buffer."""
    return f"{number}:{count}:" + "x" * (1 << 20 if count % 20 == 7 else count)


def test_many_write_while_one_reads(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Calls in one direction, their answers and notices in the other: nothing is mixed up or lost."""
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
        answers.extend(client.call(Echo(text_of(number, count)), timeout=TIMEOUT).value for count in range(CALLS))

    def notify(number: int) -> None:
        for count in range(CALLS):
            server.notify(Word(text_of(number, count)))

    threads = [threading.Thread(target=each, args=(number,)) for each in (call, notify) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * TIMEOUT)
    assert not any(thread.is_alive() for thread in threads)
    client.call(Echo(), timeout=TIMEOUT)  # after all notices
    expected = sorted(text_of(number, count) for number in range(WRITERS) for count in range(CALLS))
    assert sorted(answers) == expected
    assert sorted(noticed) == expected
    client.close()


def greet(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Perform the handshake at both ends."""
    other = threading.Thread(target=pair[0].greet)
    other.start()
    pair[1].greet()
    other.join(TIMEOUT)


def test_end_by_the_peer_is_distinguished_from_a_local_end(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Only the peer can close its side."""
    greet(pair)
    pair[0].end()
    for each in pair:
        with pytest.raises(OSError):  # noqa: PT011 -- an unexpected end, for which ssl has several errors
            each.recv_into(bytearray(1))
    assert [each.has_ended for each in pair] == [False, True]


def test_modified_data_ends_the_connection(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """An attacker in between cannot change a bit."""
    greet(pair)
    server, client = pair
    client._tls.write(b"offsets")
    record = bytearray(client._leaving.read())
    record[-1] ^= 1
    socket.socket.sendall(client, record)
    with pytest.raises(OSError, match=r"(?i)bad record mac|decryption failed"):
        server.recv_into(bytearray(10))


def test_blocked_writer_ends_the_connection(pair: tuple[EncryptedSocket, EncryptedSocket]) -> None:
    """Half a record is useless, so nothing may follow it."""
    greet(pair)
    server = Channel(pair[0], KNOWN, echo, name="server").start()
    pair[0].settimeout(0.2)
    with pytest.raises(ChannelClosed):
        server.notify(Word("x" * (8 << 20)))
    assert server.closed.wait(TIMEOUT)

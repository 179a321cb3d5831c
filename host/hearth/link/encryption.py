"""Encrypted connections between a host and its tasks: TLS 1.3, pinned to the host's certificate.

The host creates a key when it starts. A task receives its certificate together with its token and connects to no other
peer; the task sends the token, which identifies it, inside the encrypted connection.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from hearth.foundation.certificate import Identity

_RECEIVED_BYTES = 1 << 16


def server_context(identity: Identity) -> ssl.SSLContext:
    """Return the TLS context of a host, with its own key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # sessions are not resumed: a link does not reconnect
    with tempfile.TemporaryDirectory(prefix="hearth-key-") as folder:  # OpenSSL reads files; only this user may
        path = Path(folder, "identity.pem")
        path.write_text(identity.key + identity.certificate)
        context.load_cert_chain(path)
    return context


def client_context(certificate: str) -> ssl.SSLContext:
    """Return the TLS context of a task, which accepts this certificate only, at any address or name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    return context


def prepare_encryption() -> None:
    """Make OpenSSL load what a handshake needs, for processes forked from this one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with contextlib.suppress(ssl.SSLWantReadError):  # there is no peer
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO()).do_handshake()


class EncryptedSocket(socket.socket):
    """An encrypted connection with the socket methods that a channel uses.

    One thread reads while others write, which an ``ssl.SSLSocket`` does not allow: only one thread at a time may use
    OpenSSL's state, even while another waits for the network. Here the state works on memory, under a lock that is
    held briefly, and waiting for the network happens outside it. Senders hold their lock until the encrypted bytes are
    sent, because records must be sent in the order of their numbers.

    ``deadline``, in seconds of the monotonic clock, bounds reads from a peer that is not admitted yet.
    """

    def __init__(self, connection: socket.socket, context: ssl.SSLContext, is_server: bool) -> None:
        seconds = connection.gettimeout()
        super().__init__(connection.family, connection.type, connection.proto, connection.detach())
        self.settimeout(seconds)
        self.deadline: float | None = None
        self.has_ended = False
        """Whether the peer closed the connection, not this side."""
        self._is_ending = False
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_side=is_server)
        self._state = threading.Lock()
        self._sending = threading.Lock()
        self._is_greeted = False

    def greet(self) -> None:
        """Perform the TLS handshake; raises ``ssl.SSLError`` if the peer is not the expected one."""
        while not self._is_greeted:
            try:
                with self._state:
                    self._tls.do_handshake()
                self._is_greeted = True
            except ssl.SSLWantReadError:
                pass
            finally:
                with self._sending:
                    super().sendall(self._leaving.read())
            if not self._is_greeted:
                self._take_in()

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Read decrypted bytes, after the handshake if it has not been performed.

        Raises ``OSError`` at the end of the connection, because neither side closes the TLS session properly. Some
        Pythons, 3.11.2 for one, report it as a proper end.
        """
        self.greet()
        while True:
            with self._state, contextlib.suppress(ssl.SSLWantReadError):
                if count := int(self._tls.read(nbytes or len(buffer), buffer)):
                    return count
                raise ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "the connection ended without closing the TLS session")
            self._take_in()

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Encrypt and send; closes the connection on an error, because half a record cannot be taken back."""
        with self._sending:
            with self._state:
                left = memoryview(data).cast("B")
                while left:  # one record at a time
                    left = left[self._tls.write(left) :]
                encrypted = self._leaving.read()
            try:
                super().sendall(encrypted)
            except OSError:
                self.end()
                raise

    def shutdown(self, how: int) -> None:
        """Shut down the connection, or one direction of it."""
        self._is_ending = True
        super().shutdown(how)

    def end(self) -> None:
        """Close the connection for all readers and writers; does not wait."""
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)

    def _take_in(self) -> None:
        """Wait for encrypted bytes until the socket's timeout or the deadline."""
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the peer did not introduce itself in time")
            self.settimeout(left)
        try:
            arrived = super().recv(_RECEIVED_BYTES)
        except ConnectionError:
            self.has_ended = not self._is_ending
            raise
        with self._state:
            if arrived:
                self._arrived.write(arrived)
            else:
                self.has_ended = not self._is_ending
                self._arrived.write_eof()

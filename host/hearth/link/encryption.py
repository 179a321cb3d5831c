"""Encrypted connections between a host and its tasks: TLS 1.3, and only with the one certificate that was handed over.

The host makes a key at its start. Its certificate travels to the task beside the task's token, and the task talks to
nobody else; the token, by which the host knows the task, is sent inside the encrypted connection.
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
    """Return how a host answers: with its own key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # nobody resumes a session: a link that ended is over
    with tempfile.TemporaryDirectory(prefix="hearth-key-") as folder:  # OpenSSL reads files; only this user may enter
        path = Path(folder, "identity.pem")
        path.write_text(identity.key + identity.certificate)
        context.load_cert_chain(path)
    return context


def client_context(certificate: str) -> ssl.SSLContext:
    """Return how a task connects: to the owner of this certificate, whatever address or name he has."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    return context


def prepare_encryption() -> None:
    """Have OpenSSL load what a task's first word needs, for processes that are forked from this one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with contextlib.suppress(ssl.SSLWantReadError):  # nobody answers
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO()).do_handshake()


class EncryptedSocket(socket.socket):
    """A connection whose content is encrypted, with those methods of a socket that a channel uses.

    One thread reads while any others write, which an ``ssl.SSLSocket`` does not allow: OpenSSL's state must be used
    by one thread at a time, also while another waits for the network. Here the state works on memory under a lock
    that is held for moments, and the network is waited for outside it. The lock of the senders is held until what
    was encrypted is on its way, for records must travel in the order they were numbered.

    ``deadline``, a moment of the monotonic clock, bounds the reading of a peer that is not known yet.
    """

    def __init__(self, connection: socket.socket, context: ssl.SSLContext, is_server: bool) -> None:
        seconds = connection.gettimeout()
        super().__init__(connection.family, connection.type, connection.proto, connection.detach())
        self.settimeout(seconds)
        self.deadline: float | None = None
        self.has_ended = False
        """Whether the peer ended the connection, and not this side by its own judgement."""
        self._is_ending = False
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_side=is_server)
        self._state = threading.Lock()
        self._sending = threading.Lock()
        self._is_greeted = False

    def greet(self) -> None:
        """Agree on keys with the peer; raises ``ssl.SSLError`` where it is not who it should be."""
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
        """Read decrypted bytes; a peer that has not been greeted is greeted first.

        Raises ``OSError`` at the end of the connection, which comes within the encryption: no side ends that. Some
        Pythons, 3.11.2 for one, read it as an end in order.
        """
        self.greet()
        while True:
            with self._state, contextlib.suppress(ssl.SSLWantReadError):
                if count := int(self._tls.read(nbytes or len(buffer), buffer)):
                    return count
                raise ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "the connection ended within the encryption")
            self._take_in()

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Encrypt and send; a connection on which that fails is over, for half a record cannot be taken back."""
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
        """End the connection, or one direction of it."""
        self._is_ending = True
        super().shutdown(how)

    def end(self) -> None:
        """End the connection for whoever reads or writes; does not wait."""
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)

    def _take_in(self) -> None:
        """Wait for encrypted bytes, as long as the socket's timeout and the deadline allow."""
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

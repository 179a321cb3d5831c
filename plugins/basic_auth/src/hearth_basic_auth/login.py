"""Authenticates a user and password with the modules of a login configuration."""

from __future__ import annotations

import contextlib
import hmac
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from hearth_api import ConfigError
from hearth_api.java import parse_properties
from hearth_basic_auth.jaas import LoginEntry

log = logging.getLogger(__name__)

MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


class LoginFailed(Exception):
    """A login module failed without accepting or rejecting the user."""


class PropertyFileLogin:
    """Authenticates the users of a file with lines `name=password`, like Kafka's `PropertyFileLoginModule`.

    The file is read once. A file without users admits everybody, as in Kafka, with a warning in the log.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._passwords: dict[str, str] | None = None

    def knows(self, user: str | None, password: str | None) -> bool:
        """Return whether user and password match; raise LoginFailed if the file cannot be read."""
        passwords = self._read()
        if not passwords:
            return True
        expected = passwords.get(user) if user is not None else None
        if expected is None or password is None:
            return False
        return hmac.compare_digest(
            expected.encode("utf-8", "surrogatepass"), password.encode("utf-8", "surrogatepass")
        )

    def _read(self) -> dict[str, str]:
        with self._lock:
            if self._passwords is None:
                self._passwords = self._load()
            return self._passwords

    def _load(self) -> dict[str, str]:
        try:
            found = parse_properties(Path(self._file).read_text("latin-1"), self._file)
        except (OSError, ValueError, ConfigError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            log.error("Error loading credentials file %r: %s; all logins fail", self._file, reason)
            raise LoginFailed("Error loading Property Credentials file") from error
        if not found:
            log.warning("Credential properties file '%s' is empty; all requests will be permitted", self._file)
        return found


class Login:
    """The login modules of an application, combined as in Java's `LoginContext`."""

    def __init__(self, entries: Sequence[LoginEntry]) -> None:
        self._modules = [(entry.flag, _module(entry)) for entry in entries]

    def check_files(self) -> None:
        """Read all files, so that errors are logged at the start."""
        for _, module in self._modules:
            with contextlib.suppress(LoginFailed):  # the module has logged it
                module.knows(None, None)

    def knows(self, user: str | None, password: str | None) -> bool:
        """Return whether a user is authenticated.

        A module that does not know the user is ignored; a failing module rejects the login if it is required.
        """
        is_known = has_failed = False
        for flag, module in self._modules:
            try:
                if module.knows(user, password):
                    is_known = True
                    if flag == "sufficient" and not has_failed:
                        return True
            except LoginFailed:
                if flag == "requisite":
                    return False
                has_failed = has_failed or flag == "required"
        return is_known and not has_failed


def _module(entry: LoginEntry) -> PropertyFileLogin:
    if entry.module != MODULE:
        raise ConfigError(
            f"the login module {entry.module} is a Java class, which is not supported",
            hint=f"use {MODULE}",
        )
    file = entry.options.get("file", "")
    if not file.strip():
        raise ConfigError("Property Credentials file must be specified", hint='add file="/path" to the login module')
    return PropertyFileLogin(file)

"""Logging in: what a configuration's modules, together, make of a user and a password."""

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
    """A module cannot tell, which is no answer."""


class PropertyFileLogin:
    """Knows the users of one file, `name=password` on each line, follows Kafka's `PropertyFileLoginModule`.

    The file is read once. One without users lets everybody in, as Kafka's does, which the log says.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._passwords: dict[str, str] | None = None

    def knows(self, user: str | None, password: str | None) -> bool:
        """Return whether this is a user and his password; raises LoginFailed where the file cannot be read."""
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
            log.error("Error loading credentials file %r: %s; nobody is let in", self._file, reason)
            raise LoginFailed("Error loading Property Credentials file") from error
        if not found:
            log.warning("Credential properties file '%s' is empty; all requests will be permitted", self._file)
        return found


class Login:
    """The modules of one application, each asked in its turn, as Java's `LoginContext` weighs their answers."""

    def __init__(self, entries: Sequence[LoginEntry]) -> None:
        self._modules = [(entry.flag, _module(entry)) for entry in entries]

    def check_files(self) -> None:
        """Read all files, so that the log tells at the start what nobody can log in for."""
        for _, module in self._modules:
            with contextlib.suppress(LoginFailed):  # which the module has told
                module.knows(None, None)

    def knows(self, user: str | None, password: str | None) -> bool:
        """Return whether a user may go on.

        A module that does not know him is passed over; one that fails ends it where it is required.
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
            f"the login module {entry.module} is a class of Java's, which cannot be had here",
            hint=f"the one there is: {MODULE}",
        )
    file = entry.options.get("file", "")
    if not file.strip():
        raise ConfigError("Property Credentials file must be specified", hint='file="/path" behind the login module')
    return PropertyFileLogin(file)

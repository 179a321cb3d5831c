"""The REST extension, which admits requests with a valid user and password."""

from __future__ import annotations

import base64
import binascii
import logging
import os
import re
from collections.abc import Mapping
from typing import Any

from hearth_api.worker import RestExtension, RestExtensionContext, RestRequest, RestResponse
from hearth_basic_auth.jaas import FILE_PROPERTY, login_entries
from hearth_basic_auth.login import Login

log = logging.getLogger(__name__)

APPLICATION = "KafkaConnect"
"""The entry in the login configuration."""
_INTERNAL = {"POST": re.compile(r"/connectors/([^/]+)/tasks/?"), "PUT": re.compile(r"/connectors/[^/]+/fence/?")}
"""Requests between workers, which are signed differently."""
REFUSAL = RestResponse(401, b"User cannot access the resource.", {"content-type": "application/json"})


class BasicAuthSecurityRestExtension(RestExtension):
    """Requires a user and a password according to Java's login configuration, like Kafka's class of that name."""

    def version(self) -> str:
        """Return the version of the corresponding Kafka extension."""
        return "4.3.1"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the login configuration; raise `ConfigError` if it is unreadable or names an unsupported module."""
        entries = login_entries(APPLICATION, os.environ)
        if not entries:
            log.error("the login configuration (%s) has no entry %s; all logins fail", FILE_PROPERTY, APPLICATION)
        self._login = Login(entries)
        self._login.check_files()

    def register(self, context: RestExtensionContext) -> None:
        """Register the request filter."""
        context.add_filter(self.judge)

    def judge(self, request: RestRequest) -> RestResponse | None:
        """Admit or refuse a request; requests between workers pass, as in Kafka Connect."""
        internal = _INTERNAL.get(request.method)
        if internal is not None and internal.fullmatch(request.path):
            return None
        return None if self._login.knows(*credentials(request.headers.get("authorization", ""))) else REFUSAL


def credentials(header: str) -> tuple[str | None, str | None]:
    """Return user and password of an `Authorization` header, None if it is missing or unreadable."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None, None
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None, None
    user, colon, password = text.partition(":")
    return (user, password) if colon and user else (None, None)

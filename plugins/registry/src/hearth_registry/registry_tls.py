"""TLS of the registry client from `schema.registry.ssl.*`: PEM certificates in a file or as text."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hearth_api import ConfigError

PREFIX = "schema.registry.ssl."
_PEM = "PEM"


def tls_context(keys: Mapping[str, Any]) -> ssl.SSLContext:
    """Create the TLS context; `keys` are given without the prefix.

    The server's certificate must be trusted by the truststore, or by the system's without one. The host name is
    verified only if `endpoint.identification.algorithm` is set, as in Java's client.
    """
    context = ssl.create_default_context()
    context.check_hostname = str(keys.get("endpoint.identification.algorithm") or "none").lower() not in ("none", "")
    authorities = _pem(keys, "truststore", "truststore.certificates")
    try:
        if authorities is not None:
            context = _only(context, authorities)
        chain, key = _pem(keys, "keystore", "keystore.certificate.chain"), _text(keys.get("keystore.key"))
        if chain is not None:
            _load_chain(context, chain + "\n" + (key or ""), _text(keys.get("key.password")))
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(f"what {PREFIX}* names cannot be used: {error}") from error
    return context


def _only(context: ssl.SSLContext, authorities: str) -> ssl.SSLContext:
    """Return a context that trusts only these authorities."""
    only = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    only.check_hostname = context.check_hostname
    only.load_verify_locations(cadata=authorities)
    return only


def _pem(keys: Mapping[str, Any], store: str, inline: str) -> str | None:
    """Return the PEM of a store from its file or its key; None without either."""
    text = _text(keys.get(inline))
    location = keys.get(store + ".location")
    if text is None and not location:
        return None
    kind = str(keys.get(store + ".type") or ("PEM" if text is not None else "JKS")).upper()
    if kind != _PEM:
        name = f"{PREFIX}{store}.type"
        raise ConfigError(name, kind, "Only PEM is read: openssl and keytool write it, and then say PEM here")
    if text is not None:
        return text
    try:
        return Path(str(location)).read_text("ascii")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{PREFIX}{store}.location", location, f"it cannot be read: {error}") from error


def _text(value: Any) -> str | None:
    """Return the text of a key, which may be a password."""
    return None if value is None else str(getattr(value, "value", value))


def _load_chain(context: ssl.SSLContext, pem: str, password: str | None) -> None:
    """Load the client certificate into a context through a private temporary file, which OpenSSL requires."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(pem)
        context.load_cert_chain(name, password=password or "")
    finally:
        os.unlink(name)

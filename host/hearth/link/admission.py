"""Admission: the address and token with which a task connects to its host, and the id under which it does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

ADMISSION_SECONDS = 10.0
"""How long a connecting peer may take to be admitted."""


@dataclass(frozen=True)
class LinkAddress:
    """The address of a task's host, the token that admits the task, and the certificate that identifies the host."""

    host: str
    port: int
    token: str = field(repr=False)
    certificate: str


def task_id(connector: str, task: int) -> str:
    """Return the id under which a task is registered, of fixed length for any connector name."""
    return hashlib.sha256(json.dumps([connector, task]).encode()).hexdigest()
